//! The key with which the records of a file begin.

/// The longest key that is compared, with its opening quote.
const KEY_BYTES_MAX: usize = 64;

/// The key with which the records of a file begin. It tells a record from an object inside one, where neither
/// the indentation nor the place does.
#[derive(Debug, Default)]
pub(super) struct FirstKey {
    /// The key of the first record, as it is written, from its opening quote to the closing one.
    of_records: Option<Vec<u8>>,
    /// Whether that record goes on.
    is_in_first: bool,
    /// Whether an object inside of it begins with the key too, so that it tells nothing.
    is_ambiguous: bool,
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
        self.is_in_first = true;
    }

    /// Whether the key that was read, of an object that may be the next record or a part of this one, shows
    /// that it is the next record.
    pub(super) fn is_next_record(&mut self) -> bool {
        let is_same = self.of_records.as_ref() == Some(&self.read);
        self.is_ambiguous |= is_same && self.is_in_first;
        is_same && !self.is_ambiguous
    }

    /// Ends a record.
    pub(super) fn end_record(&mut self) {
        self.is_in_first = false;
    }
}
