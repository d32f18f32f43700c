//! Counts the records of an input by the values of their fields.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use weir_core::{FieldAccessor, Format, Lines, Record, RecordKind, RecordPredicate};
use weir_ingest::{
    FormatBinding, FormatChoice, Input, MemoryBudget, OrderedOutput, Text, TextPart, TextScan,
};

use super::InputCount;
use super::kinds::{KindTallies, KindTally};
use crate::scan::{Conditions, ScanError, UnparsedLines, for_each_text};

/// Counts records in tallies that share a memory budget.
pub(super) struct RecordCounter<'a> {
    /// The names of the fields: none, one or two.
    pub(super) by: &'a [String],
    pub(super) conditions: &'a Conditions,
    /// The kind of records that is asked for.
    pub(super) kind: Option<RecordKind>,
    pub(super) format: &'a FormatChoice,
    pub(super) memory: &'a MemoryBudget,
    /// The number of threads that one file may have.
    pub(super) threads_per_text: usize,
}

/// The fields and conditions, resolved for the records of one format.
struct RecordKey<'a> {
    kind: RecordKind,
    fields: Vec<FieldAccessor>,
    /// `None` if the format lacks a field, so that no record can be counted.
    predicate: Option<RecordPredicate<'a>>,
}

impl RecordCounter<'_> {
    /// Counts the records of an input. Records that were counted before an error stay counted.
    pub(super) fn count(&self, input: &Input) -> InputCount<KindTallies> {
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
        result: &mut InputCount<KindTallies>,
    ) -> Result<(), ScanError> {
        result.was_read = true;
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
            // The first part continues the tallies of the previous texts, so that a value in both
            // takes memory once.
            let mut tallies = std::mem::take(&mut *lock());
            let counted = self.count_part(part, &name, &mut tallies);
            lock().merge(tallies, self.memory);
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
        name: &str,
        tallies: &mut KindTallies,
    ) -> Result<(), ScanError> {
        let mut binding = FormatBinding::new();
        while let Some((block, records)) = part.next_records().map_err(ScanError::Input)? {
            for line in Lines::new(block).filter(|line| !line.bytes.is_empty()) {
                let bound = binding.update(records, |format| self.bind(format, name, tallies));
                bound.map_err(ScanError::Field)?;
                records.read(line.bytes, |record| {
                    if let (Some(key), Some(record)) = (binding.value(), record) {
                        key.count(record, tallies.of_mut(key.kind), self.memory);
                    }
                });
            }
        }
        Ok(())
    }

    /// Resolves the fields in a format. The error is a sentence. Records of another kind than
    /// the one that is asked for may lack fields; that is noted in the tally of their kind.
    fn bind(
        &self,
        format: &Format,
        name: &str,
        tallies: &mut KindTallies,
    ) -> Result<RecordKey<'_>, String> {
        let kind = format.kind();
        let not_counted = RecordKey { kind, fields: Vec::new(), predicate: None };
        // Requests come first, so with a request it is known that the others are left out.
        let is_left_out = match self.kind {
            Some(asked) => kind != asked,
            None => kind != RecordKind::Request && tallies.has_requests(),
        };
        if is_left_out {
            return Ok(not_counted);
        }
        match self.resolve(format) {
            Ok((fields, predicate)) => Ok(RecordKey { kind, fields, predicate: Some(predicate) }),
            Err(error) if kind == self.kind.unwrap_or_default() => Err(error),
            Err(error) => {
                tallies.of_mut(kind).error = Some(format!("{name}: {error}"));
                Ok(not_counted)
            }
        }
    }

    fn resolve(
        &self,
        format: &Format,
    ) -> Result<(Vec<FieldAccessor>, RecordPredicate<'_>), String> {
        let fields: Result<Vec<_>, _> = self.by.iter().map(|name| format.accessor(name)).collect();
        let predicate = self.conditions.predicate(format);
        Ok((
            fields.map_err(|error| format!("--by: {error}"))?,
            predicate.map_err(|error| format!("--where: {error}"))?,
        ))
    }
}

impl RecordKey<'_> {
    fn count(&self, record: &Record<'_>, kind: &mut KindTally, memory: &MemoryBudget) {
        kind.records += 1;
        if self.predicate.as_ref().is_some_and(|predicate| predicate.accepts(record)) {
            let value = |index| {
                let field: Option<&FieldAccessor> = self.fields.get(index);
                field.and_then(|field| field.value(record)).unwrap_or(Cow::Borrowed(b""))
            };
            kind.tally.add(&value(0), &value(1), memory);
        }
    }
}
