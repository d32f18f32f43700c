//! The messages of the code under test to its operator: events of `tracing`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use weir_sync::Lock;

/// A message with its fields as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The sentence.
    pub sentence: String,
    /// The fields by name.
    pub fields: BTreeMap<&'static str, String>,
}

static HEARD: Lock<Vec<Message>> = Lock::new(Vec::new());

/// Collects the errors, messages and information of all threads from now on.
///
/// # Panics
/// If the process has another receiver of events.
pub fn listen() {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        tracing::subscriber::set_global_default(Collector).expect("the first receiver of events");
    });
}

/// Returns the messages so far whose sentence contains a text. Tests run at the same time, so the
/// text has to belong to one test, such as the address of a server.
pub fn heard(part: &str) -> Vec<Message> {
    let heard = HEARD.lock();
    heard.iter().filter(|message| message.sentence.contains(part)).cloned().collect()
}

struct Collector;

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message::default();
        event.record(&mut message);
        HEARD.lock().push(message);
    }

    // Spans are never enabled, so the following methods do nothing.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.sentence = format!("{value:?}"),
            name => _ = self.fields.insert(name, format!("{value:?}")),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}
