//! Counts the records of an input by the values of their fields.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use weir_core::{FieldAccessor, Format, Lines, Record, RecordPredicate};
use weir_ingest::{
    FormatBinding, FormatChoice, Input, MemoryBudget, OrderedOutput, Text, TextPart, TextScan,
    ValueTally,
};

use super::InputCount;
use crate::scan::{Conditions, ScanError, UnparsedLines, for_each_text};

/// Counts records in tallies that share a memory budget.
pub(super) struct RecordCounter<'a> {
    /// The names of the fields: none, one or two.
    pub(super) by: &'a [String],
    pub(super) conditions: &'a Conditions,
    pub(super) format: &'a FormatChoice,
    pub(super) memory: &'a MemoryBudget,
    /// The number of threads that one file may have.
    pub(super) threads_per_text: usize,
}

/// The fields and conditions, resolved for the records of one format.
struct RecordKey<'a> {
    fields: Vec<FieldAccessor>,
    predicate: RecordPredicate<'a>,
}

impl RecordCounter<'_> {
    /// Counts the records of an input. Records that were counted before an error stay counted.
    pub(super) fn count(&self, input: &Input) -> InputCount<ValueTally> {
        let mut result = InputCount::default();
        let complaints = for_each_text(input, |text| self.count_text(input, text, &mut result));
        // Nothing is written, so only reading can fail, and that is in the list.
        result.complaints = complaints.unwrap_or_default();
        result
    }

    fn count_text(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        result: &mut InputCount<ValueTally>,
    ) -> Result<(), ScanError> {
        let name = text.name().to_owned();
        let scan = TextScan {
            threads: self.threads_per_text,
            is_divisible: true,
            reads_records: true,
            format: self.format,
        };
        let total = Mutex::new(std::mem::take(&mut result.count));
        let lock = || total.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sink = io::sink();
        let scanned = scan.run(input, text, &mut OrderedOutput::direct(&mut sink), |part, _| {
            // The first part continues the tally of the previous texts, so that a value in both
            // takes memory once.
            let mut tally = std::mem::take(&mut *lock());
            let counted = self.count_part(part, &mut tally);
            lock().merge(tally, self.memory);
            Ok(counted)
        });
        result.count = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        let scanned = scanned.map_err(ScanError::Output)?;
        if scanned.unparsed_lines > 0 {
            result.unparsed.push(UnparsedLines { text: name, lines: scanned.unparsed_lines });
        }
        scanned.parts.into_iter().collect()
    }

    fn count_part(
        &self,
        part: &mut TextPart<impl Read>,
        tally: &mut ValueTally,
    ) -> Result<(), ScanError> {
        let mut binding = FormatBinding::new();
        while let Some((block, records)) = part.next_records().map_err(ScanError::Input)? {
            for line in Lines::new(block).filter(|line| !line.bytes.is_empty()) {
                let bound = binding.update(records, |format| self.bind(format));
                bound.map_err(ScanError::Field)?;
                records.read(line.bytes, |record| {
                    if let (Some(key), Some(record)) = (binding.value(), record) {
                        key.count(record, tally, self.memory);
                    }
                });
            }
        }
        Ok(())
    }

    /// Resolves the fields in a format. The error is a sentence.
    fn bind(&self, format: &Format) -> Result<RecordKey<'_>, String> {
        let fields: Result<Vec<_>, _> = self.by.iter().map(|name| format.accessor(name)).collect();
        let predicate = self.conditions.predicate(format);
        Ok(RecordKey {
            fields: fields.map_err(|error| format!("--by: {error}"))?,
            predicate: predicate.map_err(|error| format!("--where: {error}"))?,
        })
    }
}

impl RecordKey<'_> {
    fn count(&self, record: &Record<'_>, tally: &mut ValueTally, memory: &MemoryBudget) {
        if self.predicate.accepts(record) {
            let value = |index| {
                let field: Option<&FieldAccessor> = self.fields.get(index);
                field.and_then(|field| field.value(record)).unwrap_or(Cow::Borrowed(b""))
            };
            tally.add(&value(0), &value(1), memory);
        }
    }
}
