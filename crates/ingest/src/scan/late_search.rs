//! The search for formats that begin to appear after the first lines of a text.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use weir_core::{CompanionSearch, Format, LineDetector, LineOutcome, LogReader};

use super::text_formats::TextFormats;
use crate::clock::{Clock, SystemClock};

/// Searches for the formats of lines that no format of a text matches, by the rule of
/// [`CompanionSearch`].
#[derive(Debug)]
pub(super) struct LateSearch {
    detector: LineDetector,
    /// The search so far. In a part whose turn has not come, this began as a copy made when the
    /// part began.
    search: CompanionSearch,
    clock: SystemClock,
    /// The part that is being read; `None` for a whole text.
    part: Option<Part>,
}

/// A part of a text that is read in parallel with the parts before it.
///
/// A part examines its lines independently until one of them could add a format. Then it waits
/// until all parts before it are read, and continues with the search in the state that they left.
#[derive(Debug)]
struct Part {
    index: usize,
    order: Arc<PartOrder>,
    has_turn: bool,
    /// The number of lines that were examined before its turn and match no known format.
    unmatched_lines: u64,
}

/// The order of the parts of a text.
#[derive(Debug, Default)]
pub(super) struct PartOrder {
    state: Mutex<OrderState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OrderState {
    search: CompanionSearch,
    /// The first part that is not read yet.
    turn: usize,
    /// The same numbers of the parts that were read before their turn.
    finished: BTreeMap<usize, u64>,
}

impl LateSearch {
    /// A search in a whole text that was last written `written_s` seconds after 1970.
    pub(super) fn new(written_s: Option<i64>) -> Self {
        Self::of(CompanionSearch::new(written_s), None)
    }

    /// A search in part number `index`.
    pub(super) fn of_part(order: &Arc<PartOrder>, index: usize) -> Self {
        let search = order.lock().search.clone();
        let part = Part { index, order: order.clone(), has_turn: false, unmatched_lines: 0 };
        Self::of(search, Some(part))
    }

    fn of(search: CompanionSearch, part: Option<Part>) -> Self {
        Self { detector: LineDetector::default(), search, clock: SystemClock::default(), part }
    }

    /// Adds the companions that have joined so far to a reader of lines in the formats `own` and
    /// `first`.
    pub(super) fn add_joined(&self, log: &mut LogReader, own: &Format, first: &[Arc<Format>]) {
        let joined = self.search.companions(own, first).into_iter().skip(first.len());
        joined.for_each(|format| log.add_companion(format));
    }

    /// Whether a further format may join those of a text.
    pub(super) fn may_join(&self, formats: &TextFormats) -> bool {
        self.search.lines_left(&formats.own, &formats.companions) > 0
    }

    /// Searches for the format of a line that `log` does not match, a reader of lines in its own
    /// format and `first`. Returns whether `log` matches the line now.
    pub(super) fn find_companion(
        &mut self,
        line: &[u8],
        log: &mut LogReader,
        first: &[Arc<Format>],
    ) -> bool {
        let own = log.parser().format().clone();
        let lines_left = self.search.lines_left(&own, first);
        let mut found = (lines_left > 0).then(|| self.detector.detect(line)).flatten();
        if let Some(part) = self.part.as_mut().filter(|part| !part.has_turn) {
            if lines_left > 0 && found.is_none() {
                part.unmatched_lines += 1;
                self.search.count_in_vain(1);
                return false;
            }
            if lines_left == 0 && part.unmatched_lines == 0 {
                // The search had ended before the part began.
                return false;
            }
            let tried = self.search.companions(&own, first).len();
            self.search = part.take_turn();
            let joined = self.search.companions(&own, first).into_iter().skip(tried);
            joined.for_each(|format| log.add_companion(format));
            if log.read(line, |_, outcome| matches!(outcome, LineOutcome::Record(_))) {
                return true;
            }
            found = found.or_else(|| self.detector.detect(line));
        }
        if self.search.lines_left(&own, first) == 0 {
            return false;
        }
        let joined = self.search.examine(&own, first, found.as_ref(), self.clock.unix_s());
        let is_joined = joined.is_some();
        joined.into_iter().for_each(|format| log.add_companion(format));
        is_joined
    }
}

impl Drop for LateSearch {
    /// Passes the turn to the next part, even if this one was abandoned.
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            part.finish(&self.search);
        }
    }
}

