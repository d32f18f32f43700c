//! Eviction of the values that no segment of the data set uses any more.
//!
//! The data set keeps running during a sweep: parsers intern values and questions are answered. So
//! the work is divided into small steps, each with exclusive access for a short time, and ids keep
//! their meaning until nothing can refer to them.
//!
//! ```text
//! begin_sweep      try_start            advance, advance, ...            done
//! values not live  blocks of before     evicted, then the rest moved     ids are free
//! are not found    have arrived         out of sparse memory             for other values
//! ```

use super::generation::Generations;
use super::late_values::LateValues;
use super::live_ids::LiveIds;
use super::store::{ColumnValues, Values};

/// A sweep that waits for the blocks that were read before it began.
///
/// A sweep evicts values in three steps, so that parsers, which need the values too, never wait
/// for long:
///
/// 1. [`Values::begin_sweep`] declares which values are live. From then on readers do not find
///    the others; interning one of them again revives it. All ids keep their meaning, because
///    blocks that were read before are in flight with them.
/// 2. After the last of these blocks has arrived, [`Self::try_start`] returns the [`Sweep`], which
///    takes the dead values out of the dictionaries and then moves the rest out of nearly empty
///    parts of the memory. A segment that has left the data set may refer to evicted values from
///    now on, so [`Values::reuses`] grows.
/// 3. At its end the ids are free for other values and [`Values::reuses`] grows again: what was
///    computed from ids before is invalid.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, LiveIds, Values};
///
/// let mut values = Values::new(1 << 20);
/// let path = Field::Path.column();
/// let id = values.intern(path, b"/old");
///
/// let live = LiveIds::new(&values); // and `mark` for each segment that remains
/// let pending = values.begin_sweep(live).expect("no block is in flight");
/// let mut sweep = pending.try_start().expect("no block is in flight");
/// while sweep.advance(&mut values, 1_000) {}
/// assert_eq!(values.dictionary(path).value(id), None);
/// assert_eq!(values.intern(path, b"/new"), id);
/// ```
///
/// Nothing is lost if it is dropped: the next sweep finds the same values dead.
#[derive(Debug)]
pub struct PendingSweep {
    generations: Generations,
    /// The generation whose blocks must arrive first.
    before: u64,
}

/// A sweep in progress; see [`PendingSweep`].
///
/// It should be run to its end: until then, evicted ids are not used again.
#[derive(Debug)]
pub struct Sweep {
    step: Step,
    /// The index of the column to sweep next.
    column: usize,
    /// The next id of that column.
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Evict,
    Move,
    Done,
}

impl Values {
    /// Returns a counter that grows when ids become invalid: when a sweep begins to evict values,
    /// and when their ids become free for others. Code that keeps ids, results computed from them,
    /// or segments that have left the data set must discard them if the counter has grown.
    ///
    /// It never decreases.
    pub fn reuses(&self) -> u64 {
        self.reuses
    }

    /// Begins to evict all values that are not live. Returns `None` and does nothing if blocks that
    /// were read before the last sweep began are still in flight; try again later.
    ///
    /// Takes constant time for each column.
    pub fn begin_sweep(&mut self, live: LiveIds) -> Option<PendingSweep> {
        let before = self.generations.advance()?;
        for (column, live) in self.columns.iter_mut().zip(live.into_columns()) {
            column.dictionary.begin_sweep(live);
        }
        Some(PendingSweep { generations: self.generations.clone(), before })
    }
}

impl PendingSweep {
    /// Starts the sweep.
    ///
    /// # Errors
    /// If a block that was read before the sweep has not arrived; try again later.
    pub fn try_start(self) -> Result<Sweep, Self> {
        if self.generations.is_over(self.before) {
            Ok(Sweep { step: Step::Evict, column: 0, next: 0 })
        } else {
            Err(self)
        }
    }
}

impl Sweep {
    /// Does a part of the work, on at most `ids_max` ids (at least one). Returns whether work
    /// remains. `values` must be those that the sweep began with.
    ///
    /// Call it with exclusive access, and release the values between two calls.
    pub fn advance(&mut self, values: &mut Values, ids_max: usize) -> bool {
        if (self.step, self.column, self.next) == (Step::Evict, 0, 0) {
            values.reuses += 1;
        }
        let column = values.columns.get_mut(self.column);
        let Some(dictionary) = column.map(|column| &mut column.dictionary) else {
            return self.end_step(values);
        };
        let ids = self.next..(self.next + ids_max.max(1)).min(dictionary.ids());
        match self.step {
            Step::Evict => dictionary.sweep(ids.clone()),
            Step::Move => dictionary.evacuate(ids.clone()),
            Step::Done => return false,
        }
        if ids.end == dictionary.ids() {
            (self.column, self.next) = (self.column + 1, 0);
        } else {
            self.next = ids.end;
        }
        true
    }

