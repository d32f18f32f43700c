use super::*;

const OK: Result<(), GuardError> = Ok(());
const HOST_REFUSED: Result<(), GuardError> = Err(GuardError::MisdirectedHost(String::new()));
const HOST_INVALID: Result<(), GuardError> = Err(GuardError::InvalidHost);
const ORIGIN_REFUSED: Result<(), GuardError> = Err(GuardError::ForeignOrigin);

fn check(guard: &HostGuard, target: &str, fields: &[(&str, &str)]) -> Result<(), GuardError> {
    let mut request = Request::builder().uri(target);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    guard.check(&request.body(()).unwrap()).map_err(without_name)
}

fn without_name(error: GuardError) -> GuardError {
    match error {
        GuardError::MisdirectedHost(_) => GuardError::MisdirectedHost(String::new()),
        other => other,
    }
}

#[test]
fn the_host_that_came_is_named() {
    let said = |target: &str, host: &str| {
        let request = Request::builder().uri(target).header("Host", host).body(()).unwrap();
        HostGuard::loopback().check(&request).unwrap_err().to_string()
    };
    let text = said("/", "logs.example");
    assert!(text.contains("the host `logs.example`, which"), "{text}");
    assert!(text.contains("--public-url"), "{text}");
    let text = said("http://other.example/", "localhost");
    assert!(text.contains("the host `http://other.example`, which"), "{text}");
    let long = said("/", &format!("{}.example", "a".repeat(5_000)));
    assert!(long.len() < 700, "{}", long.len());
}

#[test]
fn hosts() {
    let guard = HostGuard::loopback().allow("Logs.Example:9090").unwrap();
    for (host, expected) in [
        ("127.0.0.1:8080", OK),
        ("localhost:8080", OK),
        ("LocalHost:8080", OK),
        ("[::1]:8080", OK),
        ("[0:0:0:0:0:0:0:1]:8080", OK),
        ("localhost", OK),
        ("localhost:", OK),
        ("localhost:9000", OK),
        ("127.0.0.1:1", OK),
        ("127.0.0.2:8080", OK),
        ("logs.example:9090", OK),
        ("logs.example:8080", HOST_REFUSED),
        ("localhost:+8080", HOST_INVALID),
        ("localhost:8080:8080", HOST_INVALID),
        ("localhost:73616", HOST_INVALID),
        ("evil@localhost:8080", HOST_INVALID),
        ("localhost.:8080", HOST_REFUSED),
        ("localhost.evil.example:8080", HOST_REFUSED),
        ("127.0.0.1.evil.example", HOST_REFUSED),
        ("128.0.0.1", HOST_REFUSED),
        ("192.168.1.7:8080", HOST_REFUSED),
        ("127.1:8080", HOST_REFUSED),
        ("0x7f000001", HOST_REFUSED),
        ("::1:8080", HOST_INVALID),
        ("[::1:8080", HOST_INVALID),
        ("[::1]8080", HOST_INVALID),
        ("", HOST_INVALID),
        (":8080", HOST_INVALID),
    ] {
        assert_eq!(check(&guard, "/", &[("host", host)]), expected, "{host:?}");
    }
}

#[test]
fn a_forwarded_port_serves_its_own_page_only() {
    let guard = HostGuard::loopback();
    for (origin, expected) in [
        ("http://localhost:9000", OK),
        ("http://127.0.0.1:9000", OK),
        ("http://localhost:3000", ORIGIN_REFUSED),
        ("http://localhost", ORIGIN_REFUSED),
    ] {
        let fields = [("host", "localhost:9000"), ("origin", origin)];
        assert_eq!(check(&guard, "/", &fields), expected, "{origin}");
    }
}

#[test]
fn the_url_of_a_reverse_proxy_passes() {
    let guard = HostGuard::loopback().allow_url("https://logs.example".parse().unwrap());
    for (host, origin, expected) in [
        ("logs.example", "https://logs.example", OK),
        ("logs.example:443", "https://LOGS.example:443", OK),
        // A proxy that does not pass on the name.
        ("127.0.0.1:7878", "https://logs.example", OK),
        ("logs.example", "http://logs.example", ORIGIN_REFUSED),
        ("logs.example", "https://logs.example:8443", ORIGIN_REFUSED),
        ("logs.example", "http://localhost:7878", ORIGIN_REFUSED),
        ("logs.example", "https://evil.example", ORIGIN_REFUSED),
        ("logs.example:7878", "https://logs.example", HOST_REFUSED),
        ("evil.example", "https://logs.example", HOST_REFUSED),
    ] {
        let fields = [("host", host), ("origin", origin)];
        assert_eq!(check(&guard, "/", &fields), expected, "{host} {origin}");
    }
}

