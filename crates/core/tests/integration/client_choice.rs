//! Which address of a line is the client.

use std::sync::Arc;

use weir_core::{
    AddressBlock, ClientChoice, Field, Format, FormatChoice, FormatTracker, LineOptions,
    LineParser, Record, TrackerOptions,
};

fn options(field: Option<&str>, trusted: &[&str]) -> Arc<LineOptions> {
    let trusted = trusted.iter().map(|text| AddressBlock::parse(text).unwrap()).collect();
    let client = Some(ClientChoice::new(field.map(str::to_owned), trusted));
    Arc::new(LineOptions { client, year: None, ..LineOptions::default() })
}

/// The client and the peer of a line.
fn client_of(format: &Format, line: &str) -> (String, Option<String>) {
    let format = Arc::new(format.clone());
    let mut parser = LineParser::new(format.clone());
    let mut record = Record::new();
    parser.parse(line.as_bytes(), &mut record).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let peer = format.extra_fields().iter().position(|name| name == "peer");
    let client = record.text(Field::Client).map(text).unwrap_or_default();
    (client, peer.and_then(|index| record.extra(index)).map(text))
}

#[test]
fn the_client_of_a_list_by_field_and_networks() {
    const NGINX: &str = "$remote_addr $status $http_x_forwarded_for";
    let header = "http_x_forwarded_for";
    let private = ["10.0.0.0/8", "fd00::/8"];
    for (field, trusted, line, client, peer) in [
        // The leftmost of the field.
        (
            Some(header),
            &[][..],
            "10.0.0.9 200 203.0.113.9, 10.0.0.7",
            "203.0.113.9",
            Some("10.0.0.9"),
        ),
        (Some(header), &[], "10.0.0.9 200 -", "10.0.0.9", None),
        (Some(header), &[], "10.0.0.9 200 <x>", "10.0.0.9", None),
        (Some(header), &[], "10.0.0.9 200 unknown", "10.0.0.9", None),
        (Some(header), &[], "10.0.0.9 200 garbage, 203.0.113.9", "203.0.113.9", Some("10.0.0.9")),
        // The rightmost that is not trusted, on a connection that is.
        (
            None,
            &private,
            "10.0.0.9 200 1.1.1.1, 203.0.113.9, 10.0.0.7",
            "203.0.113.9",
            Some("10.0.0.9"),
        ),
        (None, &private, "10.0.0.9 200 10.1.1.1, 10.0.0.7", "10.1.1.1", Some("10.0.0.9")),
        (None, &private, "10.0.0.9 200 -", "10.0.0.9", None),
        (None, &private, "10.0.0.9 200 1.1.1.1, <x>, 10.0.0.7", "1.1.1.1", Some("10.0.0.9")),
        (None, &private, "10.0.0.9 200 1.1.1.1, unknown", "1.1.1.1", Some("10.0.0.9")),
        (None, &private, "10.0.0.9 200 1.1.1.1, garbage", "1.1.1.1", Some("10.0.0.9")),
        (None, &private, "10.0.0.9 200 a.example, -, 10.0.0.7", "10.0.0.7", Some("10.0.0.9")),
        (None, &private, "10.0.0.9 200 garbage", "10.0.0.9", None),
        (None, &private, "10.0.0.9 200 unknown, @, unix:", "10.0.0.9", None),
        (
            None,
            &private,
            "::ffff:10.0.0.9 200 203.0.113.9:4711",
            "203.0.113.9",
            Some("::ffff:10.0.0.9"),
        ),
        (None, &private, "fd00::1 200 [2001:db8::7]:443, fd00::2", "2001:db8::7", Some("fd00::1")),
        // Everyone can send a header.
        (None, &private, "198.51.100.4 200 203.0.113.9", "198.51.100.4", None),
        (Some(header), &private, "198.51.100.4 200 203.0.113.9", "198.51.100.4", None),
        // The place of the client.
        (Some("client"), &[], "10.0.0.9 200 203.0.113.9", "10.0.0.9", None),
        (Some("status"), &[], "10.0.0.9 200 203.0.113.9", "10.0.0.9", None),
        (Some("no_such_field"), &[], "10.0.0.9 200 203.0.113.9", "10.0.0.9", None),
    ] {
        let format = Format::parse(NGINX).unwrap().with_line_options(&options(field, trusted));
        let found = client_of(&format, line);
        assert_eq!((found.0.as_str(), found.1.as_deref()), (client, peer), "{field:?} {line}");
    }
    let named = |field| {
        let format = Format::parse(NGINX).unwrap();
        format.with_line_options(&options(field, &[])).client_field()
    };
    let plain = Format::parse(NGINX).unwrap();
    assert!(plain.begins_with_client());
    assert!(!plain.with_line_options(&options(Some(header), &[])).begins_with_client());
    assert!(!plain.with_line_options(&options(None, &private)).begins_with_client());
    assert!(plain.with_line_options(&options(Some("no_such_field"), &[])).begins_with_client());
    assert_eq!(named(Some(header)).as_deref(), Some(header));
    assert_eq!(named(Some("no_such_field")), None);
    let of_header = Format::parse("$http_x_forwarded_for $status").unwrap();
    assert_eq!(of_header.client_field().as_deref(), Some(header));
    assert_eq!(
        client_of(
            &of_header.with_line_options(&options(None, &private)),
            "1.1.1.1, 203.0.113.9, 10.0.0.7 200"
        ),
        ("203.0.113.9".to_owned(), None),
        "a format without the address of the connection"
    );
}

#[test]
fn a_wrapper_and_a_known_format_have_the_choice_too() {
    let line = r#"10.0.0.9 - - [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" 200 5 "-" "a" "1.1.1.1, 203.0.113.9""#;
    let choice = options(None, &["10.0.0.0/8"]);
    let wrapped = Format::parse("MAIN in SYSLOG").unwrap().with_line_options(&choice);
    let (client, peer) = client_of(&wrapped, &format!("<190>Dec 17 09:03:01 web nginx: {line}"));
    assert_eq!((client.as_str(), peer.as_deref()), ("203.0.113.9", Some("10.0.0.9")));
    assert!(wrapped.extra_fields().iter().any(|name| name == "syslog_tag"));

    // Detected, with values after it, or with a companion that joins.
    let detected = |log: &str| {
        let choice = FormatChoice::DetectWith(choice.clone());
        let mut tracker = FormatTracker::new(choice, TrackerOptions::default(), 0);
        tracker.track(log.as_bytes(), 0);
        tracker.format().clone()
    };
    let main = detected(&format!("{line}\n"));
    assert_eq!((main.name(), client_of(&main, line).0.as_str()), ("MAIN", "203.0.113.9"));
    let tail = format!("{line} 7");
    let tailed = detected(&format!("{tail}\n"));
    assert_eq!(tailed.name(), "COMBINED and 2 more values");
    assert_eq!(client_of(&tailed, &tail).0, "203.0.113.9");
    // The header in front of the client.
    let heads: String = (1..5)
        .map(|n| {
            let bare = line
                .replace(r#" "1.1.1.1, 203.0.113.9""#, "")
                .replace("0.9 -", &format!("0.{} -", n % 2));
            format!("1.1.1.{n}, 203.0.113.{n} {bare}\n")
        })
        .collect();
    let headed = detected(&heads);
    let (client, peer) = client_of(&headed, heads.lines().next().unwrap());
    assert_eq!(
        (client.as_str(), peer.as_deref()),
        ("203.0.113.1", Some("10.0.0.1")),
        "{}",
        headed.name()
    );
}
