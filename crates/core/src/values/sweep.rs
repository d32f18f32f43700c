//! Giving up the values that occur in no segment any more.

use std::sync::Arc;

use super::live_ids::LiveIds;
use super::store::Values;
use crate::column::{Generation, Segment};

/// How far a sweep is. Values are given up in three steps, each a bounded piece at a time, so
/// that parsers, who wait meanwhile, never wait for long:
///
/// 1. [`Values::begin_sweep`] says which values are live. From then on the others are found by
///    nobody who does not bring them anew, which makes them live again. Their ids still mean
///    what they meant: blocks that were read before are on their way with them.
/// 2. When the last of these has arrived, [`Values::sweep`] takes the others out of the
///    dictionaries, and then moves what is left in parts of the memory that are nearly empty.
///    Whoever still has a segment that left before may find its values gone, so
///    [`Values::reuses`] grows.
/// 3. At its end the ids are free, and [`Values::reuses`] grows again: what is known of values by
///    id is known no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    step: Step,
    column: usize,
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    GiveUp,
    Move,
}

/// The blocks that were read before a sweep began.
#[derive(Debug)]
pub struct ReadBefore(Arc<Generation>);

impl ReadBefore {
    /// True when all of them have arrived.
    pub fn have_arrived(&self) -> bool {
        self.0.is_over()
    }
}

impl Values {
    /// Grows when values begin to be given up, and when their ids are free for others. What is
    /// known by id about values is to be learnt anew whenever this has grown, and of segments
    /// that were at hand before.
    pub fn reuses(&self) -> u64 {
        self.reuses
    }

    /// True where a segment was read before the last sweep began.
    pub fn was_read_before(&self, segment: &Segment) -> bool {
        segment.generation().is_some_and(|number| number != self.generations.number())
    }

    /// Begins to give up all values but these.
    pub fn begin_sweep(&mut self, live: LiveIds) -> ReadBefore {
        for (column, live) in self.columns.iter_mut().zip(live.into_columns()) {
            column.dictionary.begin_sweep(live);
        }
        self.sweep = Some(Sweep { step: Step::GiveUp, column: 0, next: 0 });
        ReadBefore(self.generations.advance())
    }

    /// Has the values of a segment not given up.
    pub fn keep_all_of(&mut self, segment: &Segment) {
        for (id, codes) in segment.text_columns() {
            if let Some(column) = self.columns.get_mut(id.index()) {
                column.dictionary.keep_codes(codes);
            }
        }
    }

    /// Goes on with a sweep, by so many ids at the most; true where there is more to do. All
    /// blocks that were [read before](ReadBefore) have to have arrived.
    pub fn sweep(&mut self, ids_max: usize) -> bool {
        let Some(Sweep { step, column, next }) = self.sweep else { return false };
        if (step, column, next) == (Step::GiveUp, 0, 0) {
            self.reuses += 1;
        }
        let Some(dictionary) = self.columns.get_mut(column).map(|column| &mut column.dictionary)
        else {
            return self.end_step(step);
        };
        let ids = next..(next + ids_max.max(1)).min(dictionary.ids());
        let is_done = ids.end == dictionary.ids();
        match step {
            Step::GiveUp => dictionary.sweep(ids.clone()),
            Step::Move => dictionary.evacuate(ids.clone()),
        }
        let (column, next) = if is_done { (column + 1, 0) } else { (column, ids.end) };
        self.sweep = Some(Sweep { step, column, next });
        true
    }

