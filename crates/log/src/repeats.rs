//! Suppression of repeated messages: they are written a few times, and then counted.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::take;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use weir_view::{LogEvent, LogLevel};

/// The length of the windows over which repeats are counted.
pub(crate) const WINDOW: Duration = Duration::from_secs(10);

/// How often the same message is written in a window.
const SAME_MAX: u64 = 5;

/// The number of different messages that a call site writes in a window.
const SITE_MAX: u64 = 50;

/// The length of the windows of a call site that warns. Warnings about thousands of servers or
/// senders, which go on for hours, must not fill the disk.
pub(crate) const WARNING_WINDOW: Duration = Duration::from_secs(60);

/// The number of different warnings that a call site writes in a window after one with more than
/// that.
const WARNINGS_MAX: u64 = 5;

/// The number of different messages that are counted. Further ones only count for their call site.
const MESSAGES_MAX: usize = 1_000;

/// Counts of the messages of the last window.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// Counts by call site and hash of the message and its fields. Messages with the same hash
    /// count as one.
    messages: HashMap<(Identifier, u64), WindowCount>,
    /// Counts by call site. The code of the program bounds their number.
    sites: HashMap<Identifier, WindowCount>,
    /// A time not later than the first end of a window; `None` if there is no window.
    next_end: Option<Instant>,
}

/// The messages of one window.
#[derive(Debug)]
struct WindowCount {
    begun: Instant,
    length: Duration,
    written_max: u64,
    written: u64,
    left_out: u64,
    /// The last message that was not written.
    last: Option<LogEvent>,
}

impl Repeats {
    /// Returns whether to write a message. Otherwise counts it.
    pub(crate) fn admit(&mut self, site: Identifier, event: &LogEvent, now: Instant) -> bool {
        self.next_end.get_or_insert(now + WINDOW);
        let mut hasher = DefaultHasher::new();
        (&event.message, &event.fields).hash(&mut hasher);
        let key = (site.clone(), hasher.finish());
        let has_room = self.messages.len() < MESSAGES_MAX || self.messages.contains_key(&key);
        if has_room
            && !self.messages.entry(key).or_insert(WindowCount::new(now, SAME_MAX)).admit(event)
        {
            return false;
        }
        self.sites.entry(site).or_insert(WindowCount::of_site(now, event, SITE_MAX)).admit(event)
    }

    /// Ends the windows that are over at `now`. Returns a summary for each window with unwritten
    /// messages.
    pub(crate) fn end_windows(&mut self, now: Instant) -> Vec<LogEvent> {
        if self.next_end.is_none_or(|end| now < end) {
            return Vec::new();
        }
        let has_passed = |count: &WindowCount| now >= count.end();
        let same: Vec<_> = self.messages.extract_if(|_, count| has_passed(count)).collect();
        let sites: Vec<_> = self.sites.extract_if(|_, count| has_passed(count)).collect();
        for (site, count) in &sites {
            if count.length == WARNING_WINDOW && count.written + count.left_out > WARNINGS_MAX {
                let next = WindowCount { written_max: WARNINGS_MAX, ..count.next(now) };
                self.sites.insert(site.clone(), next);
            }
        }
        let counts = self.messages.values().chain(self.sites.values());
        self.next_end = counts.map(WindowCount::end).min();
        summaries(
            same.into_iter().map(|(_, count)| count),
            sites.into_iter().map(|(_, count)| count),
        )
    }

    /// Ends all windows, whatever the time. Returns a summary for each window with unwritten
    /// messages.
    pub(crate) fn end_all(&mut self) -> Vec<LogEvent> {
        let Self { messages, sites, .. } = take(self);
        summaries(messages.into_values(), sites.into_values())
    }

    /// Returns when to call [`Self::end_windows`] next; `None` if there is no window.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.next_end
    }
}

/// Returns the messages that say how many were not written, the oldest first.
fn summaries(
    messages: impl Iterator<Item = WindowCount>,
    sites: impl Iterator<Item = WindowCount>,
) -> Vec<LogEvent> {
    let same = messages.filter_map(|count| {
        let repeated = Some(count.left_out);
        Some(LogEvent { repeated, ..count.last? })
    });
    let similar = sites.filter_map(|count| {
        let similar = Some(count.left_out);
        Some(LogEvent { similar, ..count.last? })
    });
    let mut summaries: Vec<LogEvent> = same.chain(similar).collect();
    summaries.sort_by(|a, b| a.time.cmp(&b.time));
    summaries
}

