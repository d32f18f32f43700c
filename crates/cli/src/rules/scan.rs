//! Observes the lines of the inputs, and puts the events in the order of the log.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use weir_core::{Format, RecordPredicate};
use weir_ingest::{
    FormatBinding, FormatChoice, Input, OrderedMerge, OrderedOutput, Part, Text, TextPart, TextScan,
};
use weir_rules::{Line, Observer, Rule};

use super::replays::{Chunk, Replays};
use crate::display::separated;
use crate::scan::{Conditions, LogFields, ScanError, UnparsedLines, for_each_text, whole_lines};
use crate::sources::Complaint;

/// The merge of the events in the order of the log.
pub(super) type Merge<'r> = OrderedMerge<Replays<'r>, Chunk>;

/// The approximate size of the chunks of events.
const CHUNK_BYTES: usize = 4 << 20;

/// Observes the lines of inputs.
pub(super) struct RuleScan<'a, 'r> {
    pub(super) rules: &'r [Box<dyn Rule>],
    pub(super) conditions: &'a Conditions,
    pub(super) logs: &'a LogFields,
    pub(super) format: &'a FormatChoice,
    pub(super) merge: &'a Merge<'r>,
    /// The number of threads that one text may have.
    pub(super) threads_per_text: usize,
}

/// The result of scanning an input.
#[derive(Debug, Default)]
pub(super) struct ScannedInput {
    pub(super) was_read: bool,
    pub(super) unparsed: Vec<UnparsedLines>,
    pub(super) complaints: Vec<Complaint>,
}

/// The observers of all lines, by rule; `None` if the rule observes records.
type LineObservers<'r> = Vec<Option<Box<dyn Observer + 'r>>>;

/// The rules, resolved for the records of one format.
struct BoundRules<'a, 'r> {
    predicate: RecordPredicate<'a>,
    /// By rule; `None` if the rule does not observe records.
    observers: Vec<Option<Box<dyn Observer + 'r>>>,
}

/// How a text maps to the parts of the merge.
enum Parts<'p, 'a, 'r> {
    /// Each part of the text is a part of the merge. They are numbered from `first` on.
    Many { first: u64 },
    /// The whole input is one part of the merge, which its texts lock in turn.
    One(&'p Mutex<Part<'a, Replays<'r>, Chunk>>),
}

impl<'a, 'r> RuleScan<'a, 'r> {
    /// Observes the only input.
    pub(super) fn scan_alone(&self, input: &Input) -> ScannedInput {
        let mut first = 0;
        self.scan_texts(input, |text, result| {
            let (parts, scanned) = self.scan_text(input, text, &Parts::Many { first }, result);
            first += parts;
            scanned
        })
    }

    /// Observes one of several inputs, which are merged in the order of `index`.
    pub(super) fn scan(&self, index: usize, input: &Input) -> ScannedInput {
        let part = Mutex::new(self.merge.part(index as u64));
        self.scan_texts(input, |text, result| {
            self.scan_text(input, text, &Parts::One(&part), result).1
        })
    }

    /// Whether lines have to be read as records.
    fn reads_records(&self) -> bool {
        !self.conditions.is_empty() || self.line_observers().iter().any(Option::is_none)
    }

