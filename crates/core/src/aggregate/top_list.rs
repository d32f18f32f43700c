//! Counts by value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::packed_tally::{PackedTally, count_in_lanes, count_packed};
use super::visit::{Sum, Visit};
use crate::column::{ABSENT, Codes, REMAINDER};
use crate::values::Dictionary;

/// The counts of one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of records.
    pub count: u64,
    /// The sum of their response sizes in bytes, or 2^64 - 1 if it is larger.
    pub bytes_sent: u64,
    /// The number of records with a status of 400 to 599.
    pub errors: u64,
}

/// Counts by value of one text column. Dictionary ids are dense, so this is an array.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Evaluation, Field, Fold, Format, Question, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status $body_bytes_sent")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 200 10\n::2 404 20\n::1 200 30\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
/// let mut evaluation = Evaluation::new(&Question::default());
/// evaluation.refresh(&values);
/// evaluation.update(&segment);
///
/// let client = Field::Client.column();
/// let (clients, dictionary) = (evaluation.top_list(client).unwrap(), values.dictionary(client));
/// assert_eq!(clients.distinct(), 2);
/// let [first, second] = clients.top(2, dictionary)[..] else { panic!("two clients") };
/// assert_eq!(dictionary.value(first), Some(&b"::1"[..]));
/// assert_eq!((clients.tally(first).count, clients.tally(first).bytes_sent), (2, 40));
/// assert_eq!(clients.tally(second).errors, 1);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// Rows can be removed again, with the same result as if they had never been added. For this, bytes
/// are summed modulo 2^64 with a separate carry, and shown as 2^64 - 1 if the carry is not zero.
///
/// Rows are first counted in small arrays. These are settled, that is, added to the tallies, before
/// they might overflow.
#[derive(Debug, Clone, Default)]
pub struct TopList {
    /// The number of ids.
    ids: usize,
    /// The bytes are modulo 2^64. Empty until rows are settled.
    tallies: Vec<Tally>,
    /// How often each sum of bytes exceeded 2^64. Empty until one did.
    carries: Vec<i64>,
    /// Not settled: records and the low bits of their sizes. Empty if there are none.
    packed: Vec<PackedTally>,
    /// The number of rows in `packed`.
    visits: usize,
    /// Not settled: errors, negative if rows were removed. Empty if there are none.
    errors: Vec<i32>,
    /// Not settled: the high bits of large responses, by id, and whether to add them.
    rest: Vec<(u32, u64, bool)>,
}

/// The number of rows from which codes of eight bits are counted with `count_in_lanes`.
const LANES_MIN: usize = 512;

/// The largest number of entries in `rest`: 256 KiB.
const REST_MAX: usize = 1 << 14;

impl TopList {
    /// The memory of a list for each id, in bytes, with what it has in reserve.
    pub const ID_BYTES: usize =
        (size_of::<Tally>() + size_of::<PackedTally>() + size_of::<i32>()) * 9 / 8;

    /// An empty list for the ids below `ids`.
    pub(super) fn new(ids: usize) -> Self {
        Self { ids, ..Self::default() }
    }

    /// Adds rows of a column.
    pub(super) fn add(&mut self, codes: &Codes, visit: &Visit) {
        self.visit::<true>(codes, visit);
    }

    /// Removes rows that were added before.
    pub(super) fn remove(&mut self, codes: &Codes, visit: &Visit) {
        self.visit::<false>(codes, visit);
    }

    fn visit<const ADDS: bool>(&mut self, codes: &Codes, visit: &Visit) {
        if visit.low_bytes.is_empty() {
            return;
        }
        self.count_packed::<ADDS>(codes, visit);
        self.count_errors::<ADDS>(codes, &visit.errors);
        for (row, bytes) in &visit.large {
            self.rest.push((codes.get(*row as usize) as u32, *bytes, ADDS));
        }
        if self.rest.len() > REST_MAX {
            self.settle();
        }
    }

    /// Counts the records and the low bits of their sizes.
    fn count_packed<const ADDS: bool>(&mut self, codes: &Codes, visit: &Visit) {
        let Visit { selection, low_bytes, .. } = visit;
        if self.visits + low_bytes.len() > PackedTally::VISITS_MAX {
            self.settle();
        }
        if low_bytes.len() > PackedTally::VISITS_MAX {
            // Only segments of blocks far larger than the default have this many rows.
            let mut low_bytes = low_bytes.iter();
            codes.for_each(selection, |id| {
                let bytes = low_bytes.next().copied().unwrap_or(0);
                let sum = Sum { records: 1, bytes: u128::from(bytes), errors: 0 };
                self.apply(id as usize, sum, ADDS);
            });
            return;
        }
        self.visits += low_bytes.len();
        lengthen(&mut self.packed, self.ids);
        let packed = &mut self.packed[..];
        match codes {
            Codes::U8(codes) if low_bytes.len() >= LANES_MIN => {
                count_in_lanes::<ADDS>(packed, codes, selection, low_bytes);
            }
            Codes::U8(codes) => count_packed::<_, ADDS>(packed, codes, selection, low_bytes),
            Codes::U16(codes) => count_packed::<_, ADDS>(packed, codes, selection, low_bytes),
            Codes::U32(codes) => count_packed::<_, ADDS>(packed, codes, selection, low_bytes),
            Codes::Constant { code, .. } => {
                if let Some(packed) = packed.get_mut(*code as usize) {
                    packed.count_many::<ADDS>(low_bytes.len(), visit.low_sum);
                }
            }
            // Ids have 32 bits.
            Codes::U64(_) => {}
        }
    }

