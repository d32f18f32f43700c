//! The key with which the records of a file begin.

/// The longest key that is compared, with its opening quote.
const KEY_BYTES_MAX: usize = 64;

/// The key with which the records of a file begin. It tells a record from an object inside one, where neither
/// the indentation nor the place does.
#[derive(Debug, Default, Clone)]
pub(super) struct FirstKey {
    /// The key of the first record, as it is written, from its opening quote to the closing one.
    of_records: Option<Vec<u8>>,
    /// The part of an object's key that was read.
    read: Vec<u8>,
}

/// What became of the next byte of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyProgress {
    /// The key goes on.
    More,
    /// The byte ends the key.
    Whole,
    /// The byte is none of a key that is compared, and was not taken.
    Other,
}

impl FirstKey {
    /// Whether no record had a key so far.
    pub(super) fn is_unknown(&self) -> bool {
        self.of_records.is_none()
    }

    /// The part of the key that was read, with its quotes.
    pub(super) fn read(&self) -> &[u8] {
        &self.read
    }

    /// Takes the next byte after an object's brace, except blanks before the key.
    pub(super) fn take(&mut self, byte: u8) -> KeyProgress {
        let is_start = self.read.is_empty();
        let is_key = if is_start { byte == b'"' } else { !matches!(byte, b'\\' | b'\n') };
        if !is_key || self.read.len() == KEY_BYTES_MAX {
            return KeyProgress::Other;
        }
        self.read.push(byte);
        if byte == b'"' && !is_start { KeyProgress::Whole } else { KeyProgress::More }
    }

    /// Begins to read the key of another object.
    pub(super) fn begin(&mut self) {
        self.read.clear();
    }

    /// Takes the key that was read for that of the records.
    pub(super) fn set(&mut self) {
        self.of_records = Some(self.read.clone());
    }

    /// Whether the key that was read is that of the records.
    pub(super) fn is_that_of_records(&self) -> bool {
        self.of_records.as_ref() == Some(&self.read)
    }

    /// Whether this byte, the next one, makes the key that of the records.
    pub(super) fn is_ended_by(&self, byte: u8) -> bool {
        let split = self.of_records.as_deref().and_then(<[u8]>::split_last);
        split.is_some_and(|(last, start)| *last == byte && start == self.read)
    }
}
