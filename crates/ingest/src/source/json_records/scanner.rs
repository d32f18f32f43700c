//! Finds the records in the bytes of a file.

use super::arrangement::Arrangement;
use super::first_key::{FirstKey, KeyProgress};
use super::line_position::LinePosition;
use super::list_paths::ListPaths;
use super::nesting::Nesting;

/// Where the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    /// After a bracket, which begins a list if a brace follows, and so many blanks.
    AfterBracket(u8),
    Record,
    /// After the brace of a record whose first key is to be read.
    FirstKey,
    /// After a brace that begins the next record, if the first key is that of the records, or else an object
    /// in this one. The blanks at the start of its line.
    AfterBrace(usize),
    /// In a line that is no record.
    Text,
    /// In what is left of a record that was cut off.
    Torn,
}

/// Writes a record on each line. It keeps nothing but a key.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    arrangement: Arrangement,
    place: Place,
    nesting: Nesting,
    lists: ListPaths,
    first_key: FirstKey,
    /// The open brackets and braces around the last record.
    record_depth: usize,
    /// The blanks at the start of the line in which the last record begins.
    record_indent: usize,
    position: LinePosition,
    is_in_string: bool,
    is_escaped: bool,
    /// The last byte that is no blank.
    last: u8,
    /// The blanks at the start of its line.
    last_indent: usize,
    /// Whether an object that can be a value is one, even if it begins with the key of the records.
    pub(super) takes_values: bool,
}

impl Scanner {
    pub(super) fn new(arrangement: Arrangement) -> Self {
        Self {
            arrangement,
            place: Place::Between,
            nesting: Nesting::default(),
            lists: ListPaths::new(),
            first_key: FirstKey::default(),
            record_depth: 0,
            record_indent: 0,
            position: LinePosition::START,
            is_in_string: false,
            is_escaped: false,
            last: b'\n',
            last_indent: 0,
            takes_values: false,
        }
    }

    /// Whether this byte, the next one, ends the first key of an object that can be a value in the record as
    /// well as the next record: the key is that of the records.
    #[inline]
    pub(super) fn is_in_doubt(&self, byte: u8) -> bool {
        matches!(self.place, Place::AfterBrace(_)) && self.first_key.is_ended_by(byte)
    }

    /// Whether the next byte may go on with the record as JSON does.
    pub(super) fn may_go_on(&self, byte: u8) -> bool {
        let is_in_list = self.nesting.is_in_list();
        match byte {
            b'\n' if self.is_in_string => false,
            _ if self.is_in_string || self.place != Place::Record => true,
            b' ' | b'\t' | b'\r' | b'\n' => true,
            b'{' | b'[' => matches!(self.last, b'[' | b':') || self.last == b',' && is_in_list,
            b'"' => matches!(self.last, b'[' | b'{' | b',' | b':'),
            b':' => self.last == b'"',
            b',' => !matches!(self.last, b'[' | b'{' | b',' | b':'),
            b'}' => !is_in_list && !matches!(self.last, b',' | b':'),
            b']' => is_in_list && self.last != b',',
            _ => !matches!(self.last, b'}' | b']' | b'"'),
        }
    }

    /// Whether the last byte was after a record, in no other one.
    pub(super) fn is_between(&self) -> bool {
        self.place == Place::Between
    }

    /// Whether the last record was in a list.
    pub(super) fn was_in_list(&self) -> bool {
        self.record_depth > 0
    }