    fn end_step(&mut self, step: Step) -> bool {
        if step == Step::GiveUp {
            self.columns.iter_mut().for_each(|column| column.dictionary.close_sparse());
            self.sweep = Some(Sweep { step: Step::Move, column: 0, next: 0 });
            return true;
        }
        self.sweep = None;
        self.reuses += 1;
        for column in &mut self.columns {
            column.folded &= column.dictionary.has_remainder();
            column.dictionary.end_sweep();
        }
        self.free_bytes = self.columns.iter().map(|column| column.dictionary.free_bytes()).sum();
        self.memory_bytes =
            self.columns.iter().map(|column| column.dictionary.charge_bytes()).sum();
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{LiveIds, Segment, Values};
    use crate::block::{Block, BlockLimits};
    use crate::field::Field;
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

    /// Blocks come, the oldest leave, and values are given up with every piece of the work at
    /// another moment: what is left means what it meant.
    fn check(blocks: &[Vec<u32>], kept_max: usize, piece: usize) {
        let mut values = Values::new(1 << 24);
        let mut readers = [reader(&mut values), reader(&mut values)];
        let mut kept: Vec<(Segment, &Vec<u32>)> = Vec::new();
        let mut on_the_way = Vec::new();
        let mut waiting = None;
        for (number, numbers) in blocks.iter().enumerate() {
            let reader = &mut readers[number % 2];
            let read = reader.read(&block(numbers), 0);
            reader.look_up(&read, &values);
            on_the_way.push((number % 2, read, numbers));
            if waiting.is_none() && number % 3 == 0 {
                let mut live = LiveIds::new(&values);
                kept.iter().for_each(|(segment, _)| live.mark(segment));
                waiting = Some(values.begin_sweep(live));
            }
            // Some arrive late, all in order.
            while on_the_way.len() > number % 4 {
                let (reader, read, numbers) = on_the_way.remove(0);
                if !readers[reader].is_resolved(&read) {
                    readers[reader].resolve(&read, &mut values);
                }
                let mut segment = readers[reader].seal(read);
                if values.was_read_before(&segment) {
                    values.keep_all_of(&segment);
                }
                segment.arrive();
                kept.push((segment, numbers));
            }
            kept.drain(..kept.len().saturating_sub(kept_max));
            if waiting.as_ref().is_some_and(|waiting| waiting.have_arrived())
                && !values.sweep(piece)
            {
                waiting = None;
            }
            for (segment, numbers) in &kept {
                assert_eq!(texts(segment, &values), lines(numbers));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_left_means_what_it_meant(
            blocks in prop::collection::vec(prop::collection::vec(0u32..400, 1..20), 1..60),
            kept_max in 1usize..8,
            piece in prop_oneof![Just(1usize), Just(50), Just(10_000)],
        ) {
            check(&blocks, kept_max, piece);
        }
    }

    #[test]
    fn who_looks_while_values_are_given_up_hears_of_it() {
        let mut values = Values::new(1 << 24);
        let mut reader = reader(&mut values);
        let read = reader.read(&block(&[7]), 0);
        reader.resolve(&read, &mut values);
        let mut segment = reader.seal(read);
        segment.arrive();
        // Somebody has the segment still when it leaves.
        let before = values.reuses();
        let read_before = values.begin_sweep(LiveIds::new(&values));
        assert!(read_before.have_arrived());
        let column = Field::Path.column();
        let id = segment.text(column).expect("the format has it").get(0) as u32;
        let mut goes_on = true;
        while goes_on {
            let is_there = values.dictionary(column).value(id).is_some();
            assert!(is_there || values.reuses() != before);
            goes_on = values.sweep(1);
        }
        assert!(values.dictionary(column).value(id).is_none());
    }

    #[test]
    fn memory_does_not_grow_with_values_that_have_left() {
        let mut values = Values::new(1 << 30);
        let mut reader = reader(&mut values);
        let mut highest = 0;
        for round in 0..200u32 {
            let numbers: Vec<u32> = (round * 1_000..(round + 1) * 1_000).collect();
            let read = reader.read(&block(&numbers), 0);
            reader.resolve(&read, &mut values);
            let mut segment = reader.seal(read);
            segment.arrive();
            let mut live = LiveIds::new(&values);
            live.mark(&segment);
            let before = values.begin_sweep(live);
            assert!(before.have_arrived());
            while values.sweep(512) {}
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
