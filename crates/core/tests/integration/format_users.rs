//! Users that clients have filled with what stands beside a user in a line.

use proptest::prelude::*;
use weir_core::{
    Field, FormatChoice, FormatTracker, LineOutcome, Lines, LogReader, TrackerOptions, detect,
};

/// Lines of known formats, in which `{}` is the client and the user.
const FORMATS: [&str; 9] = [
    r#"{} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5"#,
    r#"{} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7 [x]""#,
    r#"{} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7" rt=0.012 "x y""#,
    r#"www.example.com:443 {} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7""#,
    r#"{} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7" "203.0.113.77""#,
    r#"web-1  | {} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7""#,
    r#"Dec 17 09:03:01 web nginx[7]: {} [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5"#,
    r#"{"t":"x","message":"{} [17/Dec/2025:09:03:01 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"c\""}"#,
    r#"{} [12/17/2025:09:03:01 -0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7" "s" "-" 2083"#,
];

fn log(format: &str, users: &[String]) -> String {
    let line = |client: &str, user: &str| {
        let is_quoted = format.starts_with("{\"");
        let user = if is_quoted { user.replace('\\', "\\\\") } else { user.to_owned() };
        format.replacen("{}", &format!("{client} - {user}"), 1) + "\n"
    };
    let ordinary = |_| line("192.0.2.7", "-");
    let forged = users.iter().map(|user| line("192.0.2.66", user));
    let mut lines: Vec<String> = (0..=users.len()).map(ordinary).collect();
    // The forged lines begin with the second one.
    for (index, line) in forged.enumerate() {
        lines.insert(2 * index + 1, line);
    }
    lines.concat()
}

/// The client and the path of each line; `None` if it is unparsed.
fn read(log: &str) -> Vec<Option<(String, String)>> {
    let mut tracker = FormatTracker::new(FormatChoice::Detect, TrackerOptions::default(), 0);
    let formats = tracker.track(log.as_bytes(), 0);
    let span = &formats.spans[0];
    let mut reader = LogReader::of_span(span.format.clone(), &span.companions);
    let outcome = |line: &[u8]| {
        reader.read(line, |_, outcome| match outcome {
            LineOutcome::Record(record) => {
                let text = |field| String::from_utf8_lossy(record.text(field).unwrap_or_default());
                Some((text(Field::Client).into_owned(), text(Field::Path).into_owned()))
            }
            _ => None,
        })
    };
    Lines::new(log.as_bytes()).map(|line| line.bytes).map(outcome).collect()
}

/// The clients that wrote the lines of [`log`].
fn written(users: &[String]) -> Vec<Option<(String, String)>> {
    let client =
        |index| if index < 2 * users.len() && index % 2 == 1 { "192.0.2.66" } else { "192.0.2.7" };
    (0..=2 * users.len()).map(|index| Some((client(index).to_owned(), "/a".to_owned()))).collect()
}

#[test]
fn a_user_is_no_client() {
    for format in FORMATS {
        for user in ["203.0.113.5 - -", "- 203.0.113.5 - -", "x 1.2.3.4", "- x", "[x] - jo", "|"] {
            let users = vec![user.to_owned(); 3];
            assert_eq!(read(&log(format, &users)), written(&users), "{format} {user}");
        }
    }
}

#[test]
fn most_lines_decide_what_a_user_is() {
    let log = |ordinary, forged| {
        let line = |client| FORMATS[1].replacen("{}", client, 1) + "\n";
        line("192.0.2.7 - -").repeat(ordinary)
            + &line("192.0.2.66 - 203.0.113.5 - -").repeat(forged)
    };
    for (ordinary, forged, parsed) in [(3, 2, 5), (2, 2, 2), (1, 3, 1), (0, 2, 0)] {
        let detection = detect(log(ordinary, forged).as_bytes());
        let combined = detection.candidates.iter().find(|one| one.format.name() == "COMBINED");
        assert_eq!(combined.map(|one| one.parsed_lines), Some(parsed), "{ordinary} {forged}");
    }
}

proptest! {
    #[test]
    fn no_user_moves_another_field_or_hides_its_line(
        format in prop::sample::select(FORMATS.to_vec()),
        users in prop::collection::vec(
            prop::collection::vec(prop::sample::select(vec![
                "203.0.113.5", "-", "- -", "x", "1.2.3.4,", "[17/Dec/2025:09:03:01 +0000]", "|", "[x]",
                "www.example.com", "a:", "2001:db8::1", "[", "] ", r"\x22GET", r"\x22", "", "2025-12-17",
                "09:03:01", "17/Dec/2025:09:03:01 +0000]", "200 5", "GET /b HTTP/1.1",
            ]), 1..7),
            1..8,
        ),
    ) {
        let users: Vec<String> = users.iter().map(|words| words.join(" ")).collect();
        prop_assert_eq!(read(&log(format, &users)), written(&users));
    }
}