    fn line_observers(&self) -> LineObservers<'r> {
        self.rules.iter().map(|rule| rule.observe_lines()).collect()
    }

    fn scan_texts(
        &self,
        input: &Input,
        mut scan: impl FnMut(&mut Text<'_>, &mut ScannedInput) -> Result<(), ScanError>,
    ) -> ScannedInput {
        let mut result = ScannedInput::default();
        let complaints = for_each_text(input, |text| scan(text, &mut result));
        // Nothing is written, so only reading can fail; those errors are in the list.
        result.complaints = complaints.unwrap_or_default();
        result
    }

    /// Observes a text. Also returns the number of its parts.
    fn scan_text(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        parts: &Parts<'_, '_, 'r>,
        result: &mut ScannedInput,
    ) -> (u64, Result<(), ScanError>) {
        let name = text.name().to_owned();
        let scan = TextScan {
            threads: self.threads_per_text,
            is_divisible: true,
            reads_records: self.reads_records(),
            format: self.format,
            has_fields: &|format| self.conditions.check_fields(format, self.logs).is_ok(),
        };
        let mut sink = io::sink();
        let scanned = scan.run(input, text, &mut OrderedOutput::direct(&mut sink), |part, _| {
            let begins = (part.index() == 0).then(|| name.clone());
            Ok(match parts {
                Parts::Many { first } => {
                    let number = first + part.index() as u64;
                    self.scan_part(part, begins, &self.merge.part(number))
                }
                Parts::One(merged) => {
                    let merged = merged.lock().unwrap_or_else(PoisonError::into_inner);
                    self.scan_part(part, begins, &merged)
                }
            })
        });
        let scanned = match scanned {
            Ok(scanned) => scanned,
            Err(error) => return (0, Err(ScanError::Output(error))),
        };
        if self.reads_records() {
            result.unparsed.extend(UnparsedLines::of_records(&name, &scanned));
        } else if scanned.too_long_lines > 0 {
            let lines = separated(scanned.too_long_lines);
            let sentence = format!("{lines} lines are longer than 256 MiB and were not replayed");
            result.complaints.push(Complaint { name, sentence });
        }
        result.was_read = true;
        let parts = scanned.parts.len() as u64;
        (parts, scanned.parts.into_iter().collect())
    }

    fn scan_part(
        &self,
        part: &mut TextPart<impl Read>,
        begins: Option<String>,
        merged: &Part<'_, Replays<'r>, Chunk>,
    ) -> Result<(), ScanError> {
        let mut chunk = Chunk::new(self.rules.len());
        chunk.begins = begins;
        let read = match self.reads_records() {
            true => self.scan_records(part, &mut chunk, merged),
            false => self.scan_lines(part, &mut chunk, merged),
        };
        put(&mut chunk, merged);
        read
    }

    /// Observes lines that need not be parsed.
    fn scan_lines(
        &self,
        part: &mut TextPart<impl Read>,
        chunk: &mut Chunk,
        merged: &Part<'_, Replays<'r>, Chunk>,
    ) -> Result<(), ScanError> {
        let mut observers = self.line_observers();
        while let Some(block) = part.next_block().map_err(ScanError::Input)? {
            chunk.is_bound.fill(true);
            let mut lines = 0;
            for (observer, events) in observers.iter_mut().flatten().zip(&mut chunk.events) {
                lines = observer.observe_block(block, chunk.lines, events);
            }
            chunk.lines += lines;
            if chunk.memory_bytes() > CHUNK_BYTES {
                put(chunk, merged);
            }
        }
        Ok(())
    }

    fn scan_records(
        &self,
        part: &mut TextPart<impl Read>,
        chunk: &mut Chunk,
        merged: &Part<'_, Replays<'r>, Chunk>,
    ) -> Result<(), ScanError> {
        let mut lines = self.line_observers();
        let has_conditions = !self.conditions.is_empty();
        let mut binding: FormatBinding<BoundRules<'_, '_>> = FormatBinding::new();
        let mut skipped = 0;
        while let Some((block, records)) = part.next_records().map_err(ScanError::Input)? {
            chunk.lines += records.skipped_lines() - skipped;
            skipped = records.skipped_lines();
            for line in whole_lines(block) {
                let bytes = line.strip_suffix(b"\n").unwrap_or(line);
                let number = chunk.lines;
                chunk.lines += 1;
                let bound = binding.update(records, |format, _| Ok(self.bind(format, chunk)));
                bound.map_err(ScanError::Field)?;
                let unbound = records.read(bytes, |found| {
                    let Some((format, record)) = found else {
                        if !has_conditions {
                            observe(&mut lines, &Line { number, bytes, record: None }, chunk);
                        }
                        return None;
                    };
                    if let Some(rules) = binding.value_of_mut(format) {
                        let line = Line { number, bytes, record: Some(record) };
                        rules.observe(&line, &mut lines, chunk);
                    }
                    (!binding.is_bound(format)).then(|| format.clone())
                });
                if let Some(format) = unbound {
                    let bind = |format: &Format| Ok::<_, ()>(self.bind(format, chunk));
                    binding.bind_companion(&format, bind);
                    records.read(bytes, |found| {
                        let rules = binding.value_of_mut(&format);
                        let (Some(rules), Some((_, record))) = (rules, found) else { return };
                        let line = Line { number, bytes, record: Some(record) };
                        rules.observe(&line, &mut lines, chunk);
                    });
                }
            }
            if chunk.memory_bytes() > CHUNK_BYTES {
                put(chunk, merged);
            }
        }
        Ok(())
    }

    fn bind(&self, format: &Format, chunk: &mut Chunk) -> BoundRules<'a, 'r> {
        let mut observers = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            let reads_lines = rule.observe_lines().is_some();
            chunk.is_bound[number] |= reads_lines;
            if reads_lines || !rule.sees(format.kind()) {
                observers.push(None);
                continue;
            }
            match rule.bind(&format.record_fields()) {
                Ok(observer) => {
                    chunk.is_bound[number] = true;
                    observers.push(Some(observer));
                }
                Err(error) => {
                    let message = format!("{}: {error}", rule.name());
                    chunk.missing[number].get_or_insert(message);
                    observers.push(None);
                }
            }
        }
        BoundRules { predicate: self.conditions.predicate(format), observers }
    }
}

impl BoundRules<'_, '_> {
    fn observe(&mut self, line: &Line<'_>, lines: &mut LineObservers<'_>, chunk: &mut Chunk) {
        if line.record.is_some_and(|record| self.predicate.accepts(record)) {
            observe(&mut self.observers, line, chunk);
            observe(lines, line, chunk);
        }
    }
}

/// Passes a line to each observer.
fn observe(observers: &mut [Option<Box<dyn Observer + '_>>], line: &Line<'_>, chunk: &mut Chunk) {
    for (observer, events) in observers.iter_mut().zip(&mut chunk.events) {
        if let Some(observer) = observer {
            observer.observe(line, events);
        }
    }
}

/// Adds the chunk to the merge, and replaces it by an empty one for the following lines.
fn put(chunk: &mut Chunk, merged: &Part<'_, Replays<'_>, Chunk>) {
    let rules = chunk.events.len();
    let full = std::mem::replace(chunk, Chunk::new(rules));
    let bytes = full.memory_bytes();
    merged.put(full, bytes);
}
