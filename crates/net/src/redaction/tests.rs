use proptest::prelude::*;

use super::shown_target;
use super::value::{SHOWN, redact_value};

/// A text that occurs in no name of a secret.
const SECRET: &str = "Q7vXw3ZkQ9";

/// Text that may precede a secret.
const INSIDE: [&str; 7] = ["", "/", "+", ",", ";", "'", "="];

#[test]
fn what_tells_no_secret_is_shown() {
    for (name, value) in [
        ("host", "a.example:8080"),
        ("user-agent", "curl/8.5.0 (x86_64; \"a\")"),
        ("accept", "text/html,application/xml;q=0.9,*/*;q=0.8"),
        ("content-type", "multipart/form-data; boundary=abc"),
        ("etag", "W/\"5f3-abcdef0123456789\""),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("x-request-id", "0190f5a2-9f3e-7000-8000-000000000000"),
        ("www-authenticate", "Other realm=\"a\""),
        ("access-control-allow-credentials", "true"),
        ("date", "Tue, 24 Nov 2026 00:10:00 GMT"),
        ("location", "/a/b%C3%A9c/2026-11-24-report-of-a-month.pdf"),
        ("referer", "https://a.example:8080/list"),
    ] {
        assert_eq!(redact_value(name, value.as_bytes()), value, "{name}");
    }
    for target in ["/", "*", "/a/b?&", "http://a.example/b", "/eyJ", "/%C3%A9", "/b?c="] {
        assert_eq!(shown_target(target), target);
    }
}

#[test]
fn what_is_hidden_tells_its_kind_and_length() {
    for (name, value, expected) in [
        ("authorization", "Bearer abc.def", "Bearer (7 bytes not shown)"),
        ("authorization", "abc", "(3 bytes not shown)"),
        ("proxy-authorization", "basic YTpi", "Basic (4 bytes not shown)"),
        ("cookie", "a=1; b=2", "(2 cookies, 8 bytes not shown)"),
        ("cookie", "a=1", "(1 cookie, 3 bytes not shown)"),
        ("set-cookie", "a=1; Path=/", "(11 bytes not shown)"),
        ("x-api-key", "k", "(1 byte not shown)"),
        ("x-custom", "Bearer abcd", "Bearer (4 bytes not shown)"),
        ("x-custom", "{\"token\":\"abc\"}", "(15 bytes not shown)"),
        ("sec-websocket-protocol", "access_token, abc", "(17 bytes not shown)"),
        ("location", "/cb?code=4/0AX&x=1", "/cb?code=(5 bytes not shown)&x=(1 byte not shown)"),
        ("referer", "https://u:p@a.example/", "https://(3 bytes not shown)@a.example/"),
    ] {
        assert_eq!(redact_value(name, value.as_bytes()), expected, "{name}: {value}");
    }
    for (target, expected) in [
        ("/a?access_token=ab/cd", "/a?access_token=(5 bytes not shown)"),
        ("/a?access%5Ftoken=abc", "/a?access%5Ftoken=(3 bytes not shown)"),
        ("/a;jsessionid=abc?b=c", "/a;(14 bytes not shown)?b=(1 byte not shown)"),
        ("/a:token=abc", "/a:(9 bytes not shown)"),
        ("/a?abcdef&x=1", "/a?(6 bytes not shown)&x=(1 byte not shown)"),
        ("/a?to=%2Fb%3Ftoken%3Dabc", "/a?to=(18 bytes not shown)"),
        ("/to/https%3A%2F%2Fu%3Ap%40h%2F", "/to/(26 bytes not shown)"),
        ("/f/0123456789abcdef0123456789abcdef", "/f/(32 bytes not shown)"),
        ("/f/Zm9vYmFy-QmF6cXV4_MTIzNDU", "/f/(25 bytes not shown)"),
        ("/f/eyJhbGciOiJub25lIn0.e30.", "/f/(24 bytes not shown)"),
    ] {
        assert_eq!(shown_target(target), expected, "{target}");
    }
}

/// Names under which clients and servers send secrets, alone or as a part of a longer name.
fn secret_name() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "apikey",
        "api_key",
        "access_token",
        "id_token",
        "refresh_token",
        "token",
        "x-auth-token",
        "x-csrf-token",
        "password",
        "passwd",
        "client_secret",
        "x-amz-security-token",
        "x-amz-signature",
        "x-goog-iap-jwt-assertion",
        "sessionid",
        "phpsessid",
        "jsessionid",
        "key",
        "code",
        "sig",
        "x-session-id",
        "samlresponse",
        "x-vault-token",
        "credentials",
    ]);
    let around = "[a-z]{0,6}";
    (known, around, around, any::<bool>()).prop_map(|(known, before, after, is_plain)| {
        match is_plain {
            true => known.to_owned(),
            false => format!("{before}-{known}-{after}").trim_matches('-').to_owned(),
        }
    })
}

fn encoded(text: &str, how: u8) -> String {
    text.bytes()
        .map(|byte| match (how, byte.is_ascii_alphanumeric()) {
            (0, _) | (1, true) => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        })
        .collect()
}

proptest! {
    #[test]
    fn a_secret_field_is_never_shown(
        name in secret_name(),
        before in "[ -~]{0,20}",
        after in "[ -~]{0,20}",
    ) {
        let value = format!("{before}{SECRET}{after}");
        let shown = redact_value(&name, value.as_bytes());
        prop_assert!(!shown.contains(SECRET), "{name}: {value} is {shown}");
    }

    #[test]
    fn a_secret_parameter_is_never_shown(
        name in secret_name(),
        path in "(/[a-z0-9._~%-]{0,8}){1,3}",
        before in "([a-z]{1,5}=[ -%'-~]{0,8}&){0,2}",
        after in "(&[a-z]{1,5}=[a-z0-9%]{0,8}){0,2}",
        how in 0..3_u8,
        depth in 0..3_usize,
        inside in prop::sample::select(INSIDE.to_vec()),
        field in prop::sample::select(vec!["referer", "location", "x-other", "link"]),
    ) {
        let parameter = format!("{}={inside}{SECRET}", encoded(&name, how));
        let mut target = format!("{path}?{before}{parameter}{after}");
        for _ in 0..depth {
            target = format!("/next?to={}", encoded(&target, 1));
        }
        for shown in [shown_target(&target), redact_value(field, target.as_bytes())] {
            prop_assert!(!shown.contains(SECRET), "{target} is {shown}");
        }
    }

    #[test]
    fn a_token_is_never_shown(
        name in "[a-z]{1,8}",
        before in "[ -~]{0,12}",
        payload in "[A-Za-z0-9_-]{4,40}",
    ) {
        // A random name may be one of the shown fields, such as `te`.
        prop_assume!(!SHOWN.contains(&name.as_str()));
        let token = format!("eyJhbGciOiJIUzI1NiJ9.{payload}.{SECRET}");
        for text in [format!("/{before}{token}"), format!("{name}={before} {token}")] {
            let shown = redact_value(&name, text.as_bytes());
            prop_assert!(!shown.contains(SECRET), "{name}: {text} is {shown}");
        }
    }

    #[test]
    fn any_bytes_are_taken(name in "[a-z-]{1,12}", value in prop::collection::vec(any::<u8>(), 0..60)) {
        let _shown = redact_value(&name, &value);
        let _shown = shown_target(&String::from_utf8_lossy(&value));
    }
}
