//! Observes lines that are read again, for rules that look at whole lines.

use weir_core::RecordPredicate;
use weir_ingest::{FormatMap, FoundRecord, LineSink, LogLine, LogLines};
use weir_query::SelectedLines;
use weir_rules::{Events, Line, Observer, Rule};

/// Observes lines on one thread. What becomes of a block are the events of each rule, with lines
/// that are numbered from 0 in the block.
pub(crate) struct EventSink<'a> {
    observers: Vec<Box<dyn Observer + 'a>>,
    lines: &'a SelectedLines,
    predicates: FormatMap<RecordPredicate<'a>>,
}

impl<'a> EventSink<'a> {
    pub(crate) fn new(rules: &[&'a dyn Rule], lines: &'a SelectedLines) -> Self {
        let observers = rules.iter().filter_map(|rule| rule.observe_lines()).collect();
        Self { observers, lines, predicates: FormatMap::default() }
    }
}

impl LineSink for EventSink<'_> {
    type Output = Vec<Events>;

    fn output(&mut self) -> Self::Output {
        vec![Events::default(); self.observers.len()]
    }

    fn take(
        &mut self,
        line: &LogLine<'_>,
        found: Option<FoundRecord<'_>>,
        output: &mut Self::Output,
    ) {
        if let SelectedLines::Of { filter, columns } = self.lines {
            // As in a scan with conditions, lines that are no records are not selected.
            let Some(FoundRecord { format, record }) = found else { return };
            let new = || RecordPredicate::new(filter, columns, format);
            if !self.predicates.get(format, new).accepts(record) {
                return;
            }
        }
        let record = found.map(|found| found.record);
        let line = Line { number: line.number, bytes: line.bytes, record };
        for (observer, events) in self.observers.iter_mut().zip(output) {
            observer.observe(&line, events);
        }
    }

    fn reads_records(&self) -> bool {
        matches!(self.lines, SelectedLines::Of { .. })
    }

    fn take_lines(&mut self, lines: &LogLines<'_>, output: &mut Self::Output) -> u64 {
        let mut count = 0;
        for (observer, events) in self.observers.iter_mut().zip(output) {
            count = observer.observe_block(lines.bytes, lines.first, events);
        }
        count
    }
}
