use crate::nginx::limit_req::Limit;

type Configuration = super::Configuration<Limit>;

const ZONE: &str = "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;\n";

/// The burst of the limits of a path, in requests; `None` if there are none.
fn burst(configuration: &Configuration, path: &str) -> Option<i64> {
    let set = configuration.servers[0].root.limits_of(path.as_bytes())?;
    Some(configuration.limit_sets[set].limits[0].burst / 1_000)
}

#[test]
fn the_location_is_found_as_nginx_finds_it() {
    let text = "http { server { limit_req zone=one burst=9;
        location / { limit_req zone=one burst=1; }
        location = /exact { limit_req zone=one burst=2; }
        location ^~ /static { limit_req zone=one burst=3; }
        location ~ \\.php$ { limit_req zone=one burst=4; }
        location ~* \\.JPG$ { limit_req zone=one burst=5; }
        location /api { location /api/in { limit_req zone=one burst=6; } location ~ x$ { limit_req zone=one burst=7; } }
        location /gone { return 410; location /gone/in { limit_req zone=one burst=8; } }
    } }";
    let configuration = Configuration::parse(&format!("{ZONE}{text}")).expect("it is valid");
    for (path, expected) in [
        ("/", Some(1)),
        ("/exact", Some(2)),
        ("/exact/", Some(1)),
        ("/static/a.php", Some(3)),
        ("/a.php", Some(4)),
        ("/a.jpg", Some(5)),
        ("/api", Some(9)),
        ("/api/in", Some(6)),
        ("/api/x", Some(7)),
        ("/api/a.php", Some(4)),
        ("/gone", None),
        ("/gone/in", Some(8)),
    ] {
        assert_eq!(burst(&configuration, path), expected, "{path}");
    }
}

#[test]
fn limits_without_a_server_apply_to_all_requests() {
    let text = format!("limit_req zone=one burst=5 nodelay;\n{ZONE}");
    let configuration = Configuration::parse(&text).expect("it is valid");
    assert_eq!(burst(&configuration, "/any"), Some(5));
    assert_eq!(configuration.description(), "zone one rate=10r/s burst=5 nodelay");
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("limit_req zone=on;", "zone=on", "did you mean `one`?"),
        ("limit_req zone=one brust=5;", "brust=5", "did you mean `burst`?"),
        ("limit_req zone =one;", "zone =one", "write it without a space before: zone=..."),
        (
            "location / { limit_req_zone $a zone=two:1m rate=1r/s burst=5 nodelay; }",
            "limit_req_zone $a",
            "limit_req_zone $a zone=two:1m rate=1r/s; and this one here: limit_req zone=two \
             burst=5 nodelay;",
        ),
        ("limit_req zone=one burst=-5;", "burst=-5", "`-5` is not a number of requests"),
        ("limit_req burst=5;", "limit_req burst", "zone=NAME is missing"),
        ("limit_req_zone $a zone=two rate=10;", "rate=10;", "`10` is not a valid rate"),
        ("limit_req_zone $ zone=two rate=1r/s;", "$ ", "the name of a variable is missing"),
        ("limit_req_zone zone=two rate=1r/s;", "limit_req_zone zone=two", "the key is missing"),
        (
            "server { listen 80; }",
            "limit_req_zone $binary",
            "there is no `limit_req` in it that uses the zone, so nothing is limited; write where \
             it should apply: limit_req zone=one burst=5;",
        ),
        ("limit_req zone=one; limit_req zone=one burst=2;", "limit_req zone=one burst", "already"),
        ("map $a $b { x 1; X 2; }", "X 2", "the text stands twice"),
        ("geo $b { 192.0.2.0/33 1; }", "192.0.2.0/33", "not an address or a network"),
    ] {
        let text = format!("{ZONE}{text}");
        let error = Configuration::parse(&text).expect_err(&text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert_eq!(Some(error.range.start), text.rfind(place), "{text}");
    }
}

/// The lines of the notes about a configuration.
fn noted_lines(text: &str) -> Vec<usize> {
    let configuration = Configuration::parse(text).expect(text);
    configuration.notes.iter().map(|note| note.line(text)).collect()
}

#[test]
fn what_is_not_followed_is_named() {
    let server = "server { limit_req zone=one;\n include x.conf; if ($a) {} }";
    assert_eq!(noted_lines(&format!("{ZONE}{server}")), [3, 3]);
    let php = "location ~ \\.php$ { limit_req zone=one; }";
    let files = format!("server {{ index a.php;\n location / {{ try_files $uri /a; }}\n {php} }}");
    assert_eq!(noted_lines(&format!("{ZONE}{files}")), [2, 3]);
    let same = "server { limit_req zone=one; location / { try_files $uri /a; } }";
    assert_eq!(noted_lines(&format!("{ZONE}{same}")), [0; 0]);
}

#[test]
fn servers_with_one_name_are_named() {
    let redirect = "server { listen 80; server_name a b; return 301 https://a; }\n";
    for (name, expected) in [("a", &[3][..]), ("*.a", &[]), ("c b", &[3])] {
        let secure = format!("server {{ listen 443; server_name {name}; limit_req zone=one; }}");
        assert_eq!(noted_lines(&format!("{ZONE}{redirect}{secure}")), expected, "{name}");
    }
}

#[test]
fn a_zone_that_nothing_uses_gets_its_line() {
    let text = "limit_req_zone $binary_remote_addr zone=by_ip:10m rate=9r/s;\n\
                limit_req_zone $request_uri zone=by_uri:10m rate=9r/s;";
    let error = Configuration::parse(text).expect_err(text);
    assert!(error.message.ends_with("uses a zone, so nothing is limited; write where it should apply: limit_req zone=by_ip burst=5;"), "{error}");
}
