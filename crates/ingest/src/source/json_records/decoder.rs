//! Writes a record on each line, and looks ahead where one may begin inside another.
//!
//! ```text
//! {"id":1,"items":[            {"id":1,"items":[
//! {"id":7},                    {"id":2,"items":[]},
//! {"id":8}]},                  {"id":3,"items":[]}
//! {"id":2,"items":[]}          ]
//!
//! values in a record           records after one that was cut off
//! ```
//!
//! The record shows which it is, if it goes on as JSON does and ends: then they were values. Until then the
//! bytes wait, a limited number of them.

use std::io;

use weir_core::BlockLimits;

use super::arrangement::Arrangement;
use super::scanner::Scanner;
use crate::source::decode::Decode;

/// The most bytes that wait for the end of a record. A longer record is no line that is read.
const WAITING_BYTES_MAX: usize = BlockLimits::LINE_BYTES_MAX;

/// How often bytes may wait again after they did, so that torn records in a row do not wait for each other.
const WAITS_MAX: u8 = 8;

/// Writes a record on each line.
#[derive(Debug)]
pub(in crate::source) struct JsonRecordsDecoder {
    scanner: Scanner,
    /// What waits for the end of a record.
    doubt: Option<Box<Doubt>>,
    /// How often the bytes that come now have waited.
    waits: u8,
}

/// A place at which a record may begin, or a value in the last one, and what follows it.
#[derive(Debug)]
struct Doubt {
    /// The state before it.
    before: Scanner,
    bytes: Vec<u8>,
    /// The output for these bytes if it is a value.
    output: Vec<u8>,
    waits: u8,
}

/// What the object in doubt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Value,
    Record,
}

impl JsonRecordsDecoder {
    pub(in crate::source) fn new(arrangement: Arrangement) -> Self {
        Self { scanner: Scanner::new(arrangement), doubt: None, waits: 0 }
    }

    fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        if self.doubt.is_none() {
            if !self.scanner.is_in_doubt(byte) || self.waits == WAITS_MAX {
                return self.scanner.take(byte, output);
            }
            let (before, waits) = (self.scanner.clone(), self.waits);
            self.doubt =
                Some(Doubt { before, bytes: Vec::new(), output: Vec::new(), waits }.into());
            self.scanner.takes_values = true;
        }
        match self.take_in_doubt(byte) {
            Some(Verdict::Value) => self.accept(output),
            Some(Verdict::Record) => self.go_back(output),
            None => {}
        }
    }

    /// Takes a byte after the place in doubt, as if a value began there. Returns the verdict if there is one.
    fn take_in_doubt(&mut self, byte: u8) -> Option<Verdict> {
        let doubt = self.doubt.as_mut()?;
        let is_after_record = self.scanner.is_between();
        let may_go_on = self.scanner.may_go_on(byte);
        doubt.bytes.push(byte);
        self.scanner.take(byte, &mut doubt.output);
        if !may_go_on {
            return Some(Verdict::Record);
        }
        if is_after_record && !byte.is_ascii_whitespace() {
            let goes_on = matches!(byte, b',' | b']');
            return Some(if goes_on { Verdict::Value } else { self.verdict_at_end() });
        }
        if self.scanner.is_between() && !self.scanner.was_in_list() {
            return Some(Verdict::Value);
        }
        (doubt.bytes.len() == WAITING_BYTES_MAX).then_some(Verdict::Record)
    }

    /// The verdict if the list does not go on after the record has ended. In a document the brackets at its end
    /// may be those that a torn record lacks.
    fn verdict_at_end(&self) -> Verdict {
        match self.scanner.arrangement() {
            Arrangement::Plain if self.scanner.is_between() => Verdict::Value,
            _ => Verdict::Record,
        }
    }

    /// Takes the object in doubt for a value.
    fn accept(&mut self, output: &mut Vec<u8>) {
        let Some(doubt) = self.doubt.take() else { return };
        output.extend_from_slice(&doubt.output);
        self.scanner.takes_values = false;
    }

    /// Takes the object in doubt for the next record.
    fn go_back(&mut self, output: &mut Vec<u8>) {
        let Some(doubt) = self.doubt.take() else { return };
        self.scanner = doubt.before;
        let waits = std::mem::replace(&mut self.waits, doubt.waits + 1);
        let mut bytes = doubt.bytes.into_iter();
        // The byte that ends the key of the record.
        bytes.next().into_iter().for_each(|byte| self.scanner.take(byte, output));
        bytes.for_each(|byte| self.take(byte, output));
        self.waits = waits;
    }
}

impl Decode for JsonRecordsDecoder {
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        for byte in input {
            self.take(*byte, output);
        }
        Ok(input.len())
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        while self.doubt.is_some() {
            match self.verdict_at_end() {
                Verdict::Value => self.accept(output),
                Verdict::Record => self.go_back(output),
            }
        }
        self.scanner.finish(output);
        Ok(())
    }
}
