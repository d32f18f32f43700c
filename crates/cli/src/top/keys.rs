//! Keys, read from the bytes that a terminal sends for them.

use super::controls::Control;

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
const CTRL_Z: u8 = 0x1a;

/// A key with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    /// Gives the terminal back to the shell until it continues the program.
    Suspend,
    Control(Control),
}

/// Reads keys from bytes that may be cut anywhere. Sequences of other keys, such as arrows, begin
/// with an Escape and are skipped.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// After an Escape, which is a key if nothing follows.
    Escape,
    /// In a sequence, until a byte that ends it.
    Sequence,
    /// Before the one byte that ends a sequence.
    LastByte,
}

impl KeyReader {
    /// Reads the next byte, and returns the key that it completes.
    pub(super) fn read(&mut self, byte: u8) -> Option<Key> {
        let (state, key) = match (self.state, byte) {
            (State::Start, ESCAPE) => (State::Escape, None),
            (State::Start, byte) => (State::Start, key(byte)),
            (State::Escape, ESCAPE) => (State::Start, Some(Key::Quit)),
            (State::Escape, b'[') => (State::Sequence, None),
            (State::Escape, b'O') => (State::LastByte, None),
            (State::Sequence, 0x20..0x40) => (State::Sequence, None),
            // Ctrl-C works even if the end of a sequence was lost.
            (_, CTRL_C) => (State::Start, Some(Key::Quit)),
            (State::Escape | State::Sequence | State::LastByte, _) => (State::Start, None),
        };
        self.state = state;
        key
    }

    /// Whether the last byte is an Escape, which may begin a sequence.
    pub(super) fn has_escape(&self) -> bool {
        self.state == State::Escape
    }
}

fn key(byte: u8) -> Option<Key> {
    Some(match byte {
        b'q' | b'Q' | CTRL_C => Key::Quit,
        CTRL_Z => Key::Suspend,
        b's' => Key::Control(Control::NextSortKey),
        b'r' => Key::Control(Control::Reverse),
        b't' => Key::Control(Control::NextLists),
        b' ' => Key::Control(Control::Pause),
        b'?' | b'h' => Key::Control(Control::Help),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Control, Key, KeyReader};

    fn keys(bytes: &[u8]) -> (Vec<Key>, bool) {
        let mut reader = KeyReader::default();
        let keys = bytes.iter().filter_map(|byte| reader.read(*byte)).collect();
        (keys, reader.has_escape())
    }

    #[test]
    fn each_key_has_its_meaning() {
        for (byte, key) in [
            (b'q', Key::Quit),
            (0x03, Key::Quit),
            (0x1a, Key::Suspend),
            (b's', Key::Control(Control::NextSortKey)),
            (b'r', Key::Control(Control::Reverse)),
            (b't', Key::Control(Control::NextLists)),
            (b' ', Key::Control(Control::Pause)),
            (b'?', Key::Control(Control::Help)),
            (b'h', Key::Control(Control::Help)),
        ] {
            assert_eq!(keys(&[byte]), (vec![key], false), "{byte}");
        }
        assert_eq!(keys("xyz\n\0é".as_bytes()), (vec![], false));
    }

    #[test]
    fn an_escape_is_a_key_only_if_no_sequence_follows() {
        assert_eq!(keys(b"\x1b"), (vec![], true));
        assert_eq!(keys(b"\x1b\x1b"), (vec![Key::Quit], false));
        // Up, F1, Delete, a mouse, and Alt-q.
        for sequence in ["\x1b[A", "\x1bOP", "\x1b[3~", "\x1b[<0;10;20M", "\x1bq"] {
            assert_eq!(keys(sequence.as_bytes()), (vec![], false), "{sequence:?}");
            let with_key = format!("{sequence}s");
            let key = Key::Control(Control::NextSortKey);
            assert_eq!(keys(with_key.as_bytes()), (vec![key], false), "{sequence:?}");
        }
        assert_eq!(keys(b"\x1b[\x03"), (vec![Key::Quit], false));
    }
}
