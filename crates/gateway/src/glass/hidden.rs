//! What is hidden of the heads that are shown: tokens, cookies, and whatever may be a key.
//!
//! A value is hidden because of its name, such as `Authorization`, `x-api-key` or the parameter `access_token` of
//! a query, or because it looks like a token. Too much is rather hidden than too little: what is shown is its
//! length. A secret whose name does not tell, in a segment of a path for instance, cannot be found.

use std::borrow::Cow;
use std::fmt::Write;

/// Parts of names whose values are hidden.
const SECRET_PARTS: [&str; 21] = [
    "apikey",
    "assertion",
    "auth",
    "bearer",
    "cookie",
    "credential",
    "csrf",
    "hmac",
    "jwt",
    "nonce",
    "passphrase",
    "passw",
    "private",
    "saml",
    "secret",
    "sessid",
    "session",
    "signature",
    "ticket",
    "token",
    "xsrf",
];

/// Words whose values are hidden if a name has them between its hyphens, underscores and dots.
const SECRET_WORDS: [&str; 9] = ["code", "key", "otp", "pass", "pin", "pwd", "sid", "sig", "sess"];

/// Names that have such parts, and tell no secret.
const NO_SECRETS: [&str; 6] = [
    "access-control-allow-credentials",
    "author",
    "authority",
    "proxy-authenticate",
    "strict-transport-security",
    "www-authenticate",
];

/// Schemes of credentials (IANA, HTTP Authentication Schemes), which are shown.
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

/// How often a value is decoded to look for parameters in it: an address in an address has them.
const DECODED_MAX: usize = 4;

/// The shortest text that is taken for a JSON web token.
const TOKEN_BYTES_MIN: usize = 16;

/// The value of a header field as it is shown.
pub(super) fn shown_value(name: &str, value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if name.contains("cookie") {
        let cookies = text.split(';').filter(|cookie| cookie.contains('=')).count();
        return match name {
            "cookie" => format!("({cookies} cookies, {} not shown)", bytes(value.len())),
            _ => length(value.len()),
        };
    }
    match scheme(&text) {
        Some((scheme, rest)) => format!("{scheme} {}", length(rest.len())),
        None if is_secret(name) => length(value.len()),
        None => shown(&text),
    }
}

/// The target of a request as it is shown.
pub(crate) fn shown_target(target: &str) -> String {
    shown(target)
}

/// A text without its secrets.
fn shown(text: &str) -> String {
    without_tokens(&without_parameters(&without_user(text)))
}

fn length(count: usize) -> String {
    format!("({} not shown)", bytes(count))
}

fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// The scheme of credentials, and the rest.
fn scheme(text: &str) -> Option<(&'static str, &str)> {
    let (first, rest) = text.trim_start().split_once([' ', '\t'])?;
    let scheme = SCHEMES.iter().find(|scheme| scheme.eq_ignore_ascii_case(first))?;
    // `Basic realm="a"` is a challenge, which `www-authenticate` holds; elsewhere it may be anything.
    Some((scheme, rest))
}

/// Whether the values of a name are hidden.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if NO_SECRETS.contains(&&*name) {
        return false;
    }
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut words = name.split(|character: char| !character.is_ascii_alphanumeric());
    SECRET_PARTS.iter().any(|part| joined.contains(part))
        || words.any(|word| SECRET_WORDS.contains(&word))
        || SECRET_WORDS.iter().any(|word| word.len() >= 3 && joined.ends_with(word))
}

/// What separates the parameters of queries, forms, paths and field values.
fn is_separator(character: char) -> bool {
    matches!(character, '?' | '&' | ';' | '#' | ',' | '/' | '"' | '\'' | '<' | '>' | '{' | '}')
        || character.is_whitespace()
}

/// A text without the values of secret parameters.
fn without_parameters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_separator).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        push_parameter(&mut shown, part);
        let next = after.chars().next().map_or(0, char::len_utf8);
        shown.push_str(&after[..next]);
        rest = &after[next..];
    }
    shown
}

fn push_parameter(shown: &mut String, part: &str) {
    // The value of a JSON member or of a field in a text is after a colon.
    let Some((name, value)) = part.split_once(['=', ':']) else {
        return match has_secret_inside(part) {
            true => shown.push_str(&length(part.len())),
            false => shown.push_str(part),
        };
    };
    let separator = &part[name.len()..=name.len()];
    if is_secret(&decoded_fully(name)) || has_secret_inside(part) {
        let name = if has_secret_inside(name) { "" } else { name };
        // A string takes all.
        let _ = write!(shown, "{name}{separator}{}", length(value.len()));
    } else {
        shown.push_str(part);
    }
}

