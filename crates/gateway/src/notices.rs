//! Rate-limited notices for the operator of a running gateway.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two notices of the same subject.
const INTERVAL: Duration = Duration::from_secs(10);

/// The maximum number of remembered subjects. Names of servers may come from claims, so their
/// number is unbounded.
const SUBJECTS_MAX: usize = 1_000;

/// An event as a sentence, with fields for programs. Names may come from clients: they have any
/// length and may contain any character. `Display` writes the sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notice {
    /// The sentence, which is complete without the other fields.
    pub sentence: String,
    /// The name of the backend.
    pub backend: Option<String>,
    /// The server of the backend.
    pub server: Option<String>,
    /// The address of the client.
    pub peer: Option<String>,
    /// The address of the collector of traces, or of another service that the gateway calls.
    pub endpoint: Option<String>,
    /// The number of lines missing from the access log so far.
    pub lines_lost: Option<u64>,
    /// The number of lost spans.
    pub spans_lost: Option<u64>,
    /// The jump of the system clock in seconds, negative if it was set back.
    pub clock_change_s: Option<i64>,
    /// The number of notices of the same subject that were suppressed before this one.
    pub left_out: u64,
}

impl Notice {
    /// Creates a notice without fields.
    pub(crate) fn new(sentence: String) -> Self {
        Self { sentence, ..Self::default() }
    }
}

impl Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence)?;
        match self.left_out {
            0 => Ok(()),
            left_out => write!(formatter, " (and {left_out} more before)"),
        }
    }
}

/// Reports notices: at most one for each subject in ten seconds, with the number of suppressed
/// ones. By default they are discarded.
#[derive(Clone, Default)]
pub struct Notices(Option<Arc<NoticeSink>>);

struct NoticeSink {
    handler: Box<dyn Fn(&Notice) + Send + Sync>,
    subjects: Mutex<HashMap<String, LastNotice>>,
}

/// The last notice of a subject.
struct LastNotice {
    time: Instant,
    /// The number of notices suppressed since then.
    left_out: u64,
}

impl Notices {
    /// Creates a reporter that calls a function with each notice. The function must return soon.
    pub fn new(handler: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        let sink = NoticeSink { handler: Box::new(handler), subjects: Mutex::default() };
        Self(Some(Arc::new(sink)))
    }

    /// Reports a notice, unless the subject had one within the interval.
    pub(crate) fn report(&self, subject: &str, notice: impl FnOnce() -> Notice) {
        self.report_at(Instant::now(), subject, notice);
    }

    fn report_at(&self, now: Instant, subject: &str, notice: impl FnOnce() -> Notice) {
        let Some(sink) = &self.0 else { return };
        let mut subjects = sink.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |last: &LastNotice| now.saturating_duration_since(last.time) < INTERVAL;
        let left_out = match subjects.get_mut(subject) {
            Some(last) if is_recent(last) => {
                last.left_out += 1;
                return;
            }
            Some(last) => last.left_out,
            None => 0,
        };
        if subjects.len() >= SUBJECTS_MAX {
            subjects.retain(|_, last| is_recent(last));
        }
        if subjects.len() >= SUBJECTS_MAX {
            return;
        }
        subjects.insert(subject.to_owned(), LastNotice { time: now, left_out: 0 });
        drop(subjects);
        (sink.handler)(&Notice { left_out, ..notice() });
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Notices").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use super::{Notice, Notices, SUBJECTS_MAX};

    fn notices() -> (Notices, Arc<Mutex<Vec<String>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = heard.clone();
        (Notices::new(move |it| hears.lock().expect("no panic").push(it.to_string())), heard)
    }

    #[test]
    fn a_subject_is_spoken_of_once_in_a_while() {
        let (notices, heard) = notices();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for second in 0..=20 {
            notices.report_at(at(second), "a", || Notice::new(format!("a{second}")));
        }
        notices.report_at(at(20), "b", || Notice::new("b".to_owned()));
        notices.report_at(at(60), "b", || Notice::new("b".to_owned()));
        let expected = ["a0", "a10 (and 9 more before)", "a20 (and 9 more before)", "b", "b"];
        assert_eq!(*heard.lock().expect("no panic"), expected);
    }

    #[test]
    fn many_subjects_are_forgotten_in_time() {
        let (notices, heard) = notices();
        let start = Instant::now();
        for number in 0..2 * SUBJECTS_MAX {
            notices.report_at(start, &number.to_string(), || Notice::new("one".to_owned()));
        }
        assert_eq!(heard.lock().expect("no panic").len(), SUBJECTS_MAX, "a flood ends");
        notices.report_at(start + Duration::from_secs(10), "new", || Notice::new("two".to_owned()));
        assert_eq!(heard.lock().expect("no panic").last().map(String::as_str), Some("two"));
    }
}
