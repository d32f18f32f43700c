//! A ring buffer of the last messages, for the admin page.

use std::collections::VecDeque;

use weir_view::LogEvent;

/// The number of messages that are kept.
const EVENTS_MAX: usize = 1_000;

/// The total bytes of text that are kept.
const BYTES_MAX: usize = 1 << 20;

/// The last messages, bounded in number and in size.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    events: VecDeque<LogEvent>,
    /// The bytes of text in `events`.
    bytes: usize,
    /// The number of the next message, which is the count of all messages so far.
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

    /// Returns the number of the next message, and the kept messages from number `from` on, the
    /// oldest first.
    pub(crate) fn since(&self, from: u64) -> (u64, Vec<LogEvent>) {
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
            let (next, events) = ring.since(from);
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
        let (next, events) = ring.since(0);
        assert_eq!(next, 100);
        assert!((8..=10).contains(&events.len()), "{}", events.len());
    }
}
