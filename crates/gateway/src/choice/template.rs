//! Backends whose addresses have the value of a claim in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{Backend, TlsClient};
use crate::config::{BackendConfig, Origin};
use crate::meter::Durations;

/// Backends at most. Beyond it those are forgotten that were not used for a while, and if there are none, any
/// one. A request in flight keeps its backend.
const BACKENDS_MAX: usize = 10_000;

/// A backend that was not used for so long may be forgotten: it hardly has a connection left.
const UNUSED_MAX: Duration = Duration::from_secs(60);

/// How often the unused ones are looked for at most. It takes long, and values that come once may come fast.
const SWEEP_PAUSE: Duration = Duration::from_secs(10);

/// A URL in which `{claim}` stands for the value.
#[derive(Debug)]
pub(crate) struct Template {
    text: String,
    /// What the backends need for TLS, if the URL is one of https.
    tls: Option<TlsClient>,
    /// The times of the requests to all of them.
    durations: Arc<Durations>,
    backends: Mutex<Backends>,
}

#[derive(Debug, Default)]
struct Backends {
    by_value: HashMap<String, Known>,
    swept_at: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    backend: Arc<Backend>,
    used_at: Instant,
}

impl Template {
    pub(crate) fn new(text: &str) -> Self {
        let example = origin(text, "claim").map(BackendConfig::single);
        let tls = example.and_then(|config| TlsClient::of(&config));
        Self { text: text.to_owned(), tls, durations: Arc::default(), backends: Mutex::default() }
    }

    /// The URL in the configuration.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The times of the requests to all of its backends.
    pub(crate) fn durations(&self) -> &Durations {
        &self.durations
    }

    /// The backend of a value. Only a label of a host name (RFC 1123 section 2.1) is put into the URL, so
    /// that no value leads to another host, port or path.
    pub(crate) fn backend(&self, value: &str) -> Option<Arc<Backend>> {
        if !is_label(value) {
            return None;
        }
        let mut backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        let used_at = Instant::now();
        if let Some(known) = backends.by_value.get_mut(value) {
            known.used_at = used_at;
            return Some(known.backend.clone());
        }
        let config = BackendConfig::single(origin(&self.text, value)?);
        let backend = Arc::new(Backend::sharing(config, self.tls.as_ref(), self.durations.clone()));
        if backends.by_value.len() >= BACKENDS_MAX {
            backends.make_room(used_at);
        }
        backends.by_value.insert(value.to_owned(), Known { backend: backend.clone(), used_at });
        Some(backend)
    }
}

impl Backends {
    /// Forgets those that were not used for a while, or any one.
    fn make_room(&mut self, now: Instant) {
        if self.swept_at.is_none_or(|at| now.duration_since(at) >= SWEEP_PAUSE) {
            self.swept_at = Some(now);
            self.by_value.retain(|_, known| now.duration_since(known.used_at) < UNUSED_MAX);
        }
        if self.by_value.len() >= BACKENDS_MAX
            && let Some(value) = self.by_value.keys().next().cloned()
        {
            self.by_value.remove(&value);
        }
    }
}

fn origin(template: &str, value: &str) -> Option<Origin> {
    template.replace("{claim}", value).parse().ok()
}

fn is_label(value: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&value.len())
        && value.bytes().all(is_letter)
        && !value.starts_with('-')
        && !value.ends_with('-')
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{BACKENDS_MAX, Template, TlsClient, UNUSED_MAX};

    #[test]
    fn only_labels_become_hosts() {
        let template = Template::new("http://{claim}.internal.example:9000");
        for (value, expected) in [
            ("a", Some("a.internal.example:9000")),
            ("tenant-7", Some("tenant-7.internal.example:9000")),
            ("", None),
            ("-a", None),
            ("a.b", None),
            ("a/b", None),
            ("a@b", None),
            ("a:1", None),
            ("a%2f", None),
            ("é", None),
        ] {
            let backend = template.backend(value);
            let address = backend.as_ref().map(|it| it.instances()[0].name().to_string());
            assert_eq!(address.as_deref(), expected, "{value:?}");
        }
    }

    #[test]
    fn backends_share_their_authorities() {
        let template = Template::new("https://{claim}.internal.example");
        let copies = || template.tls.as_ref().map(TlsClient::copies);
        assert_eq!(copies(), Some(1));
        let backends = ["a", "b", "a"].map(|value| template.backend(value));
        assert!(backends.iter().all(Option::is_some));
        assert_eq!(copies(), Some(3), "one for each value, and the template's own");
        assert!(Template::new("http://{claim}.internal.example").tls.is_none());
    }

    #[test]
    fn backends_are_bounded() {
        let template = Template::new("http://{claim}.internal.example:9000");
        let held = || template.backends.lock().expect("no panic").by_value.len();
        for number in 0..BACKENDS_MAX + 100 {
            assert!(template.backend(&number.to_string()).is_some(), "{number}");
        }
        assert_eq!(held(), BACKENDS_MAX);
        let mut backends = template.backends.lock().expect("no panic");
        let later = Instant::now() + UNUSED_MAX;
        backends.by_value.values_mut().next().expect("one is known").used_at = later;
        backends.make_room(later);
        assert_eq!(backends.by_value.len(), 1, "the one that was used lately");
    }
}