impl Part {
    /// Waits until all parts before this one are read. Returns the search in the state that they
    /// left, with the lines of this part added.
    fn take_turn(&mut self) -> CompanionSearch {
        let mut state = self.order.lock();
        while state.turn < self.index {
            state = self.order.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.has_turn = true;
        let mut search = state.search.clone();
        search.count_in_vain(self.unmatched_lines);
        search
    }

    fn finish(&self, search: &CompanionSearch) {
        let mut state = self.order.lock();
        if self.has_turn {
            state.search = search.clone();
            state.turn = self.index + 1;
        } else {
            state.finished.insert(self.index, self.unmatched_lines);
        }
        let mut turn = state.turn;
        while let Some(lines) = state.finished.remove(&turn) {
            state.search.count_in_vain(lines);
            turn += 1;
        }
        state.turn = turn;
        drop(state);
        self.order.changed.notify_all();
    }
}

impl PartOrder {
    /// The order of the parts of a text that was last written `written_s` seconds after 1970.
    pub(super) fn new(written_s: Option<i64>) -> Self {
        let search = CompanionSearch::new(written_s);
        Self {
            state: Mutex::new(OrderState { search, ..OrderState::default() }),
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, OrderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use weir_core::format_by_name;
    use weir_testkit::lines::{caddy, combined, noise};

    use super::{LateSearch, PartOrder};
    use crate::scan::record_reader::RecordReader;
    use crate::scan::run_in_order;
    use crate::scan::text_formats::TextFormats;

    fn combined_alone() -> TextFormats {
        let own = Arc::new(format_by_name("COMBINED").expect("a known format"));
        TextFormats { own, companions: Arc::default() }
    }

    /// The formats of lines, by name.
    fn read(mut reader: RecordReader, lines: &[String]) -> Vec<Option<String>> {
        let name = |line: &String| {
            reader.read(line.trim_end().as_bytes(), |found| {
                found.map(|(format, _)| format.name().to_owned())
            })
        };
        lines.iter().map(name).collect()
    }

    fn line(kind: usize) -> String {
        let common = "192.0.2.8 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 6\n";
        match kind {
            0..=5 => combined(kind),
            6 => caddy(0),
            7 => noise(0),
            8 => common.to_owned(),
            _ => format!("a.test:80 {common}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parts_on_all_threads_are_read_as_the_whole(
            kinds in vec(0..10_usize, 0..400),
            part_lines in 1_usize..60,
            threads in 1_usize..5,
        ) {
            let lines: Vec<String> = kinds.into_iter().map(line).collect();
            let formats = combined_alone();
            let whole = RecordReader::of_part(&formats, Some(LateSearch::new(None)));
            let expected = read(whole, &lines);
            let order = Arc::new(PartOrder::new(None));
            let parts: Vec<&[String]> = lines.chunks(part_lines).collect();
            let mut sink = std::io::sink();
            let names = run_in_order(threads, parts.len(), &mut sink, |index, _| {
                let late = Some(LateSearch::of_part(&order, index));
                Ok(read(RecordReader::of_part(&formats, late), parts[index]))
            });
            prop_assert_eq!(names.expect("nothing is written").concat(), expected);
        }
    }

    #[test]
    fn an_abandoned_part_lets_the_next_one_begin() {
        let order = Arc::new(PartOrder::new(None));
        drop(LateSearch::of_part(&order, 1));
        drop(LateSearch::of_part(&order, 0));
        let late = LateSearch::of_part(&order, 2);
        let reader = RecordReader::of_part(&combined_alone(), Some(late));
        assert_eq!(read(reader, &[line(6)]), [Some("CADDY".to_owned())]);
    }
}
