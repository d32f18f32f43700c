//! Counts the records of an input by the values of their fields.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::{FieldAccessor, Format, Lines, Record, RecordKind, RecordPredicate};
use weir_ingest::{
    FormatBinding, FormatChoice, Input, MemoryBudget, OrderedOutput, Text, TextPart, TextScan,
};

use super::InputCount;
use super::kinds::{KindTallies, KindTally};
use crate::scan::{Conditions, ScanError, UnparsedLines, for_each_text};

/// The key of a tally for records without the field.
pub(super) const ABSENT_KEY: &[u8] = b"";

/// The key of a tally for empty values. A line has no line feed, so no value is equal to it.
pub(super) const EMPTY_KEY: &[u8] = b"\n";

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
    /// `None` for a field that the format lacks.
    fields: Vec<Option<FieldAccessor>>,
    /// `None` if records of the kind are not counted.
    predicate: Option<RecordPredicate<'a>>,
}

/// The counts of one part of a text.
struct PartCount<'a> {
    /// Those of the texts before.
    tallies: &'a mut KindTallies,
    /// The records so far, while it is not known whether any of them has the fields.
    undecided: KindTallies,
    missing: MissingField,
}

/// Whether a field is missing in a text whose format may change.
enum MissingField {
    /// No format was seen.
    None,
    /// In all formats so far. The error is a sentence.
    Yet(String),
    /// A format has all of the fields.
    Found,
}

impl PartCount<'_> {
    fn tally_of(&mut self, kind: RecordKind) -> &mut KindTally {
        match self.missing {
            MissingField::Yet(_) => self.undecided.of_mut(kind),
            MissingField::None | MissingField::Found => self.tallies.of_mut(kind),
        }
    }

    /// Whether a request was counted.
    fn has_requests(&self) -> bool {
        self.tallies.has_requests() || self.undecided.has_requests()
    }
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
        let name = text.name().to_owned();
        let scan = TextScan {
            threads: self.threads_per_text,
            is_divisible: true,
            reads_records: true,
            format: self.format,
            has_fields: &|format| self.is_asked(format) && self.check_fields(format).is_ok(),
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
        let counted = scanned.parts.into_iter().collect();
        // A text without the fields has no count, not even 0.
        result.was_read |= !matches!(counted, Err(ScanError::Field(_)));
        counted
    }

    fn count_part(
        &self,
        part: &mut TextPart<impl Read>,
        name: &str,
        tallies: &mut KindTallies,
    ) -> Result<(), ScanError> {
        let mut part_count =
            PartCount { tallies, undecided: KindTallies::default(), missing: MissingField::None };
        let counted = self.count_lines(part, name, &mut part_count);
        let PartCount { tallies, undecided, missing } = part_count;
        match (counted, missing) {
            (Ok(()), MissingField::Yet(error)) => {
                undecided.release(self.memory);
                Err(ScanError::Field(error))
            }
            (counted, _) => {
                tallies.merge(undecided, self.memory);
                counted
            }
        }
    }

    fn count_lines(
        &self,
        part: &mut TextPart<impl Read>,
        name: &str,
        count: &mut PartCount<'_>,
    ) -> Result<(), ScanError> {
        let mut binding = FormatBinding::new();
        while let Some((block, records)) = part.next_records().map_err(ScanError::Input)? {
            for line in Lines::new(block).filter(|line| !line.bytes.is_empty()) {
                let is_alone = |companions: &[Arc<Format>]| {
                    let has_fields = |format: &Arc<Format>| {
                        self.is_asked(format) && self.check_fields(format).is_ok()
                    };
                    !companions.iter().any(has_fields)
                };
                let bound = binding.update(records, |format, is_only| {
                    let is_only = is_only && is_alone(records.companions());
                    self.bind(format, is_only, name, count)
                });
                bound.map_err(ScanError::Field)?;
                let unbound = records.read(line.bytes, |found| {
                    let (format, record) = found?;
                    if let Some(key) = binding.value_of(format) {
                        key.count(record, count.tally_of(key.kind), self.memory);
                    }
                    (!binding.is_bound(format)).then(|| format.clone())
                });
                if let Some(format) = unbound {
                    let bind = |format: &Format| self.bind(format, false, name, count);
                    binding.bind_companion(&format, bind);
                    records.read(line.bytes, |found| {
                        let (Some(key), Some((_, record))) = (binding.value_of(&format), found)
                        else {
                            return;
                        };
                        key.count(record, count.tally_of(key.kind), self.memory);
                    });
                }
            }
        }
        Ok(())
    }

    /// Resolves the fields in a format. The error is a sentence. Records of another kind than
    /// the one that is asked for may lack fields; that is noted in the tally of their kind. A field
    /// that is missing in a log of several formats may come later, or has been there.
    fn bind(
        &self,
        format: &Format,
        is_only_format: bool,
        name: &str,
        count: &mut PartCount<'_>,
    ) -> Result<RecordKey<'_>, String> {
        let kind = format.kind();
        let not_counted = RecordKey { kind, fields: Vec::new(), predicate: None };
        // Requests come first, so with a request it is known that the others are left out.
        let is_left_out = match self.kind {
            Some(asked) => kind != asked,
            None => kind != RecordKind::Request && count.has_requests(),
        };
        if is_left_out {
            return Ok(not_counted);
        }
        let error = match self.check_fields(format) {
            Ok(()) => {
                // Records of another kind do not decide whether those that are asked for have it.
                if self.is_asked(format) {
                    count.missing = MissingField::Found;
                }
                return Ok(self.key(format));
            }
            Err(error) => error,
        };
        if !self.is_asked(format) {
            count.tallies.of_mut(kind).error = Some(format!("{name}: {error}"));
            return Ok(not_counted);
        }
        if is_only_format {
            return Err(error);
        }
        if matches!(count.missing, MissingField::None) {
            count.missing = MissingField::Yet(error);
        }
        Ok(self.key(format))
    }

    /// Whether the records of a format are of the kind that is asked for, or else requests.
    fn is_asked(&self, format: &Format) -> bool {
        format.kind() == self.kind.unwrap_or_default()
    }

    /// Checks that a format has the fields. The error is a sentence.
    fn check_fields(&self, format: &Format) -> Result<(), String> {
        for name in self.by {
            format.accessor(name).map_err(|error| format!("--by: {error}"))?;
        }
        self.conditions.predicate(format).map_err(|error| format!("--where: {error}"))?;
        Ok(())
    }

    /// The fields and conditions in a format, which may lack some of them.
    fn key(&self, format: &Format) -> RecordKey<'_> {
        RecordKey {
            kind: format.kind(),
            fields: self.by.iter().map(|name| format.accessor(name).ok()).collect(),
            predicate: Some(self.conditions.predicate_of_some(format)),
        }
    }
}

impl RecordKey<'_> {
    fn count(&self, record: &Record<'_>, kind: &mut KindTally, memory: &MemoryBudget) {
        kind.records += 1;
        if self.predicate.as_ref().is_some_and(|predicate| predicate.accepts(record)) {
            let value = |index| {
                let field: Option<FieldAccessor> = self.fields.get(index).copied().flatten();
                match field.and_then(|field| field.value(record)) {
                    None => Cow::Borrowed(ABSENT_KEY),
                    Some(value) if value.is_empty() => Cow::Borrowed(EMPTY_KEY),
                    Some(value) => value,
                }
            };
            kind.tally.add(&value(0), &value(1), memory);
        }
    }
}