/// Whether a part of a text has a secret parameter once it is decoded.
fn has_secret_inside(part: &str) -> bool {
    let mut text = Cow::Borrowed(part);
    for _ in 0..DECODED_MAX {
        let next = decoded(&text);
        if next == *text {
            return false;
        }
        text = Cow::Owned(next);
        let mut parts = text.split(is_separator).filter_map(|part| part.split_once(['=', ':']));
        if parts.any(|(name, value)| !value.is_empty() && is_secret(name)) {
            return true;
        }
    }
    // What is encoded more often hides something.
    decoded(&text) != *text
}

fn decoded_fully(name: &str) -> String {
    let mut name = name.to_owned();
    for _ in 0..DECODED_MAX {
        name = decoded(&name);
    }
    name
}

/// A text whose `%41` is an `A` (RFC 3986 section 2.1).
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default();
                bytes.push((digit(*high) * 16 + digit(*low)) as u8);
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text without the user and password of its addresses (RFC 3986 section 3.2.1).
fn without_user(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("//") {
        let (before, after) = rest.split_at(start + 2);
        shown.push_str(before);
        let end = after.find(['/', '?', '#', ' ', '"', '<', '>']).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((user, host)) => {
                // A string takes all.
                let _ = write!(shown, "{}@{host}", length(user.len()));
            }
            None => shown.push_str(authority),
        }
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

/// A text without JSON web tokens, which begin with `{"` in base64.
fn without_tokens(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("eyJ") {
        let (before, after) = rest.split_at(start);
        let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+=".contains(byte);
        let end = after.bytes().position(|byte| !is_of_token(&byte)).unwrap_or(after.len());
        shown.push_str(before);
        match end >= TOKEN_BYTES_MIN {
            true => shown.push_str(&length(end)),
            false => shown.push_str(&after[..end]),
        }
        rest = &after[end..];
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{shown_target, shown_value};

    /// Nothing that a secret may be called is made of these.
    const SECRET: &str = "Q7vXw3ZkQ9";

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
            ("referer", "https://a.example/list?page=2&sort=%C3%A9"),
            ("location", "/a/b%20c?x=1#part"),
        ] {
            assert_eq!(shown_value(name, value.as_bytes()), value, "{name}");
        }
        for target in ["/", "*", "/a/b?c=d&e", "https://a.example/b?c=%2F", "/eyJ"] {
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
            ("set-cookie", "a=1; Path=/", "(11 bytes not shown)"),
            ("x-api-key", "k", "(1 byte not shown)"),
            ("x-custom", "Bearer abcd", "Bearer (4 bytes not shown)"),
            ("location", "/cb?code=abc&x=1", "/cb?code=(3 bytes not shown)&x=1"),
            ("referer", "https://u:p@a.example/", "https://(3 bytes not shown)@a.example/"),
            ("x-custom", "eyJhbGciOiJIUzI1NiJ9.e30.abc", "(28 bytes not shown)"),
        ] {
            assert_eq!(shown_value(name, value.as_bytes()), expected, "{name}: {value}");
        }
        for (target, expected) in [
            ("/a?access_token=abc", "/a?access_token=(3 bytes not shown)"),
            ("/a?access%5Ftoken=abc", "/a?access%5Ftoken=(3 bytes not shown)"),
            ("/a;jsessionid=abc?b=c", "/a;jsessionid=(3 bytes not shown)?b=c"),
            ("/a?to=%2Fb%3Ftoken%3Dabc", "/a?to=(18 bytes not shown)"),
        ] {
            assert_eq!(shown_target(target), expected, "{target}");
        }
    }

    /// Names under which clients and servers send secrets, in pieces that are put together.
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
            let shown = shown_value(&name, value.as_bytes());
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
            field in prop::sample::select(vec!["referer", "location", "x-other", "link"]),
        ) {
            let parameter = format!("{}={SECRET}", encoded(&name, how));
            let mut target = format!("{path}?{before}{parameter}{after}");
            for _ in 0..depth {
                target = format!("/next?to={}", encoded(&target, 1));
            }
            for shown in [shown_target(&target), shown_value(field, target.as_bytes())] {
                prop_assert!(!shown.contains(SECRET), "{target} is {shown}");
            }
        }

        #[test]
        fn a_token_is_never_shown(
            name in "[a-z]{1,8}",
            before in "[ -~]{0,12}",
            payload in "[A-Za-z0-9_-]{4,40}",
        ) {
            let token = format!("eyJhbGciOiJIUzI1NiJ9.{payload}.{SECRET}");
            for text in [format!("/{before}{token}"), format!("{name}={before} {token}")] {
                let shown = shown_value(&name, text.as_bytes());
                prop_assert!(!shown.contains(SECRET), "{name}: {text} is {shown}");
            }
        }

        #[test]
        fn any_bytes_are_taken(name in "[a-z-]{1,12}", value in prop::collection::vec(any::<u8>(), 0..60)) {
            let _shown = shown_value(&name, &value);
            let _shown = shown_target(&String::from_utf8_lossy(&value));
        }
    }
}
