//! Sentences for a person, not more of them than a person reads: senders can make as many
//! mistakes a second as they like.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Says a sentence to whoever runs the feed.
pub type Say = Arc<dyn Fn(String) + Send + Sync>;

/// Sentences that are said at once.
const AT_ONCE: u32 = 10;

/// After so long another one is.
const REFILL: Duration = Duration::from_secs(5);

pub(crate) struct Herald {
    say: Say,
    state: Mutex<State>,
}

struct State {
    left: u32,
    refilled: Instant,
    unsaid: u64,
}

impl Herald {
    pub(crate) fn new(say: Say) -> Self {
        let state = State { left: AT_ONCE, refilled: Instant::now(), unsaid: 0 };
        Self { say, state: Mutex::new(state) }
    }

    pub(crate) fn say(&self, sentence: impl fmt::Display) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let refills = state.refilled.elapsed().as_secs() / REFILL.as_secs();
        if refills > 0 {
            state.left = AT_ONCE.min(state.left.saturating_add(refills as u32));
            state.refilled = Instant::now();
        }
        if state.left == 0 {
            state.unsaid += 1;
            return;
        }
        state.left -= 1;
        let unsaid = std::mem::take(&mut state.unsaid);
        drop(state);
        (self.say)(match unsaid {
            0 => sentence.to_string(),
            _ => format!("{sentence} ({unsaid} sentences before it were left out)"),
        });
    }
}

impl fmt::Debug for Herald {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Herald")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{AT_ONCE, Herald};

    #[test]
    fn says_only_so_much() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let herald = Herald::new({
            let said = said.clone();
            Arc::new(move |sentence| said.lock().expect("nobody panicked").push(sentence))
        });
        (0..1_000).for_each(|number| herald.say(number));
        assert_eq!(said.lock().expect("nobody panicked").len(), AT_ONCE as usize);
    }
}