#[test]
fn port_80_may_be_left_out() {
    let guard = HostGuard::loopback().allow("logs.example").unwrap();
    for host in ["localhost", "localhost:", "localhost:80", "127.0.0.1", "[::1]"] {
        assert_eq!(check(&guard, "/", &[("host", host)]), OK, "{host:?}");
    }
    for origin in ["http://localhost", "http://localhost:80", "http://logs.example"] {
        let fields = [("host", "localhost"), ("origin", origin)];
        assert_eq!(check(&guard, "/", &fields), OK, "{origin:?}");
    }
}

#[test]
fn any_address_passes_if_the_server_listens_on_all() {
    let guard = HostGuard::loopback().allow_addresses();
    for (host, origin, expected) in [
        ("192.0.2.7:7878", "http://192.0.2.7:7878", OK),
        ("[2001:db8::1]:7878", "http://[2001:db8::1]:7878", OK),
        ("192.0.2.7:7878", "http://192.0.2.8:7878", ORIGIN_REFUSED),
        ("192.0.2.7:7878", "http://192.0.2.7:7879", ORIGIN_REFUSED),
        ("192.0.2.7:7878", "http://evil.example:7878", ORIGIN_REFUSED),
        ("evil.example:7878", "http://evil.example:7878", HOST_REFUSED),
    ] {
        let fields = [("host", host), ("origin", origin)];
        assert_eq!(check(&guard, "/", &fields), expected, "{host} {origin}");
    }
}

#[test]
fn over_tls_everything_is_https() {
    let guard = HostGuard::loopback().allow("logs.example:8443").unwrap();
    for (target, host, origin, expected) in [
        ("/", "logs.example:8443", "https://logs.example:8443", OK),
        ("/", "localhost:8443", "https://localhost:8443", OK),
        ("/", "localhost", "https://localhost:443", OK),
        ("/", "localhost", "https://localhost:80", ORIGIN_REFUSED),
        ("/", "logs.example:8443", "http://logs.example:8443", ORIGIN_REFUSED),
        ("https://localhost/", "localhost", "https://localhost", OK),
        ("http://localhost/", "localhost", "https://localhost", HOST_REFUSED),
    ] {
        let request = Request::builder().uri(target).extension(Scheme::Https);
        let request = request.header(HOST, host).header(ORIGIN, origin);
        let checked = guard.check(&request.body(()).unwrap()).map_err(without_name);
        assert_eq!(checked, expected, "{host} {origin}");
    }
}

#[test]
fn host_must_be_present_exactly_once() {
    let guard = HostGuard::loopback();
    let host = ("host", "localhost:8080");
    assert_eq!(check(&guard, "/", &[]), HOST_INVALID);
    assert_eq!(check(&guard, "/", &[host, host]), HOST_INVALID);
}

#[test]
fn absolute_targets_count_too() {
    let guard = HostGuard::loopback();
    let host = [("host", "localhost:8080")];
    assert_eq!(check(&guard, "http://127.0.0.1:8080/x", &host), OK);
    assert_eq!(check(&guard, "http://evil.example/x", &host), HOST_REFUSED);
    assert_eq!(check(&guard, "https://127.0.0.1:8080/x", &host), HOST_REFUSED);
    let other_host = [("host", "evil.example")];
    assert_eq!(check(&guard, "http://127.0.0.1:8080/x", &other_host), HOST_REFUSED);
}

#[test]
fn origins() {
    let guard = HostGuard::loopback();
    for (origin, expected) in [
        ("http://localhost:8080", OK),
        ("http://127.0.0.1:8080", OK),
        ("HTTP://LOCALHOST:8080", OK),
        ("http://[::1]:8080", OK),
        ("null", ORIGIN_REFUSED),
        ("", ORIGIN_REFUSED),
        ("http://localhost", ORIGIN_REFUSED),
        ("http://localhost:8081", ORIGIN_REFUSED),
        ("https://localhost:8080", ORIGIN_REFUSED),
        ("http://evil.example", ORIGIN_REFUSED),
        ("http://localhost:8080/", ORIGIN_REFUSED),
        ("http://localhost:8080 http://evil.example", ORIGIN_REFUSED),
        ("localhost:8080", ORIGIN_REFUSED),
    ] {
        let fields = [("host", "localhost:8080"), ("origin", origin)];
        assert_eq!(check(&guard, "/", &fields), expected, "{origin:?}");
    }
    let own = ("origin", "http://localhost:8080");
    let twice = [("host", "localhost:8080"), own, own];
    assert_eq!(check(&guard, "/", &twice), ORIGIN_REFUSED);
}

#[test]
fn invalid_authorities_cannot_be_allowed() {
    for text in ["", "a b", "http://x", "x:99999", "[::1"] {
        assert!(HostGuard::loopback().allow(text).is_err(), "{text:?}");
    }
}