    fn count_errors<const ADDS: bool>(&mut self, codes: &Codes, rows: &[u32]) {
        if rows.is_empty() {
            return;
        }
        lengthen(&mut self.errors, self.ids);
        let errors = &mut self.errors[..];
        let mut count_many = |id: usize, count: i32| {
            if let Some(errors) = errors.get_mut(id) {
                *errors = errors.wrapping_add(if ADDS { count } else { -count });
            }
        };
        let mut count = |id: usize| count_many(id, 1);
        match codes {
            Codes::U8(codes) => at(codes, rows).for_each(|id| count(usize::from(id))),
            Codes::U16(codes) => at(codes, rows).for_each(|id| count(usize::from(id))),
            Codes::U32(codes) => at(codes, rows).for_each(|id| count(id as usize)),
            Codes::Constant { code, .. } => count_many(*code as usize, rows.len() as i32),
            Codes::U64(_) => {}
        }
    }

    /// Adds the unsettled counts to the tallies.
    pub(super) fn settle(&mut self) {
        let packed = std::mem::take(&mut self.packed);
        let errors = std::mem::take(&mut self.errors);
        let rest = std::mem::take(&mut self.rest);
        self.visits = 0;
        self.apply_all(&packed, &errors, &rest);
    }

    /// Adds another list of the same column.
    pub fn merge(&mut self, other: &Self) {
        self.cover(other.ids);
        self.merge_tallies(other, |id| id);
        self.apply_all(&other.packed, &other.errors, &other.rest);
    }

    /// Adds a list whose ids have other numbers here.
    pub(super) fn merge_renumbered(&mut self, other: &Self, new_id: impl Fn(u32) -> u32) {
        let mut other = other.clone();
        other.settle();
        self.merge_tallies(&other, new_id);
    }

    fn merge_tallies(&mut self, other: &Self, new_id: impl Fn(u32) -> u32) {
        for (id, tally) in other.tallies.iter().enumerate() {
            let carries = other.carries.get(id).copied().unwrap_or(0) as u128;
            let bytes = u128::from(tally.bytes_sent) | carries << 64;
            let sum = Sum { records: tally.count, bytes, errors: tally.errors };
            if sum != Sum::default() {
                self.apply(new_id(id as u32) as usize, sum, true);
            }
        }
    }

    fn apply_all(&mut self, packed: &[PackedTally], errors: &[i32], rest: &[(u32, u64, bool)]) {
        lengthen(&mut self.tallies, self.ids);
        for (id, packed) in
            packed.iter().enumerate().filter(|(_, packed)| **packed != PackedTally::default())
        {
            self.apply_packed(id, *packed);
        }
        for (tally, errors) in self.tallies.iter_mut().zip(errors) {
            tally.errors = tally.errors.wrapping_add_signed(i64::from(*errors));
        }
        for (id, bytes, adds) in rest {
            let sum = Sum { bytes: u128::from(*bytes), ..Sum::default() };
            self.apply(*id as usize, sum, *adds);
        }
    }

    #[inline]
    fn apply_packed(&mut self, id: usize, packed: PackedTally) {
        let Some(tally) = self.tallies.get_mut(id) else { return };
        tally.count = tally.count.wrapping_add_signed(packed.records());
        let bytes = packed.low_bytes();
        let (sum, is_beyond) = tally.bytes_sent.overflowing_add_signed(bytes);
        tally.bytes_sent = sum;
        if is_beyond {
            self.carry(id, bytes.signum());
        }
    }

    fn apply(&mut self, id: usize, sum: Sum, adds: bool) {
        lengthen(&mut self.tallies, self.ids);
        let Some(tally) = self.tallies.get_mut(id) else { return };
        let (low, high) = (sum.bytes as u64, (sum.bytes >> 64) as i64);
        let (bytes, carries) = if adds {
            tally.count = tally.count.wrapping_add(sum.records);
            tally.errors = tally.errors.wrapping_add(sum.errors);
            let (bytes, carries) = tally.bytes_sent.overflowing_add(low);
            (bytes, high + i64::from(carries))
        } else {
            tally.count = tally.count.wrapping_sub(sum.records);
            tally.errors = tally.errors.wrapping_sub(sum.errors);
            let (bytes, borrows) = tally.bytes_sent.overflowing_sub(low);
            (bytes, -high - i64::from(borrows))
        };
        tally.bytes_sent = bytes;
        if carries != 0 {
            self.carry(id, carries);
        }
    }

