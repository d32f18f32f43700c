//! Counts the records of an input by the values of their fields.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::{FieldAccessor, Format, Lines, Record, RecordKind, RecordPredicate, Zone};
use weir_ingest::{
    FormatBinding, FormatChoice, Input, OrderedMerge, OrderedOutput, Part, RecordReader, Text,
    TextPart, TextScan,
};
use weir_view::value_in;

use super::InputCount;
use super::kinds::{KindChunk, KindChunks, KindTallies};
use crate::scan::{Conditions, LogFields, ScanError, UnparsedLines, check_field, for_each_text};

/// The key of a tally for records without the field.
const ABSENT_KEY: &[u8] = b"";

/// The key of a tally for empty values.
const EMPTY_KEY: &[u8] = b"\n";

/// Returns the key of a tally for a value. A value that begins with a line feed, which is rare,
/// gets another one before it, so that it never equals [`EMPTY_KEY`].
fn key_of(value: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match value.first() {
        None => Cow::Borrowed(EMPTY_KEY),
        Some(b'\n') => Cow::Owned([EMPTY_KEY, &*value].concat()),
        Some(_) => value,
    }
}

/// Returns the value of a key of a tally; `None` for records without the field.
pub(super) fn value_of_key(key: &[u8]) -> Option<&[u8]> {
    match key {
        ABSENT_KEY => None,
        key => Some(key.strip_prefix(EMPTY_KEY).unwrap_or(key)),
    }
}

/// The merge of the counts, in the order of the log: if a log has too many values, its counts must
/// not depend on the number of threads.
pub(super) type Merge = OrderedMerge<KindTallies, KindChunks>;

/// Counts records by the values of their fields.
pub(super) struct RecordCounter<'a> {
    /// The names of the fields: none, one or two.
    pub(super) by: &'a [String],
    pub(super) conditions: &'a Conditions,
    /// The fields of all inputs.
    pub(super) logs: &'a LogFields,
    /// The zone of times that are counted.
    pub(super) zone: Option<&'a Zone>,
    /// Whether the period of the records is recorded, because the arguments name a period.
    pub(super) tracks_period: bool,
    /// The requested kind of records.
    pub(super) kind: Option<RecordKind>,
    pub(super) format: &'a FormatChoice,
    pub(super) merge: &'a Merge,
    /// The most bytes that the counts of one chunk take.
    pub(super) chunk_bytes_max: usize,
    /// The number of threads that one file may have.
    pub(super) threads_per_text: usize,
}

/// The fields and conditions, resolved for the records of one format.
struct RecordKey<'a> {
    kind: RecordKind,
    /// `None` for a field that the format lacks.
    fields: Vec<Option<FieldAccessor>>,
    zone: Option<&'a Zone>,
    /// `None` if records of the kind are not counted.
    predicate: Option<RecordPredicate<'a>>,
    /// See [`RecordCounter::tracks_period`].
    tracks_period: bool,
}

/// Whether a text whose format may change lacks a field.
enum MissingField {
    /// No format has been bound yet.
    None,
    /// All formats so far lack a field. The error is a sentence.
    MissingSoFar(String),
    /// Some format has all of the fields.
    Found,
}

/// How a text maps to the parts of the merge.
enum Parts<'a, 'm> {
    /// Each part of the text is a part of the merge. They are numbered from `first` on.
    Many { first: u64 },
    /// The whole input is one part of the merge, which the threads lock in turn.
    One(&'a Mutex<PartCounts<'m>>),
}

/// A part of the merge, whose counts are added in chunks of a limited size.
struct PartCounts<'a> {
    part: Part<'a, KindTallies, KindChunks>,
    chunk: KindChunks,
    /// The counts of a text so far, while it is unknown whether any of its records has the fields.
    undecided: KindChunks,
    missing: MissingField,
}

impl<'a> PartCounts<'a> {
    fn new(part: Part<'a, KindTallies, KindChunks>) -> Self {
        let (chunk, undecided) = Default::default();
        Self { part, chunk, undecided, missing: MissingField::None }
    }

    fn put(&mut self) {
        self.put_undecided();
        let chunk = std::mem::take(&mut self.chunk);
        let bytes = chunk.memory_bytes();
        self.part.put(chunk, bytes);
    }

