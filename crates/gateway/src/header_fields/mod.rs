//! Removal and addition of header fields.
//!
//! RFC 9110 section 7.6.1 defines the hop-by-hop fields. In addition, a client must not be able to
//! forge fields that a backend trusts as written by the gateway (RFC 7239 section 8), nor use
//! `Connection` to remove fields that identify it.

pub(crate) mod address_text;
mod identity;
pub(crate) mod sender;
pub(crate) mod trusted_networks;

use std::net::IpAddr;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, COOKIE, EXPECT, FORWARDED, HOST, HeaderName, HeaderValue, LOCATION, SET_COOKIE,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};
use weir_net::socket::ClientCertificate;

use self::address_text::push_address;
use self::identity::is_identity_field;
use self::sender::{X_FORWARDED_FOR, X_FORWARDED_PROTO};
use crate::identifiers::{TRACEPARENT, TRACESTATE, X_REQUEST_ID};

/// Whether a field is hop-by-hop, so that it is removed. `TE` is added again if it requests trailer
/// fields, and `Expect` if the client waits for the backend.
fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "expect"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "http2-settings"
            | "te"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Fields that `Connection` cannot remove: they identify the client, frame the body, or were
/// written by the gateway.
const UNREMOVABLE: [HeaderName; 8] = [
    AUTHORIZATION,
    COOKIE,
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    X_REQUEST_ID,
    TRACEPARENT,
    TRACESTATE,
];

/// Whether a request cannot be forwarded without a field.
pub(crate) fn is_needed(name: &HeaderName) -> bool {
    [HOST, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) || is_hop_by_hop(name.as_str())
}

/// Whether a field is an identifier that the gateway may have set before others are removed.
pub(crate) fn is_identifier(name: &HeaderName) -> bool {
    [X_REQUEST_ID, TRACEPARENT, TRACESTATE].contains(name)
}

/// Whether the gateway or a session writes a field, so that it cannot state a claim.
pub(crate) fn is_own(name: &HeaderName) -> bool {
    const OWN: [HeaderName; 6] =
        [AUTHORIZATION, COOKIE, FORWARDED, X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO];
    is_needed(name) || is_identifier(name) || OWN.contains(name)
}

const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A capacity that fits a value of `Forwarded` with an IPv6 address.
const FORWARDED_BYTES: usize = 64;

/// The origin of a request, as the backend is told.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RequestOrigin<'a> {
    /// The address of the client; `None` for a Unix socket.
    pub(crate) client: Option<IpAddr>,
    pub(crate) is_tls: bool,
    /// The addresses of the client and of the trusted proxies, if there are any.
    pub(crate) forwarded_for: Option<&'a HeaderValue>,
    /// The certificate of the client, if it has presented one.
    pub(crate) certificate: Option<&'a ClientCertificate>,
}

/// The header fields of clients that are removed, and those that are not, besides the usual ones.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ClientFields {
    /// Further fields that are removed.
    pub removed: Vec<HeaderName>,
    /// Fields that are not removed although they may state an identity.
    pub kept: Vec<HeaderName>,
}

impl ClientFields {
    /// The same with further fields that are removed.
    pub(crate) fn with_removed<'a>(&self, names: impl Iterator<Item = &'a HeaderName>) -> Self {
        let mut fields = self.clone();
        fields.removed.extend(names.cloned());
        fields
    }

    fn are_without(&self, name: &str) -> bool {
        is_identity_field(name) && !self.kept.iter().any(|kept| kept == name)
    }
}

/// Removes hop-by-hop fields and fields that a client must not set, among them those of the
/// configuration.
pub(crate) fn clean_request(headers: &mut HeaderMap, fields: &ClientFields) {
    let asks_for_trailers = headers.get_all(TE).iter().any(names_trailers);
    remove_named_by_connection(headers);
    remove_if(headers, |name| is_hop_by_hop(name) || fields.are_without(name));
    for name in &fields.removed {
        headers.remove(name);
    }
    join_cookies(headers);
    if asks_for_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Removes trailer fields that a client must not set, among them those of the configuration.
pub(crate) fn clean_trailers(trailers: &mut HeaderMap, fields: &ClientFields) {
    remove_if(trailers, |name| fields.are_without(name));
    for name in UNREMOVABLE.iter().chain(&fields.removed) {
        trailers.remove(name);
    }
}

/// An answer whose fields say two things about its body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousAnswer;

/// Removes the hop-by-hop fields of an answer, and writes its length once.
///
/// # Errors
/// If the body has a transfer coding besides `chunked`, which the client would not learn of.
pub(crate) fn clean_response(headers: &mut HeaderMap) -> Result<(), AmbiguousAnswer> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Err(AmbiguousAnswer);
        }
        // `Transfer-Encoding` overrides `Content-Length` (RFC 9112 section 6.3).
        headers.remove(CONTENT_LENGTH);
    }
    join_lengths(headers);
    remove_named_by_connection(headers);
    remove_if(headers, is_hop_by_hop);
    Ok(())
}

/// Replaces a list of equal lengths, such as `5, 5`, by one (RFC 9112 section 6.3). If an answer has a
/// body, hyper has refused unequal ones.
fn join_lengths(headers: &mut HeaderMap) {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return };
    if lengths.next().is_none() && !first.as_bytes().contains(&b',') {
        return;
    }
    let first = first.as_bytes().split(|byte| *byte == b',').next().unwrap_or_default();
    if let Ok(length) = HeaderValue::from_bytes(first.trim_ascii()) {
        headers.insert(CONTENT_LENGTH, length);
    }
}

