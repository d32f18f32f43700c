//! Messages that repeat are written a few times, and then counted.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use weir_view::LogEvent;

/// The time in which messages are counted together.
pub(crate) const SPAN: Duration = Duration::from_secs(10);

/// The same message is written this often in a span.
const SAME_MAX: u64 = 5;

/// A call site writes this many messages in a span, if they differ.
const SITE_MAX: u64 = 50;

/// Different messages that are remembered. One more is only counted for its call site.
const MESSAGES_MAX: usize = 1_000;

/// What was written in the last span.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// By call site and the hash of the message with its fields. Two messages with the same hash would be
    /// counted as one.
    messages: HashMap<(Identifier, u64), Count>,
    /// As many as the program has call sites.
    sites: HashMap<Identifier, Count>,
    /// When the first of the spans ends, or before; `None` if nothing was written in one.
    next_end: Option<Instant>,
}

#[derive(Debug)]
struct Count {
    begun: Instant,
    written: u64,
    left_out: u64,
    /// The last message that was left out.
    last: Option<LogEvent>,
}

impl Repeats {
    /// Whether a message is written now; otherwise it is counted.
    pub(crate) fn admit(&mut self, site: Identifier, event: &LogEvent, now: Instant) -> bool {
        self.next_end.get_or_insert(now + SPAN);
        let mut hasher = DefaultHasher::new();
        (&event.message, &event.fields).hash(&mut hasher);
        let key = (site.clone(), hasher.finish());
        let has_room = self.messages.len() < MESSAGES_MAX || self.messages.contains_key(&key);
        if has_room && !self.messages.entry(key).or_insert(Count::new(now)).admit(SAME_MAX, event) {
            return false;
        }
        self.sites.entry(site).or_insert(Count::new(now)).admit(SITE_MAX, event)
    }

    /// Ends the spans that have passed at `now`, and returns a message for each that has left out some.
    pub(crate) fn end_spans(&mut self, now: Instant) -> Vec<LogEvent> {
        if self.next_end.is_none_or(|end| now < end) {
            return Vec::new();
        }
        let has_passed = |count: &Count| now.saturating_duration_since(count.begun) >= SPAN;
        let same = self.messages.extract_if(|_, count| has_passed(count));
        let same = same.filter_map(|(_, count)| {
            let repeated = Some(count.left_out);
            Some(LogEvent { repeated, ..count.last? })
        });
        let mut summaries: Vec<LogEvent> = same.collect();
        let sites = self.sites.extract_if(|_, count| has_passed(count));
        summaries.extend(sites.filter_map(|(_, count)| {
            let similar = Some(count.left_out);
            Some(LogEvent { similar, ..count.last? })
        }));
        let counts = self.messages.values().chain(self.sites.values());
        self.next_end = counts.map(|count| count.begun + SPAN).min();
        summaries.sort_by(|a, b| a.time.cmp(&b.time));
        summaries
    }

    /// When the next span ends; `None` if nothing was written in one.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.next_end
    }
}

impl Count {
    fn new(begun: Instant) -> Self {
        Self { begun, written: 0, left_out: 0, last: None }
    }

    fn admit(&mut self, written_max: u64, event: &LogEvent) -> bool {
        if self.written < written_max {
            self.written += 1;
            return true;
        }
        self.left_out += 1;
        self.last = Some(event.clone());
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tracing::callsite::{Callsite, Identifier};
    use tracing::{Metadata, subscriber::Interest};
    use weir_view::{LogEvent, LogLevel};

    use super::{MESSAGES_MAX, Repeats, SAME_MAX, SITE_MAX, SPAN};

    /// A place in the code.
    struct Site;

    impl Callsite for Site {
        fn set_interest(&self, _: Interest) {}

        fn metadata(&self) -> &Metadata<'_> {
            unreachable!("the table does not ask")
        }
    }

    fn event(message: &str) -> LogEvent {
        LogEvent::new(String::new(), LogLevel::Info, "weir", message.to_owned())
    }

    /// How many of the same messages are written at `now`.
    fn written(repeats: &mut Repeats, message: &str, times: usize, now: Instant) -> u64 {
        let admitted =
            (0..times).filter(|_| repeats.admit(Identifier(&Site), &event(message), now));
        admitted.count() as u64
    }

    #[test]
    fn the_same_message_is_written_a_few_times_and_counted() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        assert_eq!(written(&mut repeats, "a", 100, start), SAME_MAX);
        assert_eq!(written(&mut repeats, "b", 3, start), 3);
        assert!(repeats.end_spans(start + SPAN - Duration::from_millis(1)).is_empty());
        assert_eq!(repeats.next_end(), Some(start + SPAN));
        let summaries = repeats.end_spans(start + SPAN);
        assert_eq!(summaries, [LogEvent { repeated: Some(100 - SAME_MAX), ..event("a") }]);
        assert_eq!(repeats.next_end(), None);
        assert_eq!(written(&mut repeats, "a", 100, start + SPAN), SAME_MAX, "a span begins");
    }

    #[test]
    fn no_flood_of_different_messages_is_written_and_none_is_lost() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let floods = 10 * MESSAGES_MAX;
        let all = (0..floods).map(|it| written(&mut repeats, &it.to_string(), 1, start));
        assert_eq!(all.sum::<u64>(), SITE_MAX);
        assert_eq!(repeats.messages.len(), MESSAGES_MAX);
        let summaries = repeats.end_spans(start + SPAN);
        let similar = Some(floods as u64 - SITE_MAX);
        let last = event(&(floods - 1).to_string());
        assert_eq!(summaries, [LogEvent { similar, ..last }]);
        assert!(repeats.messages.is_empty() && repeats.sites.is_empty());
    }
}
