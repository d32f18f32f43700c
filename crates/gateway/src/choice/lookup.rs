//! An HTTP service that maps the value of a claim to a backend.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::Value;
use tokio::sync::Semaphore;
use weir_net::redaction::shown_target;

use crate::fetch::{FetchClient, FetchLimits, FetchUrl};
use crate::notices::{Notice, Notices};
use crate::percent_encoding::percent_encode;
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
    answers: SharedCache<String, Answer>,
    /// One permit for each concurrent request.
    permits: Semaphore,
}

#[derive(Debug)]
pub(crate) struct Answer {
    /// The name of the backend; `None` if the value has none.
    pub(crate) backend: Option<Arc<str>>,
    expires: Instant,
}

impl Expiring for Answer {
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
    pub(crate) fn new(template: &str, cache: Duration) -> Result<Self, String> {
        let url = fill(template, "value")?;
        let client = FetchClient::for_url(&url, None, FetchLimits::default());
        let client = client.map_err(|error| error.to_string())?.for_purpose("lookup");
        let (answers, permits) = (SharedCache::new(), Semaphore::new(REQUESTS_MAX));
        Ok(Self { client, template: template.to_owned(), cache, answers, permits })
    }

    /// Returns the answer for a value, from the cache or the service. If the service fails, reports
    /// the reason, and returns `None`.
    pub(crate) async fn backend(
        &self,
        value: &str,
        reports: &LookupReports<'_>,
    ) -> Option<CacheResult<Answer>> {
        if value.len() > VALUE_BYTES_MAX {
            self.report(reports, || {
                let bytes = value.len();
                format!(
                    "the claim has {bytes} bytes; only {VALUE_BYTES_MAX} or fewer are looked up"
                )
            });
            return None;
        }
        let fetch = async || {
            let answer = self.fetch_answer(value).await;
            answer.map_err(|reason| self.report(reports, || reason)).ok()
        };
        self.answers.get(&value.to_owned(), None, fetch).await
    }

    /// Reports that the service has named a backend that does not exist.
    pub(crate) fn report_unknown(&self, name: &str, reports: &LookupReports<'_>) {
        self.report(reports, || {
            format!("it names the backend `{name}`, which the configuration does not have")
        });
    }

    fn report(&self, reports: &LookupReports<'_>, reason: impl FnOnce() -> String) {
        let LookupReports { route, notices } = reports;
        notices.report(&format!("lookup of {route}"), || {
            // The query of the address may contain a key of the service.
            let address = shown_target(&self.template).to_string();
            let sentence = format!("the lookup {address} of the route {route} fails: {}", reason());
            Notice { endpoint: Some(address), ..Notice::new(sentence) }
        });
    }

    async fn fetch_answer(&self, value: &str) -> Result<Answer, String> {
        let permit = self.permits.acquire().await;
        let _permit = permit.map_err(|error| error.to_string())?;
        let url = fill(&self.template, value)?;
        let answer = self.client.get(&url).await;
        let answer = answer.map_err(|error| error.problem().to_string())?;
        let backend = match answer.status {
            StatusCode::NOT_FOUND => None,
            status if status.is_success() => Some(name(&answer.body).ok_or(
                "its answer is neither {\"backend\": \"NAME\"} nor a name as text; write 404 if \
                 the value has no backend",
            )?),
            status => return Err(format!("its status is {status}")),
        };
        Ok(Answer { backend, expires: Instant::now() + self.cache })
    }
}

/// Where the failures of a lookup are reported, and for which route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookupReports<'a> {
    pub(crate) route: &'a str,
    pub(crate) notices: &'a Notices,
}

fn fill(template: &str, value: &str) -> Result<FetchUrl, String> {
    let url = template.replace("{claim}", &percent_encode(value));
    url.parse::<FetchUrl>().map_err(|error| error.to_string())
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
