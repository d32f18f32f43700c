//! The result of a log-in at a backend or a token service.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use serde_json::Value;

use crate::shared_cache::Expiring;

/// The header field that makes a request part of a session.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    name: HeaderName,
    value: HeaderValue,
    expires: Instant,
    pub(super) started_at: Instant,
    /// How many grants before it the backend stopped to accept in quick succession.
    pub(super) renewals: u32,
}

/// The least time between two renewals of a session. It doubles with each, because an answer 401
/// may have other reasons.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);
const RENEWAL_PAUSE_MAX: Duration = Duration::from_secs(60);

impl Expiring for Grant {
    fn expires(&self) -> Instant {
        self.expires
    }

    fn heap_bytes(&self) -> usize {
        self.value.len()
    }
}

impl Grant {
    /// Reads the answer to a log-in: a JSON object with `access_token` and optionally `expires_in`
    /// in seconds (RFC 6749 section 5.1), or cookies (RFC 6265). A session lasts for `lifetime`, or
    /// less if `expires_in` is shorter.
    pub(super) fn read(headers: &HeaderMap, body: &Bytes, lifetime: Duration) -> Option<Self> {
        let (token, expires_in) = access_token(body).unzip();
        let lifetime = expires_in.flatten().map_or(lifetime, |it: Duration| it.min(lifetime));
        let started_at = Instant::now();
        let expires = started_at + lifetime;
        let (name, value) = match token {
            Some(token) => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).ok()?),
            None => (COOKIE, cookies(headers)?),
        };
        let mut value = value;
        value.set_sensitive(true);
        Some(Self { name, value, expires, started_at, renewals: 0 })
    }

    /// Whether another log-in may replace the grant, which the backend has not accepted.
    pub(super) fn may_be_renewed(&self) -> bool {
        self.started_at.elapsed() >= self.renewal_pause()
    }

    /// The number of renewals of a grant that replaces this one.
    pub(super) fn next_renewals(&self) -> u32 {
        match self.started_at.elapsed() < 2 * self.renewal_pause() {
            true => self.renewals.saturating_add(1),
            false => 1,
        }
    }

    fn renewal_pause(&self) -> Duration {
        match self.renewals {
            0 => Duration::ZERO,
            renewals => {
                let doubled = 1_u32.checked_shl(renewals - 1).unwrap_or(u32::MAX);
                RENEWAL_PAUSE.saturating_mul(doubled).min(RENEWAL_PAUSE_MAX)
            }
        }
    }

    /// Replaces the client's credentials by those of the session.
    pub(super) fn apply(&self, headers: &mut HeaderMap) {
        // The client's token is for the gateway, and its cookies do not belong to this session.
        headers.remove(AUTHORIZATION);
        headers.remove(COOKIE);
        headers.insert(self.name.clone(), self.value.clone());
    }
}

/// Reads the token of an answer, and its lifetime.
fn access_token(body: &Bytes) -> Option<(String, Option<Duration>)> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let token = answer.get("access_token")?.as_str()?;
    let expires_in = answer.get("expires_in").and_then(Value::as_u64).map(Duration::from_secs);
    Some((token.to_owned(), expires_in))
}

/// Returns the cookies of an answer in the form of a `Cookie` field; `None` if there are none.
fn cookies(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut pairs = Vec::new();
    for value in headers.get_all(SET_COOKIE) {
        let pair = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        if pair.contains(&b'=') {
            pairs.push(pair.trim_ascii());
        }
    }
    if pairs.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(&pairs.join(&b"; "[..])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_a_token_or_cookies() {
        let minute = Duration::from_secs(60);
        for (cookies, body, expected) in [
            (&[][..], r#"{"access_token":"t"}"#, Some(("authorization", "Bearer t"))),
            (
                &["a=1; Path=/"],
                r#"{"access_token":"t","expires_in":1}"#,
                Some(("authorization", "Bearer t")),
            ),
            (&["a=1; Path=/; HttpOnly", "b=2"], "welcome", Some(("cookie", "a=1; b=2"))),
            (&[], "{}", None),
            (&[], r#"{"access_token":7}"#, None),
            (&[], r#"{"access_token":"line\nfeed"}"#, None),
            (&["nonsense"], "", None),
        ] {
            let mut headers = HeaderMap::new();
            for cookie in cookies {
                headers.append(SET_COOKIE, HeaderValue::from_static(cookie));
            }
            let grant = Grant::read(&headers, &Bytes::from_static(body.as_bytes()), minute);
            let mut request = HeaderMap::new();
            request.insert(AUTHORIZATION, HeaderValue::from_static("Bearer of the client"));
            request.insert(COOKIE, HeaderValue::from_static("of=the client"));
            if let Some(grant) = &grant {
                grant.apply(&mut request);
                let sent = request
                    .iter()
                    .next()
                    .map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
                assert_eq!((sent, request.len()), (expected, 1), "{body}");
            }
            assert_eq!(grant.is_some(), expected.is_some(), "{body}");
        }
    }

    #[test]
    fn the_pause_between_renewals_grows() {
        let after = |renewals: u32, seconds: u64| {
            let body = Bytes::from_static(br#"{"access_token":"t"}"#);
            let grant = Grant::read(&HeaderMap::new(), &body, Duration::from_secs(600)).unwrap();
            let started_at = grant.started_at - Duration::from_secs(seconds);
            Grant { renewals, started_at, ..grant }
        };
        for (renewals, seconds, expected) in [
            (0, 0, (true, 1)),
            (1, 0, (false, 2)),
            (1, 1, (true, 2)),
            (1, 2, (true, 1)),
            (4, 7, (false, 5)),
            (4, 8, (true, 5)),
            (4, 16, (true, 1)),
            (7, 60, (true, 8)),
            (100, 59, (false, 101)),
            (100, 60, (true, 101)),
            (100, 120, (true, 1)),
        ] {
            let grant = after(renewals, seconds);
            let found = (grant.may_be_renewed(), grant.next_renewals());
            assert_eq!(found, expected, "{renewals} renewals, {seconds} s");
        }
    }

    #[test]
    fn the_shorter_life_counts() {
        let minute = Duration::from_secs(60);
        let grant = |body: &'static str| {
            Grant::read(&HeaderMap::new(), &Bytes::from_static(body.as_bytes()), minute).unwrap()
        };
        assert!(grant(r#"{"access_token":"t","expires_in":0}"#).expires <= Instant::now());
        let long = grant(r#"{"access_token":"t","expires_in":999999999}"#);
        assert!(long.expires <= Instant::now() + minute);
    }
}
