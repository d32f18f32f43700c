//! Verifies the token of a request.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::http::request::Parts;
use serde_json::Value;
use weir_observe::mark;

use crate::token::{IssuerChoice, TokenRefusal, VerifiedBy, VerifiedToken, bearer_token};

/// Verifies the token of a request. Also returns whether the result came from the cache.
///
/// # Errors
/// Why the request is refused.
pub(crate) async fn authorize(
    issuers: &IssuerChoice,
    request: &Parts,
) -> Result<(Arc<VerifiedToken>, VerifiedBy), TokenRefusal> {
    let token = bearer_token(&request.headers, request.uri.query())?;
    let verifying = issuers.verify(token, now_unix_s());
    mark!("TokenVerifier::verify").poll_with(verifying).await
}

/// The system time in seconds since 1970. A clock before 1970 would make no token look expired, so
/// it counts as the end of time instead.
pub(crate) fn now_unix_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(i64::MAX, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// Returns a claim, by name or by path, as the text that selects a backend. Only strings and whole numbers do; lists,
/// objects and other values return `None`.
pub(crate) fn claim_text<'a>(token: &'a VerifiedToken, name: &str) -> Option<Cow<'a, str>> {
    match token.claim_at(name)? {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => number.as_i64().map(|number| Cow::Owned(number.to_string())),
        _ => None,
    }
}
