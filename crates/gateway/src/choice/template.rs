//! Backends whose address contains the value of a claim.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_sync::Lock;

use crate::backend::{Backend, TlsClient};
use crate::config::{BackendConfig, Origin};
use crate::meter::Durations;

/// The maximum number of backends. Beyond it, unused backends are evicted, or any one if all are in
/// use. A request in flight keeps its backend alive.
const BACKENDS_MAX: usize = 10_000;

/// A backend may be evicted after this time without a request: it hardly has a connection left.
const UNUSED_MAX: Duration = Duration::from_secs(60);

/// The least time between two searches for unused backends. A search takes long, and new values may
/// arrive fast.
const SWEEP_PAUSE: Duration = Duration::from_secs(10);

/// A URL template in which `{claim}` stands for the value.
#[derive(Debug)]
pub(crate) struct Template {
    text: String,
    /// Whether the last label of the host contains the claim.
    ends_in_claim: bool,
    /// The TLS client of all backends, if the URL is https.
    tls: Option<TlsClient>,
    /// The durations of the requests to all backends.
    durations: Arc<Durations>,
    backends: Lock<Backends>,
}

#[derive(Debug, Default)]
struct Backends {
    by_value: HashMap<String, BackendEntry>,
    swept_at: Option<Instant>,
}

#[derive(Debug)]
struct BackendEntry {
    backend: Arc<Backend>,
    used_at: Instant,
}

impl Template {
    pub(crate) fn new(text: &str) -> Self {
        let example = origin(text, "claim").map(BackendConfig::single);
        let tls = example.and_then(|config| TlsClient::for_backend(&config));
        let [one, other] = ["a", "b"].map(|value| origin(text, value));
        let ends_in_claim = one.zip(other).is_some_and(|(one, other)| {
            !last_label(one.host()).eq_ignore_ascii_case(last_label(other.host()))
        });
        Self {
            text: text.to_owned(),
            ends_in_claim,
            tls,
            durations: Arc::default(),
            backends: Lock::default(),
        }
    }

    /// The URL as configured, with `{claim}`.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The durations of the requests to all of its backends.
    pub(crate) fn durations(&self) -> &Durations {
        &self.durations
    }

    /// Returns the backend of a value, created if necessary. The value must be a label of a host
    /// name (RFC 1123 section 2.1), so that no value leads to another host, port or path. It must
    /// not make the host a number, which would be an address, or `localhost`.
    pub(crate) fn backend(&self, value: &str) -> Option<Arc<Backend>> {
        if !is_label(value) {
            return None;
        }
        let mut backends = self.backends.lock();
        let used_at = Instant::now();
        if let Some(entry) = backends.by_value.get_mut(value) {
            entry.used_at = used_at;
            return Some(entry.backend.clone());
        }
        let origin = origin(&self.text, value)?;
        if self.ends_in_claim && is_number_or_local(origin.host()) {
            return None;
        }
        let config = BackendConfig::single(origin);
        let backend =
            Arc::new(Backend::with_shared(config, self.tls.as_ref(), self.durations.clone()));
        if backends.by_value.len() >= BACKENDS_MAX {
            backends.make_room(used_at);
        }
        backends
            .by_value
            .insert(value.to_owned(), BackendEntry { backend: backend.clone(), used_at });
        Some(backend)
    }
}

impl Backends {
    /// Evicts the backends that were unused for [`UNUSED_MAX`], or any one if there are none.
    fn make_room(&mut self, now: Instant) {
        if self.swept_at.is_none_or(|at| now.duration_since(at) >= SWEEP_PAUSE) {
            self.swept_at = Some(now);
            self.by_value.retain(|_, entry| now.duration_since(entry.used_at) < UNUSED_MAX);
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

fn last_label(host: &str) -> &str {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.rsplit('.').next().unwrap_or(host)
}

/// Whether resolvers take a host for an address: it ends in a number in decimal, octal or
/// hexadecimal digits ([URL Standard](https://url.spec.whatwg.org/#ends-in-a-number-checker)), or
/// in `localhost` (RFC 6761 section 6.3).
fn is_number_or_local(host: &str) -> bool {
    let label = last_label(host);
    let is_hexadecimal = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let prefixed = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    label.bytes().all(|digit| digit.is_ascii_digit())
        || prefixed.is_some_and(is_hexadecimal)
        || label.eq_ignore_ascii_case("localhost")
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
    fn no_value_makes_the_host_an_address() {
        for (template, value, is_good) in [
            ("http://{claim}:9001", "tenant", true),
            ("http://{claim}:9001", "7up", true),
            ("http://{claim}:9001", "2130706433", false),
            ("http://{claim}:9001", "127", false),
            ("http://{claim}:9001", "0x7f000001", false),
            ("http://{claim}:9001", "0X7F000001", false),
            ("http://{claim}:9001", "0x", false),
            ("http://{claim}:9001", "localhost", false),
            ("http://{claim}:9001", "LocalHost", false),
            ("http://{claim}.:9001", "127", false),
            ("http://127.0.0.{claim}:9001", "1", false),
            ("http://tenant.{claim}:9001", "localhost", false),
            // The claim decides only a label before the last one, or the port.
            ("http://{claim}.internal:9001", "127", true),
            ("http://{claim}.internal:9001", "localhost", true),
            ("http://127.0.0.1:{claim}", "9001", true),
        ] {
            let backend = Template::new(template).backend(value);
            assert_eq!(backend.is_some(), is_good, "{template} {value}");
        }
    }

    #[test]
    fn backends_share_their_authorities() {
        let template = Template::new("https://{claim}.internal.example");
        let clones = || template.tls.as_ref().map(TlsClient::clones);
        assert_eq!(clones(), Some(1));
        let backends = ["a", "b", "a"].map(|value| template.backend(value));
        assert!(backends.iter().all(Option::is_some));
        assert_eq!(clones(), Some(3), "one for each value, and the template's own");
        assert!(Template::new("http://{claim}.internal.example").tls.is_none());
    }

    #[test]
    fn backends_are_bounded() {
        let template = Template::new("http://{claim}.internal.example:9000");
        let held = || template.backends.lock().by_value.len();
        for number in 0..BACKENDS_MAX + 100 {
            assert!(template.backend(&number.to_string()).is_some(), "{number}");
        }
        assert_eq!(held(), BACKENDS_MAX);
        let mut backends = template.backends.lock();
        let later = Instant::now() + UNUSED_MAX;
        backends.by_value.values_mut().next().expect("one is known").used_at = later;
        backends.make_room(later);
        assert_eq!(backends.by_value.len(), 1, "the one that was used lately");
    }
}