    #[cold]
    fn carry(&mut self, id: usize, carries: i64) {
        lengthen(&mut self.carries, self.ids);
        if let Some(sum) = self.carries.get_mut(id) {
            *sum = sum.wrapping_add(carries);
        }
    }

    /// Returns the number of distinct values. Records without the field do not count, nor do the
    /// values in the [`REMAINDER`]: if there are any, this is a lower bound.
    pub fn distinct(&self) -> u64 {
        let values = self.counts().filter(|(id, _)| *id != REMAINDER);
        values.map(|(_, count)| u64::from(count > 0)).sum()
    }

    /// Returns whether any record has the field.
    pub fn has_values(&self) -> bool {
        self.counts().any(|(_, count)| count > 0)
    }

    /// Returns the counts of a value.
    pub fn tally(&self, id: u32) -> Tally {
        let place = id as usize;
        let mut tally = self.tallies.get(place).copied().unwrap_or_default();
        let packed = self.packed.get(place).copied().unwrap_or_default();
        let errors = self.errors.get(place).copied().unwrap_or(0);
        let carries = self.carries.get(place).copied().unwrap_or(0);
        let mut bytes = i128::from(carries) << 64 | i128::from(tally.bytes_sent);
        bytes += i128::from(packed.low_bytes());
        for (_, rest, adds) in self.rest.iter().filter(|(other, ..)| *other == id) {
            bytes += if *adds { i128::from(*rest) } else { -i128::from(*rest) };
        }
        tally.count = tally.count.wrapping_add_signed(packed.records());
        tally.errors = tally.errors.wrapping_add_signed(i64::from(errors));
        tally.bytes_sent = u64::try_from(bytes).unwrap_or(u64::MAX);
        tally
    }

    /// Returns the ids of the `n` values with the highest counts. Values with equal counts are in
    /// the order of their bytes.
    pub fn top(&self, n: usize, dictionary: &Dictionary) -> Vec<u32> {
        let lowest = self.lowest_count(n);
        let order = |(id, count): &(u32, u64), (other, other_count): &(u32, u64)| {
            let counts = other_count.cmp(count);
            counts.then_with(|| dictionary.value(*id).cmp(&dictionary.value(*other)))
        };
        let mut top: Vec<_> = self.counts().filter(|(_, count)| *count >= lowest).collect();
        if top.len() > n && n > 0 {
            top.select_nth_unstable_by(n - 1, order);
        }
        top.truncate(n);
        top.sort_unstable_by(order);
        top.into_iter().map(|(id, _)| id).collect()
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.tallies.capacity() * size_of::<Tally>()
            + self.carries.capacity() * size_of::<i64>()
            + self.packed.capacity() * size_of::<PackedTally>()
            + self.errors.capacity() * size_of::<i32>()
    }

    /// Makes room for the ids below `ids`.
    pub(super) fn cover(&mut self, ids: usize) {
        self.ids = self.ids.max(ids);
        if !self.tallies.is_empty() {
            lengthen(&mut self.tallies, self.ids);
        }
    }

    /// Returns the `n`th highest count, or 1 if fewer values occur. Values with a lower count are
    /// not among the top `n`, so few values have to be compared by their bytes.
    fn lowest_count(&self, n: usize) -> u64 {
        if n == 0 {
            return u64::MAX;
        }
        // The `n` highest counts so far. The heap's first is the lowest of them, which the next has
        // to exceed.
        let mut highest = BinaryHeap::new();
        let mut lowest = 0;
        for (_, count) in self.counts() {
            if count > lowest {
                highest.push(Reverse(count));
                if highest.len() > n {
                    highest.pop();
                }
                if highest.len() == n {
                    lowest = highest.peek().map_or(0, |count| count.0);
                }
            }
        }
        lowest.max(1)
    }

    /// Returns the values' ids and counts.
    fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        let value = ABSENT as usize + 1..self.ids.max(1);
        let tally = |id: usize| self.tallies.get(id).map_or(0, |tally| tally.count);
        let packed = |id: usize| self.packed.get(id).map_or(0, |packed| packed.records());
        value.map(move |id| (id as u32, tally(id).wrapping_add_signed(packed(id))))
    }
}

/// Makes room for the ids below `ids`. The room grows by an eighth: twice as much, as of itself, would
/// be up to half of the memory of an answer.
fn lengthen<T: Clone + Default>(sums: &mut Vec<T>, ids: usize) {
    if sums.capacity() < ids {
        sums.reserve_exact(ids + ids / 8 - sums.len());
    }
    sums.resize(ids, T::default());
}

/// Returns the codes of these rows.
fn at<T: Copy>(codes: &[T], rows: &[u32]) -> impl Iterator<Item = T> {
    rows.iter().filter_map(|row| codes.get(*row as usize).copied())
}