    fn end_step(&mut self, values: &mut Values) -> bool {
        match self.step {
            Step::Evict => {
                values.columns.iter_mut().for_each(|column| column.dictionary.close_sparse());
                *self = Self { step: Step::Move, column: 0, next: 0 };
                true
            }
            Step::Move => {
                values.end_sweep();
                self.step = Step::Done;
                false
            }
            Step::Done => false,
        }
    }
}

impl Values {
    fn end_sweep(&mut self) {
        self.reuses += 1;
        for column in &mut self.columns {
            column.folded &= column.dictionary.has_remainder();
            column.dictionary.end_sweep();
            if !column.folded {
                column.late = None;
                column.dictionary.clear_uncounted();
            }
        }
        self.measure();
    }

    /// Counts the memory again.
    pub(super) fn measure(&mut self) {
        self.free_bytes = self.columns.iter().map(|column| column.dictionary.free_bytes()).sum();
        let bytes = |column: &ColumnValues| {
            let late = column.late.as_ref().map_or(0, LateValues::memory_bytes);
            column.dictionary.charge_bytes() + late
        };
        self.memory_bytes = self.columns.iter().map(bytes).sum();
        self.ids = self.columns.iter().map(|column| column.dictionary.values()).sum();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{LiveIds, Sweep, Values};
    use crate::block::{Block, BlockLimits};
    use crate::column::Segment;
    use crate::field::Field;
    use crate::filter::{Clause, CompiledFilter, Filter, TextTest};
    use crate::format::Format;
    use crate::read::BlockReader;
    use crate::schema::ColumnId;

    fn reader(values: &mut Values) -> BlockReader {
        let format = Format::parse("$remote_addr $request_uri").expect("a format");
        BlockReader::new(Arc::new(format), BlockLimits::default(), values)
    }

    fn block(numbers: &[u32]) -> Block {
        let line =
            |n: &u32| format!("192.0.2.{} /{:0width$}\n", n % 5, n, width = *n as usize % 40);
        Block::new(numbers.iter().map(line).collect::<String>().into())
    }

    fn texts(segment: &Segment, values: &Values) -> Vec<Vec<u8>> {
        let text = |row: usize, column: ColumnId| {
            let id = segment.text(column).expect("the format has it").get(row) as u32;
            values.dictionary(column).value(id).expect("a value").to_vec()
        };
        (0..segment.rows())
            .flat_map(|row| [Field::Client, Field::Path].map(|field| text(row, field.column())))
            .collect()
    }

    fn lines(numbers: &[u32]) -> Vec<Vec<u8>> {
        let text = String::from_utf8(block(numbers).bytes().to_vec()).expect("ASCII");
        text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect()
    }

    /// Begins a sweep while no block is in flight.
    fn begin(values: &mut Values, mark: impl Fn(&mut LiveIds)) -> Sweep {
        let mut live = LiveIds::new(values);
        mark(&mut live);
        let pending = values.begin_sweep(live).expect("one sweep at a time");
        pending.try_start().expect("no block is in flight")
    }

    /// A filter that is kept as long as ids keep their meaning, as by a view that is watched.
    struct Watched {
        filter: Filter,
        compiled: CompiledFilter,
        reuses: u64,
    }

    impl Watched {
        fn new(values: &Values) -> Self {
            let ends = TextTest::matches("[37]$").expect("an expression");
            let filter = Clause::text(values, "path", ends, false).expect("a column");
            let filter = Filter::of(vec![filter]);
            Self { compiled: CompiledFilter::new(&filter), filter, reuses: values.reuses() }
        }

        /// Whether each line passes.
        fn expected(numbers: &[u32]) -> Vec<bool> {
            numbers.iter().map(|number| [3, 7].contains(&(number % 10))).collect()
        }

        /// Whether each row of a segment passes.
        fn rows(&mut self, segment: &Segment, values: &Values) -> Vec<bool> {
            if self.reuses != values.reuses() {
                self.compiled = CompiledFilter::new(&self.filter);
                self.reuses = values.reuses();
            }
            self.compiled.refresh(values);
            let mut passes = vec![false; segment.rows()];
            self.compiled.select(segment).for_each(|row| passes[row] = true);
            passes
        }
    }

    /// Blocks arrive and the oldest leave while the parts of a sweep run between them. The
    /// remaining segments must keep their values, and a filter must tell their rows.
    fn check(blocks: &[Vec<u32>], kept_max: usize, piece: usize) {
        let mut values = Values::new(1 << 24);
        let mut readers = [reader(&mut values), reader(&mut values)];
        let mut watched = Watched::new(&values);
        let mut kept: Vec<(Segment, &Vec<u32>)> = Vec::new();
        let mut on_the_way = Vec::new();
        let mut pending = None;
        let mut sweep = None;
        for (number, numbers) in blocks.iter().enumerate() {
            let reader = &mut readers[number % 2];
            let read = reader.read(&block(numbers), 0);
            reader.look_up(&read, &values);
            on_the_way.push((number % 2, read, numbers));
            if pending.is_none() && sweep.is_none() && number % 3 == 0 {
                let mut live = LiveIds::new(&values);
                kept.iter().for_each(|(segment, _)| live.mark(segment));
                pending = values.begin_sweep(live);
                assert!(pending.is_some(), "one sweep at a time");
            }
            // Some blocks arrive late, but all arrive in order.
            while on_the_way.len() > number % 4 {
                let (reader, read, numbers) = on_the_way.remove(0);
                let resolved = readers[reader].resolve(read, || &mut values);
                let segment = match values.admit(readers[reader].seal(resolved)) {
                    Ok(segment) => segment,
                    Err(late) => values.admit_late(late),
                };
                kept.push((segment, numbers));
            }
            kept.drain(..kept.len().saturating_sub(kept_max));
            if let Some(waiting) = pending.take() {
                match waiting.try_start() {
                    Ok(started) => sweep = Some(started),
                    Err(waiting) => pending = Some(waiting),
                }
            }
            if sweep.as_mut().is_some_and(|sweep: &mut Sweep| !sweep.advance(&mut values, piece)) {
                sweep = None;
            }
            for (segment, numbers) in &kept {
                assert_eq!(texts(segment, &values), lines(numbers));
                assert_eq!(watched.rows(segment, &values), Watched::expected(numbers));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn live_values_keep_their_ids(
            blocks in prop::collection::vec(prop::collection::vec(0u32..400, 1..20), 1..60),
            kept_max in 1usize..8,
            piece in prop_oneof![Just(1usize), Just(50), Just(10_000)],
        ) {
            check(&blocks, kept_max, piece);
        }
    }

    #[test]
    fn a_value_with_the_id_of_an_evicted_one_is_decided_about() {
        let mut values = Values::new(1 << 24);
        let mut reader = reader(&mut values);
        let old: Vec<u32> = (0..5_000).collect();
        let mut live = Vec::new();
        for numbers in old.chunks(10) {
            let segment = reader.read_segment(&block(numbers), 0, &mut values);
            if numbers[0] % 100 == 0 {
                live.push(segment);
            }
        }
        let mut sweep = begin(&mut values, |ids| live.iter().for_each(|segment| ids.mark(segment)));
        while sweep.advance(&mut values, 1_000) {}
        let ids = values.dictionary(Field::Path.column()).ids();
        let mut watched = Watched::new(&values);
        let mut none_is_free = false;
        for numbers in (10_000..16_000).collect::<Vec<u32>>().chunks(7) {
            let segment = reader.read_segment(&block(numbers), 0, &mut values);
            assert_eq!(watched.rows(&segment, &values), Watched::expected(numbers));
            none_is_free |= values.dictionary(Field::Path.column()).ids() > ids;
        }
        assert!(none_is_free, "the free ids were used up, and others after them");
        let first = reader.read_segment(&block(&old[..10]), 0, &mut values);
        assert_eq!(watched.rows(&first, &values), Watched::expected(&old[..10]));
        assert_eq!(watched.reuses, values.reuses(), "the filter was kept");
    }

    #[test]
    fn an_evicted_value_is_announced_by_the_counter() {
        let mut values = Values::new(1 << 24);
        let mut reader = reader(&mut values);
        let segment = reader.read_segment(&block(&[7]), 0, &mut values);
        // A reader still holds the segment when it leaves the data set.
        let before = values.reuses();
        let mut sweep = begin(&mut values, |_| {});
        let column = Field::Path.column();
        let id = segment.text(column).expect("the format has it").get(0) as u32;
        let mut goes_on = true;
        while goes_on {
            let is_there = values.dictionary(column).value(id).is_some();
            assert!(is_there || values.reuses() != before);
            goes_on = sweep.advance(&mut values, 1);
        }
        assert!(values.dictionary(column).value(id).is_none());
    }

    #[test]
    fn evicted_values_leave_no_memory_behind() {
        let mut values = Values::new(1 << 30);
        let mut reader = reader(&mut values);
        let mut highest = 0;
        for round in 0..200u32 {
            let numbers: Vec<u32> = (round * 1_000..(round + 1) * 1_000).collect();
            let segment = reader.read_segment(&block(&numbers), 0, &mut values);
            let mut sweep = begin(&mut values, |live| live.mark(&segment));
            while sweep.advance(&mut values, 512) {}
            assert_eq!(texts(&segment, &values), lines(&numbers));
            let columns = values.schema().columns();
            let held: usize =
                columns.map(|(column, _)| values.dictionary(column).memory_bytes()).sum();
            highest = highest.max(held.max(values.memory_bytes()));
        }
        let path = Field::Path.column();
        assert!(values.dictionary(path).ids() < 4_000, "ids are used again");
        assert!(highest < 600_000, "{highest} bytes");
        assert_eq!(values.reuses(), 2 * 200);
    }
}