    fn put_undecided(&mut self) {
        if !self.undecided.is_empty() {
            let chunk = std::mem::take(&mut self.undecided);
            let bytes = chunk.memory_bytes();
            self.part.put(chunk, bytes);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.chunk.memory_bytes() + self.undecided.memory_bytes()
    }

    fn of_mut(&mut self, kind: RecordKind) -> &mut KindChunk {
        match self.missing {
            MissingField::MissingSoFar(_) => self.undecided.of_mut(kind),
            MissingField::None | MissingField::Found => self.chunk.of_mut(kind),
        }
    }

    /// Whether a request was counted.
    fn has_requests(&self) -> bool {
        self.chunk.has_requests() || self.undecided.has_requests()
    }
}

impl RecordCounter<'_> {
    /// Counts the records of the only input. Records that were counted before an error stay
    /// counted.
    pub(super) fn count_alone(&self, input: &Input) -> InputCount<()> {
        let mut first = 0;
        self.count_texts(input, |text, result| {
            let (parts, counted) = self.count_text(input, text, &Parts::Many { first }, result);
            first += parts;
            counted
        })
    }

    /// Counts the records of one of several inputs, which are merged in the order of `index`.
    pub(super) fn count(&self, index: usize, input: &Input) -> InputCount<()> {
        let part = self.merge.part(index as u64);
        let counts = Mutex::new(PartCounts::new(part));
        let result = self.count_texts(input, |text, result| {
            self.count_text(input, text, &Parts::One(&counts), result).1
        });
        counts.into_inner().unwrap_or_else(PoisonError::into_inner).put();
        result
    }

    fn count_texts(
        &self,
        input: &Input,
        mut count: impl FnMut(&mut Text<'_>, &mut InputCount<()>) -> Result<(), ScanError>,
    ) -> InputCount<()> {
        let mut result = InputCount::default();
        let complaints = for_each_text(input, |text| count(text, &mut result));
        // Nothing is written, so only reading can fail; those errors are in the list.
        result.complaints = complaints.unwrap_or_default();
        result
    }

    /// Counts the records of a text. Also returns the number of its parts.
    fn count_text(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        parts: &Parts<'_, '_>,
        result: &mut InputCount<()>,
    ) -> (u64, Result<(), ScanError>) {
        let name = text.name().to_owned();
        let scan = TextScan {
            threads: self.threads_per_text,
            is_divisible: true,
            reads_records: true,
            format: self.format,
            has_fields: &|format| self.is_requested(format) && self.check_fields(format).is_ok(),
        };
        let mut sink = io::sink();
        let scanned = scan.run(input, text, &mut OrderedOutput::direct(&mut sink), |part, _| {
            Ok(match parts {
                Parts::Many { first } => {
                    let number = first + part.index() as u64;
                    let mut counts = PartCounts::new(self.merge.part(number));
                    let counted = self.count_part(part, &name, &mut counts);
                    counts.put();
                    counted
                }
                Parts::One(counts) => {
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    self.count_part(part, &name, &mut counts)
                }
            })
        });
        let scanned = match scanned {
            Ok(scanned) => scanned,
            Err(error) => return (0, Err(ScanError::Output(error))),
        };
        let parts = scanned.parts.len() as u64;
        let unparsed = UnparsedLines::of_records(&name, &scanned);
        let counted: Result<(), ScanError> = scanned.parts.into_iter().collect();
        // A text without the fields has no count, not even 0.
        let was_read = !matches!(counted, Err(ScanError::Field(_)));
        if was_read || !scanned.is_format_known {
            result.unparsed.extend(unparsed);
        }
        result.was_read |= was_read;
        (parts, counted)
    }

    fn count_part(
        &self,
        part: &mut TextPart<impl Read>,
        name: &str,
        counts: &mut PartCounts<'_>,
    ) -> Result<(), ScanError> {
        let counted = self.count_lines(part, name, counts);
        match (counted, std::mem::replace(&mut counts.missing, MissingField::None)) {
            (Ok(()), MissingField::MissingSoFar(error)) => {
                counts.undecided = KindChunks::default();
                Err(ScanError::Field(error))
            }
            (counted, _) => {
                counts.put_undecided();
                counted
            }
        }
    }

    fn count_lines(
        &self,
        part: &mut TextPart<impl Read>,
        name: &str,
        counts: &mut PartCounts<'_>,
    ) -> Result<(), ScanError> {
        let mut binding = FormatBinding::new();
        while let Some((block, records)) = part.next_records().map_err(ScanError::Input)? {
            for line in Lines::new(block).filter(|line| !line.bytes.is_empty()) {
                self.bind_next(&mut binding, records, name, counts)?;
                let unbound = records.read(line.bytes, |found| {
                    let (format, record) = found?;
                    if let Some(key) = binding.value_of(format) {
                        key.count(record, counts.of_mut(key.kind));
                    }
                    (!binding.is_bound(format)).then(|| format.clone())
                });
                if let Some(format) = unbound {
                    let bind = |format: &Format| self.bind(format, false, name, counts);
                    binding.bind_companion(&format, bind);
                    records.read(line.bytes, |found| {
                        let (Some(key), Some((_, record))) = (binding.value_of(&format), found)
                        else {
                            return;
                        };
                        key.count(record, counts.of_mut(key.kind));
                    });
                }
            }
            // A list of fields may be the last line.
            self.bind_next(&mut binding, records, name, counts)?;
            if counts.memory_bytes() > self.chunk_bytes_max {
                counts.put();
            }
        }
        Ok(())
    }

    /// Resolves the fields in the format of the next line, if the format has changed. A format that
    /// is not known has no fields that could be missing.
    fn bind_next<'a>(
        &'a self,
        binding: &mut FormatBinding<RecordKey<'a>>,
        records: &RecordReader,
        name: &str,
        counts: &mut PartCounts<'_>,
    ) -> Result<(), ScanError> {
        let has_fields =
            |format: &Arc<Format>| self.is_requested(format) && self.check_fields(format).is_ok();
        let bound = binding.update(records, |format, is_only| {
            if !records.is_format_known() {
                return Ok(self.key(format));
            }
            let is_only = is_only && !records.companions().iter().any(has_fields);
            self.bind(format, is_only, name, counts)
        });
        bound.map_err(ScanError::Field)
    }

