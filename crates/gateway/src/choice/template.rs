//! Backends whose addresses have the value of a claim in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::Backend;
use crate::config::{BackendConfig, Origin};

/// Backends at most; beyond it a value that has none yet gets none.
const BACKENDS_MAX: usize = 10_000;

/// A URL in which `{claim}` stands for the value.
#[derive(Debug)]
pub(crate) struct Template {
    text: String,
    backends: Mutex<HashMap<String, Arc<Backend>>>,
}

impl Template {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), backends: Mutex::default() }
    }

    /// The backend of a value. Only a label of a host name (RFC 1123 section 2.1) is put into the URL, so
    /// that no value leads to another host, port or path.
    pub(crate) fn backend(&self, value: &str) -> Option<Arc<Backend>> {
        if !is_label(value) {
            return None;
        }
        let mut backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(backend) = backends.get(value) {
            return Some(backend.clone());
        }
        let origin: Origin = self.text.replace("{claim}", value).parse().ok()?;
        if backends.len() >= BACKENDS_MAX {
            return None;
        }
        let backend = Arc::new(Backend::new(BackendConfig::single(origin)));
        backends.insert(value.to_owned(), backend.clone());
        Some(backend)
    }
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
    use super::Template;

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
}
