//! Counts records by the values of their fields.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::{FieldAccessor, Format, Record, RecordKind, RecordPredicate, Zone};
use weir_ingest::{
    BlockStart, FormatChoice, FormatMap, FoundRecord, Input, LineSink, LogLine, OrderedMerge, Part,
    Records, SourceProgress, VisitedBlock,
};
use weir_view::value_in;

use super::InputCount;
use super::combinations::push_value;
use super::kinds::{KindChunk, KindChunks, KindTallies};
use crate::scan::{
    Conditions, FieldCheck, LogFields, MissingField, UnparsedLines, check_field, read_lines,
};
use crate::sources::Complaint;

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
    /// The names of the fields, if records are counted by value.
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
    /// The most bytes that the counts of one text take while it is unknown whether it has the
    /// fields.
    pub(super) undecided_bytes_max: usize,
    /// The number of threads that one input may have.
    pub(super) threads: usize,
}

/// Counts the records of blocks on one thread.
struct CountSink<'a> {
    counter: &'a RecordCounter<'a>,
    formats: FormatMap<BoundCount<'a>>,
}

/// The fields and conditions, resolved for the records of one format.
struct BoundCount<'a> {
    kind: RecordKind,
    /// `None` for a field that the format lacks.
    fields: Vec<Option<FieldAccessor>>,
    zone: Option<&'a Zone>,
    /// `None` if records of the kind are not counted by value.
    predicate: Option<RecordPredicate<'a>>,
    /// See [`RecordCounter::tracks_period`].
    tracks_period: bool,
    /// Whether records of the format are of the requested kind.
    is_requested: bool,
    /// Whether the format has the fields.
    has_fields: Result<(), MissingField>,
}

/// The counts of a block.
#[derive(Default)]
struct BlockCounts {
    /// The source of the block.
    source: Option<Arc<SourceProgress>>,
    kinds: KindChunks,
    fields: FieldCheck,
    /// Whether no record can be counted, because the only format of the text lacks a field.
    is_hopeless: bool,
}

/// A text of which not all counts are merged.
#[derive(Default)]
struct TextCounts {
    fields: FieldCheck,
    /// The counts so far, while it is unknown whether any of the records has the fields.
    undecided: Vec<KindChunks>,
}

impl TextCounts {
    /// Adds the counts of the next block.
    fn add(
        &mut self,
        block: BlockCounts,
        part: &Part<'_, KindTallies, KindChunks>,
        bytes_max: usize,
    ) {
        self.fields.merge(block.fields);
        self.undecided.push(block.kinds);
        let bytes: usize = self.undecided.iter().map(KindChunks::memory_bytes).sum();
        if self.fields.failure().is_none() || bytes > bytes_max {
            for kinds in self.undecided.drain(..) {
                let bytes = kinds.memory_bytes();
                part.put(kinds, bytes);
            }
        }
    }
}

impl RecordCounter<'_> {
    /// Counts the records of an input. Inputs are merged in the order of `index`. Records that were
    /// counted before an error stay counted.
    pub(super) fn count(&self, index: usize, input: &Input) -> InputCount<()> {
        let part = self.merge.part(index as u64);
        let mut texts: Vec<TextCounts> = Vec::new();
        let consume =
            |VisitedBlock { source, output: counts, .. }: VisitedBlock<'_, BlockCounts>| {
                let number = source.number() as usize;
                texts.resize_with(texts.len().max(number + 1), TextCounts::default);
                if counts.is_hopeless {
                    source.satisfy();
                }
                texts[number].add(counts, &part, self.undecided_bytes_max);
                ControlFlow::Continue(())
            };
        let sink = || CountSink { counter: self, formats: FormatMap::default() };
        let records = Records::new(self.threads);
        let read = read_lines(&records, input, self.format, sink, consume);
        let mut result = InputCount::default();
        for text in &read.texts {
            let counts = texts.get(text.number as usize);
            let Some(missing) = counts.and_then(|counts| counts.fields.failure()) else {
                result.was_read = true;
                result.unparsed.extend(UnparsedLines::of_source(text));
                continue;
            };
            // A text without the fields has no count, not even 0.
            let (name, sentence) = (text.name.clone(), missing.to_string());
            result.complaints.push(Complaint { name, sentence });
        }
        result.complaints.extend(read.complaints);
        result
    }

    /// Whether the records of a format are of the requested kind; requests if none is named.
    fn is_requested(&self, format: &Format) -> bool {
        format.kind() == self.kind.unwrap_or_default()
    }

    /// Checks that a format has the fields.
    fn check_fields(&self, format: &Format) -> Result<(), MissingField> {
        for name in self.by {
            check_field("--by", name, format, self.logs)?;
        }
        self.conditions.check_fields(format, self.logs)
    }

    /// Resolves the fields and conditions in a format, which may lack some of them. Records of
    /// another kind are counted by value only if the arguments name no kind, and only if they have
    /// the fields.
    fn bind(&self, format: &Format) -> BoundCount<'_> {
        let (is_requested, has_fields) = (self.is_requested(format), self.check_fields(format));
        let is_counted = is_requested || (self.kind.is_none() && has_fields.is_ok());
        BoundCount {
            kind: format.kind(),
            fields: self.by.iter().map(|name| format.accessor(name).ok()).collect(),
            zone: self.zone,
            predicate: is_counted.then(|| self.conditions.predicate(format)),
            tracks_period: self.tracks_period && is_counted,
            is_requested,
            has_fields,
        }
    }
}

