//! Observes the lines of the inputs, and puts the events in the order of the log.

use std::ops::ControlFlow;

use weir_core::{Format, RecordPredicate};
use weir_ingest::{
    BlockStart, FormatChoice, FormatMap, FoundRecord, Input, LineSink, LogLine, LogLines,
    OrderedMerge, Records, VisitedBlock,
};
use weir_rules::{Line, Observer, Rule};

use super::replays::{BlockEvents, Replays};
use crate::scan::{Conditions, ReadInput, read_lines};

/// The merge of the events in the order of the log.
pub(super) type Merge<'r> = OrderedMerge<Replays<'r>, BlockEvents>;

/// Observes the lines of inputs.
pub(super) struct RuleScan<'a, 'r> {
    pub(super) rules: &'r [Box<dyn Rule>],
    pub(super) conditions: &'a Conditions,
    pub(super) format: &'a FormatChoice,
    pub(super) merge: &'a Merge<'r>,
    /// The number of threads of each input.
    pub(super) threads: usize,
}

/// Observers by rule; `None` if the rule does not observe these lines.
type Observers<'r> = Vec<Option<Box<dyn Observer + 'r>>>;

/// Observes lines on one thread.
struct RuleSink<'a, 'r> {
    rules: &'r [Box<dyn Rule>],
    conditions: &'a Conditions,
    /// The observers of rules that look at all lines, whether or not they are records.
    of_lines: Observers<'r>,
    formats: FormatMap<BoundRules<'a, 'r>>,
    /// The number of blocks so far.
    blocks: u64,
}

/// The rules, resolved for the records of one format.
struct BoundRules<'a, 'r> {
    predicate: RecordPredicate<'a>,
    observers: Observers<'r>,
    /// By rule: why records cannot be observed, if they cannot.
    missing: Vec<Option<String>>,
    is_bound: Vec<bool>,
    /// By rule: the parts of it that records cannot decide.
    left_out: Vec<Vec<String>>,
    /// The number of the last block that these were noted in.
    noted_in: u64,
}

impl RuleScan<'_, '_> {
    /// Observes the lines of an input. Inputs are merged in the order of `index`.
    pub(super) fn read(&self, index: usize, input: &Input) -> ReadInput {
        let reads_records = self.sink().reads_records();
        let format = if reads_records { self.format } else { &FormatChoice::Unread };
        let merged = self.merge.part(index as u64);
        let mut last_source = None;
        let consume = |block: VisitedBlock<'_, BlockEvents>| {
            let VisitedBlock { source, lines_before, output: mut events, .. } = block;
            if last_source.replace(source.number()) != Some(source.number()) {
                events.begins = Some(source.name().to_owned());
            }
            events.lines_before = lines_before;
            let bytes = events.memory_bytes();
            merged.put(events, bytes);
            ControlFlow::Continue(())
        };
        read_lines(&Records::new(self.threads), input, format, || self.sink(), consume)
    }

    fn sink(&self) -> RuleSink<'_, '_> {
        RuleSink {
            rules: self.rules,
            conditions: self.conditions,
            of_lines: self.rules.iter().map(|rule| rule.observe_lines()).collect(),
            formats: FormatMap::default(),
            blocks: 0,
        }
    }
}

impl LineSink for RuleSink<'_, '_> {
    type Output = BlockEvents;

    fn output(&mut self) -> BlockEvents {
        self.blocks += 1;
        BlockEvents::new(self.rules.len())
    }

    fn begin(&mut self, block: &BlockStart<'_>, events: &mut BlockEvents) {
        let format = block.format;
        // A log that lists its fields has none before the first list.
        if !format.fields().is_empty() || !format.extra_fields().is_empty() {
            self.formats
                .get(format, || BoundRules::new(self.rules, self.conditions, format))
                .note(self.blocks, events);
        }
    }

    fn take(
        &mut self,
        line: &LogLine<'_>,
        found: Option<FoundRecord<'_>>,
        events: &mut BlockEvents,
    ) {
        let LogLine { number, bytes, .. } = *line;
        let Some(FoundRecord { format, record }) = found else {
            if self.conditions.is_empty() {
                observe(&mut self.of_lines, &Line { number, bytes, record: None }, events);
            }
            return;
        };
        let new = || BoundRules::new(self.rules, self.conditions, format);
        let bound = self.formats.get(format, new);
        bound.note(self.blocks, events);
        if bound.predicate.accepts(record) {
            events.log.records[format.kind() as usize] += 1;
            let line = Line { number, bytes, record: Some(record) };
            observe(&mut bound.observers, &line, events);
            observe(&mut self.of_lines, &line, events);
        }
    }

    /// Without conditions, rules that look at all lines need no records.
    fn reads_records(&self) -> bool {
        !self.conditions.is_empty() || self.of_lines.iter().any(Option::is_none)
    }

    fn take_lines(&mut self, lines: &LogLines<'_>, events: &mut BlockEvents) -> u64 {
        events.is_bound.fill(true);
        let mut count = 0;
        for (observer, events) in self.of_lines.iter_mut().flatten().zip(&mut events.events) {
            count = observer.observe_block(lines.bytes, lines.first, events);
        }
        count
    }
}

impl<'a, 'r> BoundRules<'a, 'r> {
    fn new(rules: &'r [Box<dyn Rule>], conditions: &'a Conditions, format: &Format) -> Self {
        let mut bound = Self {
            predicate: conditions.predicate(format),
            observers: Vec::new(),
            missing: Vec::new(),
            is_bound: Vec::new(),
            left_out: Vec::new(),
            noted_in: 0,
        };
        for rule in rules {
            let reads_lines = rule.observe_lines().is_some();
            let observer = match reads_lines || !rule.sees(format.kind()) {
                true => None,
                false => Some(rule.bind(&format.record_fields())),
            };
            let (observer, missing) = match observer {
                Some(Ok(observer)) => (Some(observer), None),
                Some(Err(error)) => (None, Some(format!("{}: {error}", rule.name()))),
                None => (None, None),
            };
            bound.is_bound.push(reads_lines || observer.is_some());
            bound.left_out.push(match &observer {
                Some(_) => rule.left_out_of(&format.record_fields()),
                None => Vec::new(),
            });
            bound.observers.push(observer);
            bound.missing.push(missing);
        }
        bound
    }

    /// Notes in the events of block number `block` which rules observe records of the format.
    fn note(&mut self, block: u64, events: &mut BlockEvents) {
        if std::mem::replace(&mut self.noted_in, block) == block {
            return;
        }
        for (noted, is_bound) in events.is_bound.iter_mut().zip(&self.is_bound) {
            *noted |= is_bound;
        }
        for (noted, missing) in events.missing.iter_mut().zip(&self.missing) {
            *noted = noted.take().or_else(|| missing.clone());
        }
        for (noted, left_out) in events.left_out.iter_mut().zip(&self.left_out) {
            noted.extend_from_slice(left_out);
        }
    }
}

/// Passes a line to each observer.
fn observe(observers: &mut Observers<'_>, line: &Line<'_>, events: &mut BlockEvents) {
    for (observer, events) in observers.iter_mut().zip(&mut events.events) {
        if let Some(observer) = observer {
            observer.observe(line, events);
        }
    }
}
