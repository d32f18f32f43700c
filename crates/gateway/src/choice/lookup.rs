//! A service that tells the backend of a value.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::Value;

use crate::fetch::{FetchClient, FetchLimits, FetchUrl};
use crate::session::percent_encoded;

/// Answers that are remembered at most; beyond it all are forgotten.
const ANSWERS_MAX: usize = 100_000;

/// Longer values are asked for without being remembered.
const VALUE_BYTES_MAX: usize = 1_024;

/// Asks for `GET URL`, with the value in place of `{claim}`. The answer is the name of a backend as JSON,
/// `{"backend": "NAME"}`, or as plain text; 404 if the value has none.
#[derive(Debug)]
pub(crate) struct Lookup {
    client: FetchClient,
    template: String,
    cache: Duration,
    answers: Mutex<HashMap<String, Answer>>,
}

#[derive(Debug, Clone)]
struct Answer {
    /// `None` if the value has no backend.
    backend: Option<Arc<str>>,
    expires: Instant,
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The name of its backend, if it has one.
    pub(crate) backend: Option<Arc<str>>,
    /// Whether the answer was remembered.
    pub(crate) is_remembered: bool,
}

impl Lookup {
    /// A service at a URL with `{claim}` in it, whose answers are valid for `cache`.
    ///
    /// # Errors
    /// If the URL may not be fetched.
    pub(crate) fn new(template: &str, cache: Duration) -> Result<Self, String> {
        let url = fill(template, "value")?;
        let client = FetchClient::for_url(&url, None, FetchLimits::default());
        let client = client.map_err(|error| error.to_string())?;
        Ok(Self { client, template: template.to_owned(), cache, answers: Mutex::default() })
    }

    /// The backend of a value; `None` if the service does not say.
    pub(crate) async fn backend(&self, value: &str) -> Option<Found> {
        if let Some(backend) = self.remembered(value) {
            return Some(Found { backend, is_remembered: true });
        }
        let url = fill(&self.template, value).ok()?;
        let answer = self.client.get(&url).await.ok()?;
        let backend = match answer.status {
            StatusCode::NOT_FOUND => None,
            status if status.is_success() => Some(name(&answer.body)?),
            _ => return None,
        };
        self.remember(value, backend.clone());
        Some(Found { backend, is_remembered: false })
    }

    fn remembered(&self, value: &str) -> Option<Option<Arc<str>>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get(value).filter(|answer| Instant::now() < answer.expires)?;
        Some(answer.backend.clone())
    }

    fn remember(&self, value: &str, backend: Option<Arc<str>>) {
        if value.len() > VALUE_BYTES_MAX {
            return;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        let expires = Instant::now() + self.cache;
        answers.insert(value.to_owned(), Answer { backend, expires });
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
