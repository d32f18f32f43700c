//! Reads a line layer by layer: the JSON objects around it, its wrapper, its head, its program.
//!
//! Each layer finds where the next one begins, and moves the place of its mismatch accordingly.

use std::borrow::Cow;
use std::sync::Arc;

use super::LineParser;
use crate::format::program::Program;
use crate::format::program::keyed::DecodeBuffer;
use crate::format::program::mismatch::{Mismatch, Reason};
use crate::format::program::wrapper::{NO_TIME, Wrapper};
use crate::record::Record;
use crate::value::{AddressMask, TimeParts};

/// The mismatch of a directive.
const DIRECTIVE: &str = "this line is a directive, not a record";
/// The mismatch of a line after a directive that the parser does not follow.
const STALE: &str = "the directives before this line do not belong to the format";

impl LineParser {
    /// Reads a line, whose decoded values are put into `decoded`. Blanks at its ends, as pasted lines
    /// have them, are left out if the line does not match with them.
    #[inline]
    pub(super) fn parse_into<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let outcome = self.parse_whole(line, decoded, record);
        match outcome {
            Err(mismatch) if has_outer_blanks(line) => {
                self.parse_trimmed(line, decoded, record).unwrap_or(Err(mismatch))
            }
            outcome => outcome,
        }
    }

    /// Reads a line without the blanks at its ends; a line of blanks is empty. In delimited lines they
    /// separate empty values.
    #[cold]
    fn parse_trimmed<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Option<Result<(), Mismatch>> {
        let is_delimited = matches!(self.format.program(), Program::Delimited(_));
        let line = line.trim_ascii();
        if line.is_empty() {
            return Some(Err(Mismatch::new(0, Reason::EmptyLine)));
        }
        let outcome = (!is_delimited).then(|| self.parse_whole(line, decoded, record))?;
        outcome.is_ok().then_some(outcome)
    }

    /// Reads a line as it is.
    #[inline]
    fn parse_whole<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        if line.is_empty() {
            return Err(Mismatch::new(0, Reason::EmptyLine));
        }
        record.clear(self.format.extra_fields().len());
        self.state.time = TimeParts::default();
        match self.format.envelopes().is_empty() {
            true => self.parse_unenveloped(line, decoded, record),
            false => self.parse_enveloped(line, decoded, record),
        }?;
        if let Some((source, choice)) = self.format.client_rule() {
            source.apply(choice, record);
        }
        if let Some(mask) = self.format.address_mask() {
            hide_addresses(mask, decoded, record);
        }
        Ok(())
    }

    /// Reads the JSON objects around a line, and the line.
    fn parse_enveloped<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let format = Arc::clone(&self.format);
        let (mut inside, mut at) = (line, 0);
        for envelope in format.envelopes() {
            let (text, start) = envelope
                .read(inside, decoded, record, &mut self.state)
                .map_err(|mismatch| mismatch.moved_by(at))?;
            (inside, at) = (text, at + start);
        }
        if inside.is_empty() {
            return Err(Mismatch::new(at, Reason::EmptyLine));
        }
        self.parse_unenveloped(inside, decoded, record).map_err(|mismatch| mismatch.moved_by(at))
    }

    /// Reads a line without JSON objects around it.
    #[inline]
    fn parse_unenveloped<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        match self.format.wrapper() {
            None => self.parse_inside(line, decoded, record),
            Some(wrapper) => self.parse_wrapped(wrapper, line, decoded, record),
        }
    }

    /// Reads a line with its wrapper. An escaping wrapper has been removed before.
    fn parse_wrapped<'a>(
        &mut self,
        wrapper: Wrapper,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let extra = self.format.wrapper_extra();
        let reference_s = self.state.year_reference_s;
        let (start, time) = wrapper.read(line, record, extra, reference_s)?;
        let inside = &line[start..];
        if inside.is_empty() {
            return Err(Mismatch::new(start, Reason::EmptyLine));
        }
        self.parse_inside(inside, decoded, record).map_err(|mismatch| mismatch.moved_by(start))?;
        if self.format.takes_wrapper_time() {
            record.time = Some(time.ok_or(Mismatch::new(0, Reason::Form(NO_TIME)))?);
        }
        Ok(())
    }

    /// Reads the line inside a wrapper, or a line without one, and determines its time.
    #[inline]
    fn parse_inside<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        if self.format.head().is_some() {
            return self.parse_after_head(line, decoded, record);
        }
        self.parse_line(line, decoded, record)
    }

    /// Reads a line with its head.
    fn parse_after_head<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let format = Arc::clone(&self.format);
        let Some(head) = format.head() else { return Ok(()) };
        let start = head.read(line, record)?;
        self.parse_line(&line[start..], decoded, record)
            .map_err(|mismatch| mismatch.moved_by(start))?;
        head.set_client(record);
        Ok(())
    }

    /// Reads a line without its wrapper and its head.
    #[inline]
    fn parse_line<'a>(
        &mut self,
        line: &'a [u8],
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let program = self.format.program();
        if let Program::Delimited(delimited) = program {
            if delimited.is_directive(line) {
                return Err(Mismatch::new(0, Reason::Form(DIRECTIVE)));
            }
            if self.staleness.is_stale() {
                return Err(Mismatch::new(0, Reason::Form(STALE)));
            }
        }
        program.parse(line, decoded, record, &mut self.state)?;
        if self.has_time {
            let time = self.state.time.finish();
            record.time = Some(time.ok_or(Mismatch::new(0, Reason::Time))?);
        }
        Ok(())
    }
}

/// Hides addresses in all values of a record. A value with an address for which the buffer has no room
/// becomes absent.
#[cold]
fn hide_addresses<'a>(mask: AddressMask, decoded: &mut DecodeBuffer<'a>, record: &mut Record<'a>) {
    record.replace_texts(|text| match mask.hide(text) {
        Cow::Borrowed(_) => Some(text),
        Cow::Owned(hidden) => decoded.join([&hidden]),
    });
}

/// Whether a line begins or ends with a blank, or ends with a CR: a file whose line ends were converted twice
/// has two of them.
fn has_outer_blanks(line: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    is_blank(line.first()) || is_blank(line.last()) || line.last() == Some(&b'\r')
}