    /// Resolves the fields in a format. The error is a sentence. Records of another kind than the
    /// requested one may lack fields; the counts of their kind note that. If a log has several
    /// formats, a field that one lacks may occur in another.
    fn bind(
        &self,
        format: &Format,
        is_only_format: bool,
        name: &str,
        counts: &mut PartCounts<'_>,
    ) -> Result<RecordKey<'_>, String> {
        let kind = format.kind();
        let not_counted = RecordKey {
            kind,
            fields: Vec::new(),
            zone: None,
            predicate: None,
            tracks_period: false,
        };
        // Requests take precedence: once there is a request, records of other kinds are left out.
        let is_left_out = match self.kind {
            Some(requested) => kind != requested,
            None => kind != RecordKind::Request && counts.has_requests(),
        };
        if is_left_out {
            return Ok(not_counted);
        }
        let error = match self.check_fields(format) {
            Ok(()) => {
                // Records of another kind do not decide whether those of the requested kind have
                // the fields.
                if self.is_requested(format) {
                    counts.missing = MissingField::Found;
                }
                return Ok(self.key(format));
            }
            Err(error) => error,
        };
        if !self.is_requested(format) {
            counts.chunk.of_mut(kind).error = Some(format!("{name}: {error}"));
            return Ok(not_counted);
        }
        if is_only_format {
            return Err(error);
        }
        if matches!(counts.missing, MissingField::None) {
            counts.missing = MissingField::MissingSoFar(error);
        }
        Ok(self.key(format))
    }

    /// Whether the records of a format are of the requested kind; requests if none is named.
    fn is_requested(&self, format: &Format) -> bool {
        format.kind() == self.kind.unwrap_or_default()
    }

    /// Checks that a format has the fields. The error is a sentence.
    fn check_fields(&self, format: &Format) -> Result<(), String> {
        for name in self.by {
            check_field("--by", name, format, self.logs)?;
        }
        self.conditions.check_fields(format, self.logs)
    }

    /// Resolves the fields and conditions in a format, which may lack some of them.
    fn key(&self, format: &Format) -> RecordKey<'_> {
        RecordKey {
            kind: format.kind(),
            fields: self.by.iter().map(|name| format.accessor(name).ok()).collect(),
            zone: self.zone,
            predicate: Some(self.conditions.predicate(format)),
            tracks_period: self.tracks_period,
        }
    }
}

impl RecordKey<'_> {
    fn count(&self, record: &Record<'_>, kind: &mut KindChunk) {
        kind.records += 1;
        if self.tracks_period
            && let Some(time) = record.time
        {
            kind.period.add(time);
        }
        if self.predicate.as_ref().is_some_and(|predicate| predicate.accepts(record)) {
            let value = |index| {
                let field: Option<FieldAccessor> = self.fields.get(index).copied().flatten();
                let value = field.and_then(|field| value_in(self.zone, field, record));
                value.map_or(Cow::Borrowed(ABSENT_KEY), key_of)
            };
            kind.tally.add(&value(0), &value(1));
        }
    }
}
