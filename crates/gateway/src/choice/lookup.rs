//! An HTTP service that maps the value of a claim to a backend.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::Value;
use tokio::sync::Semaphore;
use weir_net::percent_encode;
use weir_net::redaction::shown_target;

use crate::fetch::{FetchClient, FetchError, FetchLimits, FetchUrl, InvalidFetchUrl, TrustError};
use crate::shared_cache::{CacheResult, Expiring, SharedCache};

/// Longer values are not looked up.
const VALUE_BYTES_MAX: usize = 1_024;

/// Longer texts are not names of backends.
const NAME_BYTES_MAX: usize = 256;

/// Concurrent requests to the service. Each has its own connection.
const REQUESTS_MAX: usize = 64;

/// Looks up backends with `GET URL`, in which the value replaces `{claim}`. The answer is the name
/// of a backend as JSON, `{"backend": "NAME"}`, or as plain text; 404 if the value has none.
#[derive(Debug)]
pub(crate) struct Lookup {
    client: FetchClient,
    template: String,
    cache: Duration,
    answers: SharedCache<String, LookupAnswer>,
    /// One permit for each concurrent request.
    permits: Semaphore,
}

#[derive(Debug)]
pub(crate) struct LookupAnswer {
    /// The name of the backend; `None` if the value has none.
    pub(crate) backend: Option<Arc<str>>,
    expires: Instant,
}

impl Expiring for LookupAnswer {
    fn expires(&self) -> Instant {
        self.expires
    }

    fn heap_bytes(&self) -> usize {
        self.backend.as_ref().map_or(0, |name| 16 + name.len())
    }
}

impl Lookup {
    /// Creates a lookup with a URL that contains `{claim}`. Answers are cached for `cache`.
    ///
    /// # Errors
    /// If the URL may not be fetched.
    pub(crate) fn new(template: &str, cache: Duration) -> Result<Self, LookupFault> {
        let url = fill(template, "value")?;
        let client = FetchClient::for_url(&url, None, FetchLimits::default());
        let client = client.map_err(LookupFault::Trust)?.for_purpose("lookup");
        let (answers, permits) = (SharedCache::new(), Semaphore::new(REQUESTS_MAX));
        Ok(Self { client, template: template.to_owned(), cache, answers, permits })
    }

    /// Returns the answer for a value, from the cache or the service. If the service fails, reports
    /// the reason with the name of the route, and returns `None`.
    pub(crate) async fn backend(
        &self,
        value: &str,
        route: &str,
    ) -> Option<CacheResult<LookupAnswer>> {
        if value.len() > VALUE_BYTES_MAX {
            self.report(route, &LookupFault::ValueTooLong(value.len()));
            return None;
        }
        let fetch = async || {
            let answer = self.fetch_answer(value).await;
            answer.map_err(|fault| self.report(route, &fault)).ok()
        };
        self.answers.get(&value.to_owned(), None, fetch).await
    }

    /// Reports that the service has named a backend that does not exist.
    pub(crate) fn report_unknown(&self, name: &str, route: &str) {
        self.report(route, &LookupFault::UnknownBackend(name.to_owned()));
    }

    /// Reports why the service fails for a route.
    fn report(&self, route: &str, fault: &LookupFault) {
        // The query of the address may contain a key of the service.
        let endpoint = &*shown_target(&self.template);
        tracing::warn!(
            target: "weir_gateway",
            endpoint,
            "the lookup {endpoint} of the route {route} fails: {fault}"
        );
    }

    async fn fetch_answer(&self, value: &str) -> Result<LookupAnswer, LookupFault> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        let url = fill(&self.template, value)?;
        let answer = self.client.get(&url).await;
        let answer = answer.map_err(LookupFault::Fetch)?;
        let backend = match answer.status {
            StatusCode::NOT_FOUND => None,
            status if status.is_success() => Some(name(&answer.body).ok_or(LookupFault::NoName)?),
            status => return Err(LookupFault::Status(status)),
        };
        Ok(LookupAnswer { backend, expires: Instant::now() + self.cache })
    }
}

fn fill(template: &str, value: &str) -> Result<FetchUrl, LookupFault> {
    let url = template.replace("{claim}", &percent_encode(value));
    url.parse().map_err(LookupFault::Url)
}

/// Why a lookup found nothing.
#[derive(Debug)]
pub(crate) enum LookupFault {
    /// The claim has this many bytes, too many to be looked up.
    ValueTooLong(usize),
    Url(InvalidFetchUrl),
    /// The certificate authorities cannot be used.
    Trust(TrustError),
    Fetch(FetchError),
    Status(StatusCode),
    /// The answer names no backend.
    NoName,
    /// The configuration does not have the backend of this name.
    UnknownBackend(String),
}

impl fmt::Display for LookupFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ValueTooLong(bytes) => write!(
                formatter,
                "the claim has {bytes} bytes; only {VALUE_BYTES_MAX} or fewer are looked up"
            ),
            Self::Url(error) => error.fmt(formatter),
            Self::Trust(error) => error.fmt(formatter),
            Self::Fetch(error) => error.problem().fmt(formatter),
            Self::Status(status) => write!(formatter, "its status is {status}"),
            Self::NoName => formatter.write_str(
                "its answer is neither {\"backend\": \"NAME\"} nor a name as text; write 404 if \
                 the value has no backend",
            ),
            Self::UnknownBackend(name) => write!(
                formatter,
                "it names the backend `{name}`, which the configuration does not have"
            ),
        }
    }
}

/// Extracts the backend's name from the body of an answer.
fn name(body: &[u8]) -> Option<Arc<str>> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let json: Option<Value> = serde_json::from_str(text).ok();
    let name = match &json {
        Some(Value::Object(object)) => object.get("backend")?.as_str()?,
        Some(Value::String(name)) => name,
        _ => text,
    };
    let is_name = (1..=NAME_BYTES_MAX).contains(&name.len())
        && !name.contains(|letter: char| letter.is_control());
    is_name.then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn an_answer_names_a_backend() {
        for (body, expected) in [
            (r#"{"backend": "one"}"#, Some("one")),
            (r#""one""#, Some("one")),
            ("one\n", Some("one")),
            (r#"{"other": "one"}"#, None),
            (r#"{"backend": 1}"#, None),
            ("", None),
            (r#""""#, None),
            ("<html>\n<p>welcome", None),
            (&"x".repeat(257), None),
        ] {
            assert_eq!(name(body.as_bytes()).as_deref(), expected, "{body:?}");
        }
        assert_eq!(name(b"\xff"), None);
    }
}
