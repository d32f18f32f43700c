//! A service that tells the backend of a value.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::fetch::{FetchClient, FetchLimits, FetchUrl};
use crate::percent_encoding::percent_encoded;
use crate::shared_cache::{Expiring, Found, SharedCache};

/// Longer values are not asked for.
const VALUE_BYTES_MAX: usize = 1_024;

/// Questions at a time, each with a connection of its own.
const ASKING_MAX: usize = 64;

/// Asks for `GET URL`, with the value in place of `{claim}`. The answer is the name of a backend as JSON,
/// `{"backend": "NAME"}`, or as plain text; 404 if the value has none.
#[derive(Debug)]
pub(crate) struct Lookup {
    client: FetchClient,
    template: String,
    cache: Duration,
    answers: SharedCache<String, Answer>,
    /// Who may ask at a time.
    asking: Semaphore,
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
}

impl Lookup {
    /// A service at a URL with `{claim}` in it, whose answers are valid for `cache`.
    ///
    /// # Errors
    /// If the URL may not be fetched.
    pub(crate) fn new(template: &str, cache: Duration) -> Result<Self, String> {
        let url = fill(template, "value")?;
        let client = FetchClient::for_url(&url, None, FetchLimits::default());
        let client = client.map_err(|error| error.to_string())?.for_purpose("look-up");
        let (answers, asking) = (SharedCache::new(), Semaphore::new(ASKING_MAX));
        Ok(Self { client, template: template.to_owned(), cache, answers, asking })
    }

    /// The backend of a value; `None` if the service does not say.
    pub(crate) async fn backend(&self, value: &str) -> Option<Found<Answer>> {
        if value.len() > VALUE_BYTES_MAX {
            return None;
        }
        self.answers.get(&value.to_owned(), None, || self.ask(value)).await
    }

    async fn ask(&self, value: &str) -> Option<Answer> {
        let _asking = self.asking.acquire().await.ok()?;
        let url = fill(&self.template, value).ok()?;
        let answer = self.client.get(&url).await.ok()?;
        let backend = match answer.status {
            StatusCode::NOT_FOUND => None,
            status if status.is_success() => Some(name(&answer.body)?),
            _ => return None,
        };
        Some(Answer { backend, expires: Instant::now() + self.cache })
    }
}

fn fill(template: &str, value: &str) -> Result<FetchUrl, String> {
    let url = template.replace("{claim}", &percent_encoded(value));
    url.parse::<FetchUrl>().map_err(|error| error.to_string())
}

/// The name in an answer.
fn name(body: &[u8]) -> Option<Arc<str>> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let json: Option<Value> = serde_json::from_str(text).ok();
    let name = match &json {
        Some(Value::Object(object)) => object.get("backend")?.as_str()?,
        Some(Value::String(name)) => name,
        _ => text,
    };
    (!name.is_empty()).then(|| name.into())
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
        ] {
            assert_eq!(name(body.as_bytes()).as_deref(), expected, "{body:?}");
        }
        assert_eq!(name(b"\xff"), None);
    }
}