impl WindowCount {
    fn new(begun: Instant, written_max: u64) -> Self {
        Self { begun, length: WINDOW, written_max, written: 0, left_out: 0, last: None }
    }

    /// The window of a call site.
    fn of_site(begun: Instant, event: &LogEvent, written_max: u64) -> Self {
        let is_warning = matches!(event.level, LogLevel::Warn | LogLevel::Error);
        let length = if is_warning { WARNING_WINDOW } else { WINDOW };
        Self { length, ..Self::new(begun, written_max) }
    }

    /// The window after this one.
    fn next(&self, begun: Instant) -> Self {
        Self { length: self.length, ..Self::new(begun, self.written_max) }
    }

    fn end(&self) -> Instant {
        self.begun + self.length
    }

    fn admit(&mut self, event: &LogEvent) -> bool {
        if self.written < self.written_max {
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

    use super::{MESSAGES_MAX, Repeats, SAME_MAX, SITE_MAX, WARNING_WINDOW, WARNINGS_MAX, WINDOW};

    /// A call site.
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

    /// Returns how many of `times` equal messages are written at `now`.
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
        assert!(repeats.end_windows(start + WINDOW - Duration::from_millis(1)).is_empty());
        assert_eq!(repeats.next_end(), Some(start + WINDOW));
        let summaries = repeats.end_windows(start + WINDOW);
        assert_eq!(summaries, [LogEvent { repeated: Some(100 - SAME_MAX), ..event("a") }]);
        assert_eq!(repeats.next_end(), None);
        assert_eq!(written(&mut repeats, "a", 100, start + WINDOW), SAME_MAX, "a window begins");
    }

    #[test]
    fn no_flood_of_different_messages_is_written_and_none_is_lost() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let floods = 10 * MESSAGES_MAX;
        let all = (0..floods).map(|it| written(&mut repeats, &it.to_string(), 1, start));
        assert_eq!(all.sum::<u64>(), SITE_MAX);
        assert_eq!(repeats.messages.len(), MESSAGES_MAX);
        let summaries = repeats.end_windows(start + WINDOW);
        let similar = Some(floods as u64 - SITE_MAX);
        let last = event(&(floods - 1).to_string());
        assert_eq!(summaries, [LogEvent { similar, ..last }]);
        assert!(repeats.messages.is_empty() && repeats.sites.is_empty());
    }

    #[test]
    fn at_the_end_all_windows_end() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let same = (0..SAME_MAX + 2).map(|_| "the same".to_owned());
        let different = (SAME_MAX..SITE_MAX + 8).map(|it| it.to_string());
        for message in same.chain(different) {
            warned(&mut repeats, &message, start);
        }
        let counts: Vec<_> =
            repeats.end_all().into_iter().map(|it| (it.repeated, it.similar)).collect();
        assert_eq!(counts, [(Some(2), None), (None, Some(8))]);
        assert!(repeats.end_all().is_empty());
    }

    fn warned(repeats: &mut Repeats, message: &str, now: Instant) -> bool {
        let warning = LogEvent { level: LogLevel::Warn, ..event(message) };
        repeats.admit(Identifier(&Site), &warning, now)
    }

    #[test]
    fn warnings_that_go_on_are_written_less_until_they_are_over() {
        for per_second in [1, 10] {
            let (mut repeats, start) = (Repeats::default(), Instant::now());
            let (mut lines, hour_s) = (0, 3_600);
            for second in 0..hour_s {
                let now = start + Duration::from_secs(second);
                lines += repeats.end_windows(now).len() as u64;
                let all = (0..per_second).map(|it| format!("{second} {it}"));
                lines += all.filter(|it| warned(&mut repeats, it, now)).count() as u64;
            }
            let minutes = hour_s / 60;
            assert!(lines <= SITE_MAX + 1 + (WARNINGS_MAX + 1) * minutes, "{lines}");
            // After a minute with few of them all are written again.
            let after = start + Duration::from_secs(hour_s) + WARNING_WINDOW;
            assert_eq!(repeats.end_windows(after).len(), 1, "the rest of the last window");
            assert!(warned(&mut repeats, "quiet", after));
            let again = after + WARNING_WINDOW;
            assert!(repeats.end_windows(again).is_empty());
            assert!(repeats.sites.is_empty() && repeats.next_end().is_none());
            let all = (0..100).filter(|it| warned(&mut repeats, &it.to_string(), again));
            assert_eq!(all.count() as u64, SITE_MAX);
        }
    }
}
