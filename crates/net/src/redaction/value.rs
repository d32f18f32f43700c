//! The values of header fields without secrets. They are shown only for the fields of a list.

use super::target::shown_target;
use super::{bytes, length};

/// The fields whose values are shown, because they describe the protocol and not the user.
pub(super) const SHOWN: [&str; 64] = [
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
