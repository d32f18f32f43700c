//! The beginning of a source's text, examined before the source is read.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::{
    Format, LineOutcome, Lines, LogReader, Record, RecordLayout, Timestamp, detect_format,
};

use super::byte_counter::ByteCounter;
use super::input::Input;
use super::table::{Table, open_table};
use super::unpack::{Text, unpack};
use super::year::with_year;
use crate::error::{Fault, FaultKind, ReadError};
use crate::log_year::LastTime;
use weir_core::FormatChoice;

/// The largest size of a head.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The size of one read.
const READ_BYTES: usize = 64 << 10;

/// The beginning of a source's first text, unpacked, or of a table.
#[derive(Debug, Default)]
pub struct Head {
    /// The text. That of a table is empty.
    pub text: Vec<u8>,
    /// Whether the text is complete.
    pub is_whole: bool,
    /// The time that no line of the source is much later than, if known.
    last_time: Option<LastTime>,
    table: Option<TableHead>,
}

/// The first records of a table.
#[derive(Debug)]
struct TableHead {
    format: Arc<Format>,
    packed: Vec<u8>,
}

impl Head {
    /// Reads an input from its start until `is_enough` returns true, up to a mebibyte or the end.
    /// The head ends at damaged data, which is reported when the source is read in full.
    ///
    /// # Errors
    /// If the input cannot be opened.
    pub fn of(input: &Input, is_enough: impl Fn(&[u8]) -> bool) -> Result<Self, ReadError> {
        if let Ok(Some(file)) = open_table(input) {
            return Self::of_table(file);
        }
        let mut head = Self::default();
        let faults = input.read(&mut |text| head.read(text, &is_enough));
        head.or_error(faults)
    }

    fn of_table(file: File) -> Result<Self, ReadError> {
        let table = Table::open(file, &FormatChoice::Detect)?;
        let (format, packed) = (table.format().clone(), table.first_records());
        Ok(Self { table: Some(TableHead { format, packed }), ..Self::default() })
    }

    /// Calls `visit` for the first records of a table, in order, with what else the lines of `choice`
    /// have. Returns false if this is the head of a text.
    pub fn for_each_row(
        &self,
        choice: &FormatChoice,
        mut visit: impl FnMut(&Arc<Format>, &Record<'_>) -> ControlFlow<()>,
    ) -> bool {
        let Some(table) = &self.table else { return false };
        let format = match choice.line_options() {
            Some(options) => Arc::new(table.format.with_line_options(&options)),
            None => table.format.clone(),
        };
        let mut reader = LogReader::new(format);
        for row in RecordLayout::records(&table.packed) {
            let flow = reader.read(row.bytes, |parser, outcome| match outcome {
                LineOutcome::Record(record) => visit(parser.format(), record),
                _ => ControlFlow::Continue(()),
            });
            if flow.is_break() {
                break;
            }
        }
        true
    }

    /// [`Self::of`] for a stream.
    ///
    /// # Errors
    /// If nothing of it can be read.
    pub fn of_stream(
        stream: impl Read,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Result<Self, ReadError> {
        let mut head = Self::default();
        let mut visit = |text: &mut Text<'_>| head.read(text, &is_enough);
        let unpacked = unpack("", stream, &ByteCounter::default(), &mut visit);
        head.or_error(unpacked.faults)
    }

    /// The whole lines of the text.
    pub fn lines(&self) -> &[u8] {
        match self.text.iter().rposition(|byte| *byte == b'\n') {
            Some(at) if !self.is_whole => &self.text[..=at],
            _ => &self.text,
        }
    }

    /// The time of the first record that has one.
    pub fn first_time(&self, format: &FormatChoice) -> Option<Timestamp> {
        let mut time = None;
        let is_table = self.for_each_row(format, |_, record| {
            time = record.time;
            if time.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if is_table { time } else { first_time_in(self.lines(), format, self.last_time) }
    }

    fn read(&mut self, text: &mut Text<'_>, is_enough: impl Fn(&[u8]) -> bool) -> ControlFlow<()> {
        self.last_time = text.last_time();
        while self.text.len() < TEXT_BYTES_MAX && !is_enough(&self.text) {
            let start = self.text.len();
            self.text.resize(start + READ_BYTES, 0);
            let result = text.read(&mut self.text[start..]);
            self.text.truncate(start + *result.as_ref().unwrap_or(&0));
            match result {
                Ok(0) => {
                    self.is_whole = true;
                    break;
                }
                Ok(_) => {}
                Err(error) if is_momentary(&error) => {}
                Err(_) => break,
            }
        }
        ControlFlow::Break(())
    }

    fn or_error(self, mut faults: Vec<Fault>) -> Result<Self, ReadError> {
        faults.retain(|fault| matches!(fault.error(), Some(ReadError::Open(_))));
        match faults.pop().map(|fault| fault.kind) {
            Some(FaultKind::Error(error)) => Err(error),
            _ => Ok(self),
        }
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// The time of the first record that has one in these lines. Times without a year are
/// dated relative to today.
pub fn first_time(lines: &[u8], format: &FormatChoice) -> Option<Timestamp> {
    first_time_in(lines, format, None)
}

fn first_time_in(
    lines: &[u8],
    format: &FormatChoice,
    last_time: Option<LastTime>,
) -> Option<Timestamp> {
    let format = match format {
        FormatChoice::Forced(format) | FormatChoice::Known { format, .. } => format.clone(),
        FormatChoice::Detect | FormatChoice::DetectWith(_) => detect_format(lines)?,
        FormatChoice::Unread => return None,
    };
    let mut reader = LogReader::new(with_year(format, last_time));
    Lines::new(lines).find_map(|line| {
        reader.read(line.bytes, |_, outcome| match outcome {
            LineOutcome::Record(record) => record.time,
            _ => None,
        })
    })
}
