//! The last messages, for a page that shows them.

use std::collections::VecDeque;

use weir_view::LogEvent;

/// Messages that are kept.
const EVENTS_MAX: usize = 1_000;

/// Bytes of text that are kept, of all messages together.
const BYTES_MAX: usize = 1 << 20;

/// The last messages, within a bounded number and a bounded size.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    events: VecDeque<LogEvent>,
    /// The bytes of all of them.
    bytes: usize,
    /// The number of all messages so far: that of the next one.
    next: u64,
}

impl Ring {
    pub(crate) fn push(&mut self, event: LogEvent) {
        self.bytes += event.text_bytes();
        self.events.push_back(event);
        self.next += 1;
        while self.events.len() > EVENTS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.text_bytes();
        }
    }

    /// The number of the next message, and those that are kept from number `from` on, the oldest first.
    pub(crate) fn from(&self, from: u64) -> (u64, Vec<LogEvent>) {
        let first = self.next - self.events.len() as u64;
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        (self.next, self.events.iter().skip(skipped).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use weir_view::{LogEvent, LogLevel};

    use super::{BYTES_MAX, EVENTS_MAX, Ring};

    fn event(message: String) -> LogEvent {
        LogEvent::new(String::new(), LogLevel::Info, "weir", message)
    }

    #[test]
    fn the_last_messages_are_kept() {
        let mut ring = Ring::default();
        for number in 0..3_000 {
            ring.push(event(number.to_string()));
        }
        let messages = |from| -> (u64, Vec<String>) {
            let (next, events) = ring.from(from);
            (next, events.into_iter().map(|event| event.message).collect())
        };
        assert_eq!(messages(2_998), (3_000, vec!["2998".to_owned(), "2999".to_owned()]));
        assert_eq!((messages(0).1.len(), messages(0).1[0].as_str()), (EVENTS_MAX, "2000"));
        assert_eq!(messages(u64::MAX), (3_000, Vec::new()));
    }

    #[test]
    fn long_messages_leave_earlier() {
        let mut ring = Ring::default();
        for _ in 0..100 {
            ring.push(event("a".repeat(BYTES_MAX / 10)));
        }
        let (next, events) = ring.from(0);
        assert_eq!(next, 100);
        assert!((8..=10).contains(&events.len()), "{}", events.len());
    }
}