    /// How the records are arranged.
    pub(super) fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Takes the next byte.
    pub(super) fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_first = self.position.advance(byte, self.place == Place::Torn);
        let is_before_key = matches!(self.place, Place::FirstKey | Place::AfterBrace(_));
        let is_key = is_before_key && self.take_first_key(byte, output);
        if self.is_in_string {
            return self.take_in_string(byte, output);
        }
        let is_read = match self.place {
            _ if is_key => true,
            Place::Text => self.take_in_text(byte, output),
            Place::AfterBracket(blanks) => self.take_after_bracket(byte, is_first, blanks, output),
            Place::Torn => self.take_in_torn(byte, is_first, output),
            Place::Record if is_first => self.take_first_in_record(byte, output),
            _ => false,
        };
        if !is_read {
            self.take_token(byte, output);
        }
        if !byte.is_ascii_whitespace() {
            self.set_last(byte);
        }
    }

    fn set_last(&mut self, byte: u8) {
        (self.last, self.last_indent) = (byte, self.position.indent);
    }

    /// Looks for the start of the next record at the start of a line, or for the end of its list. Returns
    /// whether the byte is read.
    fn take_first_in_record(&mut self, byte: u8, output: &mut Vec<u8>) -> bool {
        let is_outer = self.position.indent <= self.record_indent;
        if byte == b'{' && is_outer {
            if self.may_be_value() {
                self.first_key.begin();
                self.place = Place::AfterBrace(self.position.indent);
                return true;
            }
            self.cut_record(output);
        }
        if byte == b']' && is_outer && self.record_depth > 0 && !self.nesting.is_in_list() {
            self.cut_record(output);
        }
        false
    }

    /// Whether a brace that begins a line can be a value in the record: after a key, or in a list. A value is
    /// indented as far as its key.
    fn may_be_value(&self) -> bool {
        let is_value = match self.last {
            b'[' | b':' => true,
            b',' => self.nesting.is_in_list(),
            _ => false,
        };
        is_value && self.last_indent <= self.position.indent
    }

    /// Ends a record that was cut off.
    fn cut_record(&mut self, output: &mut Vec<u8>) {
        output.push(b'\n');
        self.nesting.cut_to(self.record_depth);
        self.place = Place::Between;
    }

    fn take_token(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_outside = self.place == Place::Between && self.nesting.depth() == 0;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'[' if is_outside => {
                self.place = Place::AfterBracket(0);
                self.nesting.open(byte);
                return;
            }
            b'{' if self.place == Place::Between && self.is_around_records() => {
                return self.begin_record(self.position.indent, output);
            }
            b'{' | b'[' => {
                if self.place == Place::Between {
                    self.lists.open(self.nesting.depth());
                }
                self.nesting.open(byte);
            }
            // One brace too many after a record.
            b'}' if self.place == Place::Between && self.nesting.is_in_list() => {}
            b'}' | b']' => self.nesting.close(byte),
            b',' => self.lists.end_member(),
            b'\xEF' | b'\xBB' | b'\xBF' => {}
            // Inside a list it is an element that is no object, or a member beside the list.
            _ if is_outside => self.place = Place::Text,
            b'"' => {
                self.is_in_string = true;
                self.lists.begin_string();
            }
            _ => {}
        }
        if matches!(self.place, Place::Record | Place::Text) {
            output.push(byte);
        }
        if self.place == Place::Record && self.nesting.depth() <= self.record_depth {
            output.push(b'\n');
            self.place = Place::Between;
        }
    }

    /// Begins a record at its brace, in a line with so many blanks at its start.
    fn begin_record(&mut self, indent: usize, output: &mut Vec<u8>) {
        (self.record_depth, self.record_indent) = (self.nesting.depth(), indent);
        self.nesting.open(b'{');
        output.push(b'{');
        self.place = Place::Record;
        if self.first_key.is_unknown() {
            self.first_key.begin();
            self.place = Place::FirstKey;
        }
    }

    /// Takes a byte of a record's first key, or of that of an object that may be the next record. Returns
    /// whether it is read.
    fn take_first_key(&mut self, byte: u8, output: &mut Vec<u8>) -> bool {
        if self.first_key.read().is_empty() && byte.is_ascii_whitespace() {
            return true;
        }
        let progress = self.first_key.take(byte);
        if progress == KeyProgress::More {
            return true;
        }
        let is_whole = progress == KeyProgress::Whole;
        if let Place::AfterBrace(indent) = self.place {
            if is_whole && !self.takes_values && self.first_key.is_that_of_records() {
                self.cut_record(output);
                self.begin_record(indent, output);
            } else {
                self.nesting.open(b'{');
                output.push(b'{');
            }
        } else if is_whole {
            self.first_key.set();
        }
        self.place = Place::Record;
        output.extend_from_slice(self.first_key.read());
        self.is_in_string = !is_whole && !self.first_key.read().is_empty();
        is_whole
    }

    /// Whether an object here is a record.
    fn is_around_records(&self) -> bool {
        match self.arrangement {
            Arrangement::Plain => self.nesting.depth() <= 1,
            Arrangement::ListInObject => {
                self.nesting.is_in_list() && self.lists.is_list(self.nesting.depth())
            }
        }
    }

    fn take_in_string(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_in_record = self.place == Place::Record;
        if is_in_record {
            output.push(byte);
        }
        match byte {
            b'\n' => {
                (self.is_in_string, self.is_escaped) = (false, false);
                if is_in_record {
                    self.place = Place::Torn;
                }
            }
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.is_in_string = false;
                self.set_last(byte);
            }
            _ if is_in_record => {}
            _ => self.lists.take(byte),
        }
    }

    fn take_in_text(&mut self, byte: u8, output: &mut Vec<u8>) -> bool {
        output.push(byte);
        if byte == b'\n' {
            self.place = Place::Between;
        }
        true
    }

    /// Decides what a bracket begins. Returns whether the byte is read with it.
    fn take_after_bracket(
        &mut self,
        byte: u8,
        is_first: bool,
        blanks: u8,
        output: &mut Vec<u8>,
    ) -> bool {
        match byte {
            b' ' | b'\t' => self.place = Place::AfterBracket(blanks.saturating_add(1)),
            b'\r' | b'\n' => {}
            b'{' | b']' => {
                self.place = Place::Between;
                return false;
            }
            _ => {
                output.push(b'[');
                self.nesting.cut_to(0);
                if is_first {
                    output.push(b'\n');
                    self.place = Place::Between;
                    return false;
                }
                output.resize(output.len() + usize::from(blanks), b' ');
                output.push(byte);
                self.place = Place::Text;
            }
        }
        true
    }

    /// Looks for what follows a torn record. Returns whether the byte belongs to it, or is read.
    fn take_in_torn(&mut self, byte: u8, is_first: bool, output: &mut Vec<u8>) -> bool {
        let is_outer = is_first && self.position.indent <= self.record_indent;
        let is_in_list = self.record_depth > 0;
        match byte {
            b'{' if is_outer => {}
            b']' if is_outer && is_in_list => {}
            b'"' | b'{' | b']' => return true,
            _ if !is_first || self.position.indent > 0 => return true,
            b'[' if !is_in_list => {}
            _ => {
                output.push(byte);
                self.place = Place::Text;
                self.nesting.cut_to(self.record_depth);
                return true;
            }
        }
        self.place = Place::Between;
        self.nesting.cut_to(self.record_depth);
        false
    }

    /// Ends the file.
    pub(super) fn finish(&self, output: &mut Vec<u8>) {
        match self.place {
            Place::AfterBrace(_) => output.push(b'{'),
            Place::AfterBracket(_) => output.extend_from_slice(b"["),
            _ => {}
        }
        if matches!(self.place, Place::FirstKey | Place::AfterBrace(_)) {
            output.extend_from_slice(self.first_key.read());
        }
        if !matches!(self.place, Place::Between | Place::Torn) {
            output.push(b'\n');
        }
    }
}