/// Removes the trailer fields of an answer that would change what its head says (RFC 9110 section
/// 6.5.1).
pub(crate) fn clean_response_trailers(trailers: &mut HeaderMap) {
    const OF_HEAD: [HeaderName; 9] = [
        CACHE_CONTROL,
        CONTENT_ENCODING,
        CONTENT_LENGTH,
        CONTENT_RANGE,
        CONTENT_TYPE,
        LOCATION,
        SET_COOKIE,
        TRAILER,
        WWW_AUTHENTICATE,
    ];
    remove_if(trailers, is_hop_by_hop);
    for name in OF_HEAD {
        trailers.remove(name);
    }
}

/// Removes the fields of an answer that say which pages may read it.
pub(crate) fn remove_cors(headers: &mut HeaderMap) {
    remove_if(headers, |name| name.starts_with("access-control-"));
}

/// Whether a client waits for `100 Continue` before it sends the body of a request.
pub(crate) fn expects_continue(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(EXPECT).iter();
    let is_continue = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    values.next().is_some_and(is_continue) && values.next().is_none()
}

/// Adds the `X-Forwarded-*` fields and `Forwarded`.
pub(crate) fn add_forwarded(headers: &mut HeaderMap, from: &RequestOrigin<'_>) {
    let scheme = if from.is_tls { "https" } else { "http" };
    if let Some(host) = headers.get(HOST).cloned() {
        headers.insert(X_FORWARDED_HOST, host);
    }
    headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(scheme));
    let (forwarded, address) =
        format_forwarded(from.client.map(|client| client.to_canonical()), scheme);
    let own = || HeaderValue::from_maybe_shared(address?).ok();
    if let Some(list) = from.forwarded_for.cloned().or_else(own) {
        headers.insert(X_FORWARDED_FOR, list);
    }
    if let Ok(forwarded) = HeaderValue::from_maybe_shared(forwarded) {
        headers.insert(FORWARDED, forwarded);
    }
}

/// Formats the value of `Forwarded` (RFC 7239 section 4). Also returns the slice of it that is the
/// address.
fn format_forwarded(address: Option<IpAddr>, scheme: &str) -> (Bytes, Option<Bytes>) {
    let mut text = Vec::with_capacity(FORWARDED_BYTES);
    text.extend_from_slice(b"for=");
    let (before, after) = match address {
        Some(IpAddr::V4(_)) => ("", ""),
        Some(IpAddr::V6(_)) => ("\"[", "]\""),
        None => ("unknown", ""),
    };
    text.extend_from_slice(before.as_bytes());
    let start = text.len();
    if let Some(address) = address {
        push_address(&mut text, address);
    }
    let end = text.len();
    for part in [after, ";proto=", scheme] {
        text.extend_from_slice(part.as_bytes());
    }
    let text = Bytes::from(text);
    let address = address.map(|_| text.slice(start..end));
    (text, address)
}

/// Whether a request asks for an upgrade to WebSocket (RFC 6455 section 4.1). Other protocols are
/// not permitted: after an upgrade to `h2c`, the gateway could not check requests.
pub(crate) fn is_websocket_upgrade(headers: &HeaderMap) -> bool {
    let is_upgrade =
        headers.get_all(CONNECTION).iter().any(|value| contains_name(value, "upgrade"));
    let mut protocols = headers.get_all(UPGRADE).iter();
    let is_websocket =
        protocols.next().is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    is_upgrade && is_websocket && protocols.next().is_none()
}

/// Restores the WebSocket handshake fields that [`clean_request`] and [`clean_response`] remove.
pub(crate) fn add_websocket(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

fn remove_named_by_connection(headers: &mut HeaderMap) {
    let mut named = Vec::new();
    for value in headers.get_all(CONNECTION) {
        if is_common(value) {
            continue;
        }
        for name in value.as_bytes().split(|byte| *byte == b',') {
            if let Ok(name) = HeaderName::from_bytes(name.trim_ascii())
                && !UNREMOVABLE.contains(&name)
            {
                named.push(name);
            }
        }
    }
    for name in named {
        headers.remove(name);
    }
}

/// Whether a `Connection` value is one of the two common ones, which name no other field.
fn is_common(connection: &HeaderValue) -> bool {
    let is = |usual: &[u8]| connection.as_bytes().eq_ignore_ascii_case(usual);
    is(b"keep-alive") || is(b"close")
}

/// Removes the fields whose names match. Most messages have none, so a scan comes first.
fn remove_if(headers: &mut HeaderMap, is_removed: impl Fn(&str) -> bool) {
    if !headers.keys().any(|name| is_removed(name.as_str())) {
        return;
    }
    let names = headers.keys().filter(|name| is_removed(name.as_str()));
    for name in names.cloned().collect::<Vec<HeaderName>>() {
        headers.remove(name);
    }
}

/// Joins `Cookie` fields, which HTTP/2 clients may split (RFC 9113 section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let mut cookies = headers.get_all(COOKIE).iter();
    if cookies.next().is_none() || cookies.next().is_none() {
        return;
    }
    let parts: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&parts.join(&b"; "[..])) {
        headers.insert(COOKIE, joined);
    }
}

fn names_trailers(value: &HeaderValue) -> bool {
    contains_name(value, "trailers")
}

/// Whether a comma-separated list contains `name`.
fn contains_name(value: &HeaderValue, name: &str) -> bool {
    let mut names = value.as_bytes().split(|byte| *byte == b',');
    names.any(|it| it.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests;
