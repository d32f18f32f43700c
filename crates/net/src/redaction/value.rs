//! Redaction of heads: hides tokens, cookies, and everything that may be a secret.
//!
//! Field values are shown only for the fields of a list. Of URLs, the names of parameters are
//! shown, and the path segments that do not look like a token. Everything else is replaced by its
//! length. So a secret in an unknown field stays hidden. A secret is shown only if a client puts it
//! into a listed field, such as `User-Agent`, or into a path as a short word.

use std::borrow::Cow;
use std::fmt::Write;

use crate::percent_encoding::percent_decode;

/// The fields whose values are shown, because they describe the protocol and not the user.
const SHOWN: [&str; 64] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-security-policy",
    "content-type",
    "date",
    "dnt",
    "etag",
    "expect",
    "expires",
    "forwarded",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-status",
    "grpc-timeout",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "last-modified",
    "max-forwards",
    "pragma",
    "priority",
    "proxy-authenticate",
    "range",
    "ratelimit",
    "ratelimit-policy",
    "retry-after",
    "sec-websocket-extensions",
    "sec-websocket-version",
    "server",
    "server-timing",
    "strict-transport-security",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-content-type-options",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-frame-options",
    "x-request-id",
];

/// The prefixes of further fields whose values are shown.
const SHOWN_FAMILIES: [&str; 3] = ["access-control-", "sec-ch-ua", "sec-fetch-"];

/// The fields that contain a URL.
const URL_FIELDS: [&str; 4] = ["content-location", "location", "origin", "referer"];

/// The schemes of credentials (IANA, HTTP Authentication Schemes), which are shown.
const SCHEMES: [&str; 12] = [
    "AWS4-HMAC-SHA256",
    "Basic",
    "Bearer",
    "DPoP",
    "Digest",
    "GNAP",
    "HOBA",
    "Negotiate",
    "NTLM",
    "OAuth",
    "PrivateToken",
    "SCRAM-SHA-256",
];

/// The maximum number of times that a path segment is percent-decoded to inspect it. A segment that
/// is encoded more often is hidden.
const DECODED_MAX: usize = 4;

/// The maximum length of a shown parameter name.
const NAME_BYTES_MAX: usize = 40;

/// A path segment counts as a token if it has a run of this many letters and digits, with both of
/// them.
const TOKEN_RUN_BYTES: usize = 16;

/// A path segment of this length counts as a token if it has upper case, lower case and digits.
const TOKEN_BYTES: usize = 24;

/// Returns the value of a header field without secrets. The name must be in lower case.
pub(super) fn redact_value(name: &str, value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if name == "cookie" {
        let cookies = text.split(';').filter(|cookie| cookie.contains('=')).count();
        let cookies = match cookies {
            1 => "1 cookie".to_owned(),
            _ => format!("{cookies} cookies"),
        };
        return format!("({cookies}, {} not shown)", bytes(value.len()));
    }
    if URL_FIELDS.contains(&name) {
        return shown_target(&text);
    }
    if SHOWN.contains(&name) || SHOWN_FAMILIES.iter().any(|family| name.starts_with(family)) {
        return text.into_owned();
    }
    match scheme(&text) {
        Some((scheme, rest)) => format!("{scheme} {}", length(rest.len())),
        None => length(value.len()),
    }
}

/// Splits credentials into a known scheme and the rest.
fn scheme(text: &str) -> Option<(&'static str, &str)> {
    let (first, rest) = text.trim_start().split_once([' ', '\t'])?;
    let scheme = SCHEMES.iter().find(|scheme| scheme.eq_ignore_ascii_case(first))?;
    Some((scheme, rest))
}

fn length(count: usize) -> String {
    format!("({} not shown)", bytes(count))
}

fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// Returns the target of a request, or another URL, without secrets.
pub fn shown_target(target: &str) -> String {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let (before, query) = target.split_at(end);
    let (authority, path) = match before.find("//") {
        Some(start) => {
            let (scheme, rest) = before.split_at(start + 2);
            let end = rest.find('/').unwrap_or(rest.len());
            (redact_authority(scheme, &rest[..end]), &rest[end..])
        }
        None => (String::new(), before),
    };
    let mut shown = authority;
    push_parts(&mut shown, path, &['/'], push_segment);
    push_parts(&mut shown, query, &['?', '#', '&'], push_parameter);
    shown
}

/// Returns the scheme and the host of a URL, without user and password (RFC 3986 section 3.2.1).
/// Only the usual schemes are shown: in a malformed URL, the text before the first `//` may be a
/// path.
fn redact_authority(scheme: &str, authority: &str) -> String {
    let mut shown = String::new();
    match scheme.trim_end_matches(['/', ':']) {
        "http" | "https" | "ws" | "wss" | "" => shown.push_str(scheme),
        _ => shown.push_str(&length(scheme.len())),
    }
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}@{host}", length(user.len()));
        }
        None => shown.push_str(authority),
    }
    shown
}

/// Appends the parts of a text, each redacted by `push`, with the separators between them.
fn push_parts(shown: &mut String, text: &str, separators: &[char], push: fn(&mut String, &str)) {
    for part in text.split_inclusive(separators) {
        let plain = part.trim_end_matches(separators);
        push(shown, plain);
        shown.push_str(&part[plain.len()..]);
    }
}

/// Appends a query parameter: its name, and the length of its value. Without `=`, all of it may be
/// a value.
fn push_parameter(shown: &mut String, parameter: &str) {
    let Some((name, value)) = parameter.split_once('=') else {
        if !parameter.is_empty() {
            shown.push_str(&length(parameter.len()));
        }
        return;
    };
    push_segment(shown, name);
    shown.push('=');
    if !value.is_empty() {
        shown.push_str(&length(value.len()));
    }
}

/// Appends a path segment, up to a character after which a parameter may follow.
fn push_segment(shown: &mut String, segment: &str) {
    let end = segment.find(is_boundary).unwrap_or(segment.len());
    let (word, rest) = segment.split_at(end);
    if is_token(word) || hides_value(word) {
        shown.push_str(&length(segment.len()));
        return;
    }
    shown.push_str(word);
    if !rest.is_empty() {
        // The boundary is one byte.
        shown.push_str(&rest[..1]);
        shown.push_str(&length(rest.len() - 1));
    }
}

/// Whether a word ends at this character, so that a value may follow.
fn is_boundary(character: char) -> bool {
    character.is_ascii_whitespace() || "/?#&;,=:@|\"'{}".contains(character)
}

/// Whether a word looks like a token.
fn is_token(word: &str) -> bool {
    let has = |text: &str, is_such: fn(&u8) -> bool| text.bytes().any(|byte| is_such(&byte));
    let runs = word.split(|character: char| !character.is_ascii_alphanumeric());
    let is_run = |run: &str| {
        run.len() >= TOKEN_RUN_BYTES
            && has(run, u8::is_ascii_digit)
            && has(run, u8::is_ascii_alphabetic)
    };
    let is_mixed = word.len() >= TOKEN_BYTES
        && has(word, u8::is_ascii_digit)
        && has(word, u8::is_ascii_uppercase)
        && has(word, u8::is_ascii_lowercase);
    // JSON in base64 begins with these letters.
    let is_json = word.len() >= TOKEN_RUN_BYTES && word.contains("eyJ");
    word.len() > 2 * NAME_BYTES_MAX || is_mixed || is_json || runs.into_iter().any(is_run)
}

/// Whether a percent-encoded word contains a token, a boundary, or too many layers of encoding.
fn hides_value(word: &str) -> bool {
    let mut text = Cow::Borrowed(word);
    for _ in 0..DECODED_MAX {
        let next = String::from_utf8_lossy(&percent_decode(text.as_bytes())).into_owned();
        if next == *text {
            return false;
        }
        if is_token(&next) || next.contains(is_boundary) {
            return true;
        }
        text = Cow::Owned(next);
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SHOWN, redact_value, shown_target};

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
}
