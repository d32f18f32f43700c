//! Keys that were pressed before the answer that they are about was on the screen.

use std::collections::VecDeque;

use crate::full_screen::Key;

/// The most keys that wait. Nobody remembers more.
const WAITING_MAX: usize = 64;

/// Keys that wait for the answer to the newest question, the first first.
#[derive(Debug, Default)]
pub(super) struct WaitingKeys(VecDeque<Key>);

impl WaitingKeys {
    /// Lets a key wait if the answer is not there. Returns the key if it acts at once.
    pub(super) fn hold(&mut self, key: Key, is_answered: bool, is_typing: bool) -> Option<Key> {
        let is_filter = is_typing || self.0.contains(&Key::Character('/'));
        match key {
            // Whoever waits too long goes back, or away.
            Key::Escape => self.0.clear(),
            Key::Closed | Key::Control('c' | 'l' | 'z') => {}
            Key::Character('q' | 'Q') if !is_filter => {}
            _ if self.0.is_empty() && (is_answered || is_typing) => {}
            _ => {
                if self.0.len() < WAITING_MAX {
                    self.0.push_back(key);
                }
                return None;
            }
        }
        Some(key)
    }

    /// Returns the first key, which acts now.
    pub(super) fn next(&mut self) -> Option<Key> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::{WAITING_MAX, WaitingKeys};
    use crate::full_screen::Key;

    #[test]
    fn keys_wait_in_their_order_for_the_answer() {
        let mut waiting = WaitingKeys::default();
        assert_eq!(waiting.hold(Key::Enter, true, false), Some(Key::Enter));
        assert_eq!(waiting.hold(Key::Enter, false, true), Some(Key::Enter), "of a filter");
        assert_eq!(waiting.hold(Key::Enter, false, false), None);
        assert_eq!(waiting.hold(Key::Down, true, false), None, "after the one before");
        assert_eq!(waiting.hold(Key::Character('q'), false, false), Some(Key::Character('q')));
        assert_eq!(waiting.hold(Key::Character('/'), false, false), None);
        assert_eq!(waiting.hold(Key::Character('q'), false, false), None, "a character");
        assert_eq!(waiting.hold(Key::Control('c'), false, false), Some(Key::Control('c')));
        assert_eq!(waiting.next(), Some(Key::Enter));
        assert_eq!(waiting.next(), Some(Key::Down));
        assert_eq!(waiting.hold(Key::Escape, false, false), Some(Key::Escape));
        assert_eq!(waiting.next(), None);
        for _ in 0..2 * WAITING_MAX {
            assert_eq!(waiting.hold(Key::Up, false, false), None);
        }
        assert_eq!(std::iter::from_fn(|| waiting.next()).count(), WAITING_MAX);
    }
}