impl LineSink for CountSink<'_> {
    type Output = BlockCounts;

    fn output(&mut self) -> BlockCounts {
        BlockCounts::default()
    }

    fn begin(&mut self, block: &BlockStart<'_>, counts: &mut BlockCounts) {
        counts.source = Some(block.source.clone());
        let format = block.format;
        // A log that lists its fields has none before the first list. A format that is not known
        // has none that could be missing.
        let has_list = !format.fields().is_empty() || !format.extra_fields().is_empty();
        if has_list && block.is_format_known {
            let bound = self.formats.get(format, || self.counter.bind(format));
            counts.check(bound, self.counter);
            counts.is_hopeless = block.is_only_format && counts.fields.failure().is_some();
        }
    }

    fn wants(&mut self, _: &LogLine<'_>, counts: &mut BlockCounts) -> bool {
        !counts.is_hopeless
    }

    fn take(&mut self, _: &LogLine<'_>, found: Option<FoundRecord<'_>>, counts: &mut BlockCounts) {
        let Some(FoundRecord { format, record }) = found else { return };
        let bound = self.formats.get(format, || self.counter.bind(format));
        counts.check(bound, self.counter);
        bound.count(record, counts.kinds.of_mut(bound.kind));
    }
}

impl BlockCounts {
    /// Notes whether a format has the fields. Only records of the requested kind decide whether a
    /// text has them.
    fn check(&mut self, bound: &BoundCount<'_>, counter: &RecordCounter<'_>) {
        if counter.kind.is_some_and(|kind| kind != bound.kind) {
            return;
        }
        match &bound.has_fields {
            checked if bound.is_requested => self.fields.add(checked.as_ref().copied()),
            Ok(()) => {}
            Err(sentence) => {
                let name = self.source.as_ref().map_or("", |source| source.name());
                let error = || format!("{name}: {sentence}");
                self.kinds.of_mut(bound.kind).error.get_or_insert_with(error);
            }
        }
    }
}

impl BoundCount<'_> {
    fn count(&self, record: &Record<'_>, kind: &mut KindChunk) {
        kind.records += 1;
        if self.tracks_period
            && let Some(time) = record.time
        {
            kind.period.add(time);
        }
        if self.predicate.as_ref().is_some_and(|predicate| predicate.accepts(record)) {
            let value = |field: Option<FieldAccessor>| {
                let value = field.and_then(|field| value_in(self.zone, field, record));
                value.map_or(Cow::Borrowed(ABSENT_KEY), key_of)
            };
            match self.fields[..] {
                [] => kind.tally.add(ABSENT_KEY, ABSENT_KEY),
                [field] => kind.tally.add(&value(field), ABSENT_KEY),
                [row, column] => kind.tally.add(&value(row), &value(column)),
                ref fields => {
                    let mut key = Vec::new();
                    fields.iter().for_each(|field| push_value(&mut key, &value(*field)));
                    kind.tally.add(&key, ABSENT_KEY);
                }
            }
        }
    }
}
