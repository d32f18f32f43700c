//! Counts the records of an input by the values of their fields.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use weir_core::{FieldAccessor, Format, Record, RecordPredicate};
use weir_ingest::{FormatChoice, Input};

use super::{Counted, Tally};
use crate::lines::{Budget, Failed, LineBlocks, Pieces, each_text, in_order};
use crate::records::{Conditions, Reader, steady_format};

/// What is asked of every record.
pub(super) struct Asked<'a> {
    pub(super) by: &'a [String],
    pub(super) conditions: &'a Conditions,
    pub(super) format: &'a FormatChoice,
    /// For the values.
    pub(super) memory: &'a Budget,
    /// Threads that one file may have.
    pub(super) spare_jobs: usize,
}

/// The same, of the records of one format.
struct Known<'a> {
    fields: Vec<FieldAccessor>,
    predicate: RecordPredicate<'a>,
}

impl Asked<'_> {
    /// Counts the records of an input. What was counted before an error stands.
    pub(super) fn count(&self, input: &Input) -> Counted<Tally> {
        let mut counted = Counted::<Tally>::default();
        let complaints = each_text(input, |text| {
            let name = text.name().to_owned();
            let steady = Pieces::of(input, text).and_then(|pieces| {
                let format = steady_format(&pieces, self.format, text.written())?;
                Some((pieces, format))
            });
            let (unmatched, result) = match steady {
                Some((pieces, format)) => self.in_pieces(&pieces, &format, &mut counted.count),
                None => {
                    let reader = Reader::new(self.format, text.written());
                    self.read(text, reader, &mut counted.count)
                }
            };
            if unmatched > 0 {
                counted.unmatched.push((name, unmatched));
            }
            result
        });
        // Nothing is written, so that nothing can fail but reading.
        counted.complaints = complaints.unwrap_or_default();
        counted
    }

    /// Counts the records of a file's pieces on several threads; gives the number of lines that
    /// did not fit as well.
    fn in_pieces(
        &self,
        pieces: &Pieces,
        format: &FormatChoice,
        tally: &mut Tally,
    ) -> (u64, Result<(), Failed>) {
        let all = Mutex::new(std::mem::take(tally));
        let counted = in_order(self.spare_jobs, pieces.count(), &mut io::sink(), |index, _| {
            let mut part = Tally::default();
            let reader = Reader::new(format, None);
            let (unmatched, result) = self.read(pieces.piece(index), reader, &mut part);
            all.lock().unwrap_or_else(PoisonError::into_inner).merge(part, self.memory);
            Ok((unmatched, result))
        });
        *tally = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counted = counted.unwrap_or_default();
        let unmatched = counted.iter().map(|(unmatched, _)| unmatched).sum();
        (unmatched, counted.into_iter().try_for_each(|(_, result)| result))
    }

    fn read(
        &self,
        stream: impl Read,
        mut reader: Reader,
        tally: &mut Tally,
    ) -> (u64, Result<(), Failed>) {
        let result = self.read_with(stream, &mut reader, tally);
        (reader.unmatched(), result)
    }

    fn read_with(
        &self,
        stream: impl Read,
        reader: &mut Reader,
        tally: &mut Tally,
    ) -> Result<(), Failed> {
        let mut blocks = LineBlocks::new(stream);
        let (mut known, mut version, mut has_asked) = (None, 0, false);
        let mut room = Vec::new();
        while let Some(block) = blocks.next_block().map_err(Failed::Input)? {
            reader.learn(block);
            for line in block.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                if version != reader.version() {
                    // Lists of fields that come later may lack some.
                    known = match reader.format().map(|format| self.known(format)).transpose() {
                        Err(sentence) if !has_asked => return Err(Failed::Sentence(sentence)),
                        known => known.ok().flatten(),
                    };
                    has_asked |= reader.format().is_some();
                    version = reader.version();
                }
                let mut record = Record::new();
                if reader.read(line, &mut room, &mut record)
                    && let Some(known) = &known
                {
                    known.count(&record, tally, self.memory);
                }
            }
        }
        Ok(())
    }

    fn known(&self, format: &Format) -> Result<Known<'_>, String> {
        let fields: Result<Vec<_>, _> = self.by.iter().map(|name| format.accessor(name)).collect();
        let fields = fields.map_err(|error| format!("--by: {error}"))?;
        let predicate = self.conditions.predicate(format);
        Ok(Known { fields, predicate: predicate.map_err(|error| format!("--where: {error}"))? })
    }
}

impl Known<'_> {
    fn count(&self, record: &Record<'_>, tally: &mut Tally, memory: &Budget) {
        if self.predicate.accepts(record) {
            let value = |index| {
                let field: Option<&FieldAccessor> = self.fields.get(index);
                let value = field.and_then(|field| field.value(record));
                value.unwrap_or(Cow::Borrowed(b""))
            };
            tally.add(&value(0), &value(1), memory);
        }
    }
}
