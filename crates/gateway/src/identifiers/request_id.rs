//! `X-Request-ID`: an id of a request that all services log.

use hyper::HeaderMap;
use hyper::header::HeaderValue;

use super::{X_REQUEST_ID, random_hex};

/// Longer ids are replaced, because every record and every log would contain them.
const BYTES_MAX: usize = 128;

/// Keeps the id of a trusted peer, or sets a new one: 16 random bytes, as nginx's `$request_id`.
/// Returns the id.
pub(super) fn ensure_request_id(headers: &mut HeaderMap, is_trusted: bool) -> Option<HeaderValue> {
    if let Some(kept) = incoming_id(headers).filter(|_| is_trusted) {
        return Some(kept.clone());
    }
    headers.remove(X_REQUEST_ID);
    let id = HeaderValue::from_str(&random_hex::<16>()?).ok()?;
    headers.insert(X_REQUEST_ID, id.clone());
    Some(id)
}

/// Returns the incoming id if there is exactly one, of 1 to 128 visible ASCII characters.
fn incoming_id(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut ids = headers.get_all(X_REQUEST_ID).iter();
    let (Some(id), None) = (ids.next(), ids.next()) else { return None };
    let is_short = (1..=BYTES_MAX).contains(&id.len());
    (is_short && id.as_bytes().iter().all(u8::is_ascii_graphic)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, HeaderMap, HeaderValue, X_REQUEST_ID, ensure_request_id};

    #[test]
    fn ids_of_trusted_peers_are_kept_if_they_are_short_and_plain() {
        let long = "x".repeat(BYTES_MAX);
        let too_long = "x".repeat(BYTES_MAX + 1);
        for (ids, is_trusted, is_kept) in [
            (&["abc-123"][..], true, true),
            (&["abc-123"], false, false),
            (&["{\"a\":1}"], true, true),
            (&[&*long], true, true),
            (&[&*too_long], true, false),
            (&[""], true, false),
            (&["a b"], true, false),
            (&["a\tb"], true, false),
            (&["\u{e9}"], true, false),
            (&["a", "a"], true, false),
            (&[], true, false),
        ] {
            let mut headers = HeaderMap::new();
            for id in ids {
                headers
                    .append(X_REQUEST_ID, HeaderValue::from_bytes(id.as_bytes()).expect("a value"));
            }
            let id = ensure_request_id(&mut headers, is_trusted).expect("random bytes");
            let sent: Vec<_> = headers.get_all(X_REQUEST_ID).iter().collect();
            assert_eq!(sent, [&id], "{ids:?}");
            let id = id.to_str().expect("ASCII");
            assert_eq!(ids.first() == Some(&id), is_kept, "{ids:?}: {id}");
            let is_new = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_kept || is_new, "{id}");
        }
        let new = || ensure_request_id(&mut HeaderMap::new(), false);
        assert_ne!(new(), new());
    }
}
