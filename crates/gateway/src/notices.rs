//! What a person should hear of while the gateway runs, without being flooded.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing more is said of the same subject.
const INTERVAL: Duration = Duration::from_secs(10);

/// Subjects that are remembered. Names of servers may come from claims, of which there is no end.
const SUBJECTS_MAX: usize = 1_000;

/// What happened: a sentence, and what it is about for programs. Names may come from outside, so they are of any
/// length and may hold any character. Displays as the sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notice {
    /// The sentence, which names everything.
    pub sentence: String,
    /// The name of the backend.
    pub backend: Option<String>,
    /// The server of the backend.
    pub server: Option<String>,
    /// The address of the client.
    pub peer: Option<String>,
    /// The address of the collector of traces.
    pub endpoint: Option<String>,
    /// Lines of the access log that are missing so far.
    pub lines_lost: Option<u64>,
    /// Spans that are lost.
    pub spans_lost: Option<u64>,
    /// The seconds by which the system's clock was set, below 0 if back.
    pub clock_change_s: Option<i64>,
    /// Notices of the same subject before this one that nobody heard.
    pub left_out: u64,
}

impl Notice {
    /// A notice about nothing in particular.
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

/// Says what happens: at most one notice of each subject in ten seconds, and then how many were left out.
/// By default nothing hears it.
#[derive(Clone, Default)]
pub struct Notices(Option<Arc<Hearing>>);

struct Hearing {
    hear: Box<dyn Fn(&Notice) + Send + Sync>,
    subjects: Mutex<HashMap<String, Said>>,
}

/// What was said of a subject.
struct Said {
    time: Instant,
    /// What was not said since then.
    left_out: u64,
}

impl Notices {
    /// Calls a function, which must return soon, with each notice.
    pub fn new(hear: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        let hearing = Hearing { hear: Box::new(hear), subjects: Mutex::default() };
        Self(Some(Arc::new(hearing)))
    }

    /// Gives a notice of a subject, unless there was one of it just now.
    pub(crate) fn say(&self, subject: &str, notice: impl FnOnce() -> Notice) {
        self.say_at(Instant::now(), subject, notice);
    }

    fn say_at(&self, now: Instant, subject: &str, notice: impl FnOnce() -> Notice) {
        let Some(hearing) = &self.0 else { return };
        let mut subjects = hearing.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |said: &Said| now.saturating_duration_since(said.time) < INTERVAL;
        let left_out = match subjects.get_mut(subject) {
            Some(said) if is_recent(said) => {
                said.left_out += 1;
                return;
            }
            Some(said) => said.left_out,
            None => 0,
        };
        if subjects.len() >= SUBJECTS_MAX {
            subjects.retain(|_, said| is_recent(said));
        }
        if subjects.len() >= SUBJECTS_MAX {
            return;
        }
        subjects.insert(subject.to_owned(), Said { time: now, left_out: 0 });
        drop(subjects);
        (hearing.hear)(&Notice { left_out, ..notice() });
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
            notices.say_at(at(second), "a", || Notice::new(format!("a{second}")));
        }
        notices.say_at(at(20), "b", || Notice::new("b".to_owned()));
        notices.say_at(at(60), "b", || Notice::new("b".to_owned()));
        let expected = ["a0", "a10 (and 9 more before)", "a20 (and 9 more before)", "b", "b"];
        assert_eq!(*heard.lock().expect("no panic"), expected);
    }

    #[test]
    fn many_subjects_are_forgotten_in_time() {
        let (notices, heard) = notices();
        let start = Instant::now();
        for number in 0..2 * SUBJECTS_MAX {
            notices.say_at(start, &number.to_string(), || Notice::new("one".to_owned()));
        }
        assert_eq!(heard.lock().expect("no panic").len(), SUBJECTS_MAX, "a flood ends");
        notices.say_at(start + Duration::from_secs(10), "new", || Notice::new("two".to_owned()));
        assert_eq!(heard.lock().expect("no panic").last().map(String::as_str), Some("two"));
    }
}
