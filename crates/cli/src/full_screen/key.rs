//! Keys, read from the bytes that a terminal sends for them.

const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

/// The most bytes of a sequence that are looked at. No key has more.
const SEQUENCE_BYTES_MAX: usize = 16;

/// A key that a person pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A key with a character.
    Character(char),
    /// The key of a letter, together with Ctrl.
    Control(char),
    Enter,
    Escape,
    Backspace,
    Delete,
    Tab,
    /// Tab together with Shift.
    BackTab,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// The terminal is gone.
    Closed,
}

/// Reads keys from bytes that may be cut anywhere. Sequences of unknown keys begin with an Escape
/// and are skipped.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    state: State,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// After an Escape, which is a key if nothing follows.
    Escape,
    /// In a sequence, with the bytes between its start and its end.
    Sequence(Vec<u8>),
    /// Before the one byte that ends a sequence.
    LastByte,
    /// In a character of several bytes, with those before.
    Character(Vec<u8>),
}

impl KeyReader {
    /// Reads the next byte, and returns the key that it completes.
    pub(super) fn read(&mut self, byte: u8) -> Option<Key> {
        let state = std::mem::take(&mut self.state);
        let (state, key) = match (state, byte) {
            (State::Start, ESCAPE) => (State::Escape, None),
            (State::Start, 0x80..) => part_of_character(Vec::new(), byte),
            (State::Start, byte) => (State::Start, key(byte)),
            (State::Character(before), 0x80..0xc0) => part_of_character(before, byte),
            (State::Escape, ESCAPE) => (State::Start, Some(Key::Escape)),
            (State::Escape, b'[') => (State::Sequence(Vec::new()), None),
            (State::Escape, b'O') => (State::LastByte, None),
            (State::Sequence(mut bytes), 0x20..0x40) => {
                if bytes.len() < SEQUENCE_BYTES_MAX {
                    bytes.push(byte);
                }
                (State::Sequence(bytes), None)
            }
            // Ctrl-C works even if the end of a sequence was lost.
            (_, 0x03) => (State::Start, key(0x03)),
            (State::Sequence(bytes), byte) => (State::Start, sequence_key(&bytes, byte)),
            (State::LastByte, byte) => (State::Start, sequence_key(b"", byte)),
            // Together with Alt, or a character that is not valid.
            (State::Escape | State::Character(_), _) => (State::Start, None),
        };
        self.state = state;
        key
    }

    /// Whether the last byte is an Escape, which may begin a sequence.
    pub(super) fn has_escape(&self) -> bool {
        self.state == State::Escape
    }

    /// Ends an Escape after which nothing followed.
    pub(super) fn end_escape(&mut self) {
        self.state = State::Start;
    }
}

fn key(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x08 | DELETE => Key::Backspace,
        0x01..0x1b => Key::Control(char::from(b'a' + byte - 1)),
        0x20..DELETE => Key::Character(char::from(byte)),
        _ => return None,
    })
}

fn part_of_character(mut bytes: Vec<u8>, byte: u8) -> (State, Option<Key>) {
    bytes.push(byte);
    match std::str::from_utf8(&bytes) {
        // A control character of two bytes is no key.
        Ok(text) => {
            let character = text.chars().next().filter(|c| !c.is_control());
            (State::Start, character.map(Key::Character))
        }
        Err(error) if error.error_len().is_none() => (State::Character(bytes), None),
        Err(_) => (State::Start, None),
    }
}

/// The key of a sequence: its parameters, and the byte that ends it. Ctrl, Shift and Alt are the
/// second parameter, which makes no difference here.
fn sequence_key(parameters: &[u8], last: u8) -> Option<Key> {
    let first = parameters.split(|byte| *byte == b';').next().unwrap_or_default();
    Some(match (last, first) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'Z', _) => Key::BackTab,
        (b'~', b"3") => Key::Delete,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Key, KeyReader};

    fn keys(bytes: &[u8]) -> (Vec<Key>, bool) {
        let mut reader = KeyReader::default();
        let keys = bytes.iter().filter_map(|byte| reader.read(*byte)).collect();
        (keys, reader.has_escape())
    }

    #[test]
    fn each_key_is_read() {
        for (bytes, key) in [
            ("q", Key::Character('q')),
            ("é", Key::Character('é')),
            ("日", Key::Character('日')),
            ("\x03", Key::Control('c')),
            ("\x1a", Key::Control('z')),
            ("\r", Key::Enter),
            ("\t", Key::Tab),
            ("\x7f", Key::Backspace),
            ("\x1b[A", Key::Up),
            ("\x1bOB", Key::Down),
            ("\x1b[1;5C", Key::Right),
            ("\x1b[H", Key::Home),
            ("\x1b[4~", Key::End),
            ("\x1b[3~", Key::Delete),
            ("\x1b[5~", Key::PageUp),
            ("\x1b[6;2~", Key::PageDown),
            ("\x1b[Z", Key::BackTab),
        ] {
            assert_eq!(keys(bytes.as_bytes()), (vec![key], false), "{bytes:?}");
        }
    }

    #[test]
    fn an_escape_is_a_key_only_if_no_sequence_follows() {
        assert_eq!(keys(b"\x1b"), (vec![], true));
        assert_eq!(keys(b"\x1b\x1b"), (vec![Key::Escape], false));
        // F1, a mouse, a paste, Alt-q, and bytes that are no character.
        for sequence in [
            &b"\x1bOP"[..],
            b"\x1b[<0;10;20M",
            b"\x1b[200~",
            b"\x1bq",
            b"\xff",
            b"\xc3(",
            b"\xc2\x9b",
        ] {
            assert_eq!(keys(sequence), (vec![], false), "{sequence:?}");
            let with_key = [sequence, b"s"].concat();
            assert_eq!(keys(&with_key), (vec![Key::Character('s')], false), "{sequence:?}");
        }
        assert_eq!(keys(b"\x1b[\x03"), (vec![Key::Control('c')], false));
        assert_eq!(keys(&[b"\x1b[".as_slice(), &[b'9'; 1_000], b"As"].concat()).0.len(), 2);
    }
}
