//! The segments of a data set whose oldest leave.

mod cleaning;
mod clock;
mod limits;
mod merging;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use weir_core::{Segment, TimeBounds};

pub(super) use cleaning::Cleaning;
pub(super) use clock::ReadAt;
use clock::{AGREEING, Clock};
pub(super) use limits::WindowLimits;
use merging::{Level, Runs};

/// A segment in a window.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its number: segments are numbered in the order of their blocks.
    pub number: u64,
    /// The segment.
    pub segment: Arc<Segment>,
    /// The rows of it that have not left.
    pub bounds: TimeBounds,
}

/// The segments of a data set whose oldest leave: by time, by memory, or both.
///
/// By time single rows leave: of a segment that is partly too old [`Slot::bounds`] says which
/// are left. By memory whole segments leave, those first that were read first. What has left
/// stays at hand for a while in [`Self::departed`], for those who have counted it and are to
/// take it away from their sums.
#[derive(Debug)]
pub(super) struct Window {
    clock: Option<Clock>,
    kept: BTreeMap<u64, Kept>,
    /// The newest time of each segment, with its number: the order in which they leave.
    by_time: BTreeSet<(i64, u64)>,
    /// Segments with rows that are ahead of the clock, with what [`Clock::agreed`] was.
    ahead: Vec<(u64, u64)>,
    departed: BTreeMap<u64, Arc<Segment>>,
    /// In the order in which they left.
    departures: std::collections::VecDeque<u64>,
    departed_bytes: usize,
    kept_bytes: usize,
    rows_kept: usize,
    /// Rows that have left since values were given up.
    rows_left: usize,
    floor_ns: i64,
    next: u64,
    runs: Runs,
}

#[derive(Debug)]
struct Kept {
    segment: Arc<Segment>,
    bytes: usize,
    /// Bounds that stay whatever the clock does: nothing that has left comes back.
    first_ns: i64,
    last_ns: i64,
    /// The newest time when it was read, which counts for its rows without one.
    read_ns: i64,
    has_untimed: bool,
    /// Its place in `by_time`.
    leaves_ns: i64,
    level: Level,
}

impl Window {
    /// A window of this width in time; `None` where only memory bounds it.
    pub(super) fn new(width: Option<Duration>) -> Self {
        let width_ns =
            width.map(|width| i64::try_from(width.as_nanos()).unwrap_or(i64::MAX).max(1));
        Self {
            clock: width_ns.map(Clock::new),
            kept: BTreeMap::new(),
            by_time: BTreeSet::new(),
            ahead: Vec::new(),
            departed: BTreeMap::new(),
            departures: Default::default(),
            departed_bytes: 0,
            kept_bytes: 0,
            rows_kept: 0,
            rows_left: 0,
            floor_ns: i64::MIN,
            next: 0,
            runs: Runs::new(),
        }
    }

    /// Memory of the segments, those included that have left and are at hand, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.kept_bytes + self.departed_bytes
    }

    /// What is kept, in order.
    pub(super) fn slots(&self) -> Vec<Slot> {
        let slot = |(number, kept): (&u64, &Kept)| Slot {
            number: *number,
            segment: kept.segment.clone(),
            bounds: kept.bounds(self.floor_ns),
        };
        self.kept.iter().map(slot).collect()
    }

    /// What has left not long ago, by number.
    pub(super) fn departed(&self) -> BTreeMap<u64, Arc<Segment>> {
        self.departed.clone()
    }

    /// Takes a segment in, and lets leave what is too old after it.
    pub(super) fn push(&mut self, segment: Segment, at: ReadAt) {
        if let Some(clock) = &mut self.clock {
            clock.pass(&segment, at);
        }
        if segment.rows() == 0 {
            return;
        }
        let newest_ns = self.clock.as_ref().and_then(Clock::newest_ns);
        let newest_ns = newest_ns.unwrap_or(if at.is_live { at.machine_ns } else { i64::MAX });
        let time_range = segment.time_range_ns();
        let has_untimed = segment.has_untimed();
        let mut leaves_ns = time_range.map_or(newest_ns, |(_, last_ns)| last_ns);
        if has_untimed {
            leaves_ns = leaves_ns.max(newest_ns);
        }
        let level = Level::of_new(&segment);
        let kept = Kept {
            level,
            bytes: segment.memory_bytes(),
            segment: Arc::new(segment),
            first_ns: i64::MIN,
            last_ns: i64::MAX,
            read_ns: newest_ns,
            has_untimed,
            leaves_ns,
        };
        let number = self.insert(kept);
        if let Some(clock) = &self.clock
            && time_range.is_some_and(|(_, last_ns)| last_ns > clock.ceiling_at_ns(at))
        {
            self.ahead.push((number, clock.agreed()));
        }
        self.move_on();
        self.merge_small(level);
    }

    /// Puts a segment behind all others; gives its number.
    fn insert(&mut self, kept: Kept) -> u64 {
        let number = self.next;
        self.next += 1;
        self.kept_bytes += kept.bytes;
        self.rows_kept += kept.segment.rows();
        if self.clock.is_some() {
            self.by_time.insert((kept.leaves_ns, number));
        }
        self.kept.insert(number, kept);
        number
    }

    /// Takes a segment out.
    fn take(&mut self, number: u64) -> Option<Kept> {
        let kept = self.kept.remove(&number)?;
        self.by_time.remove(&(kept.leaves_ns, number));
        self.kept_bytes -= kept.bytes;
        self.rows_kept -= kept.segment.rows();
        Some(kept)
    }

    /// True where so much has left since values were given up that it is worth to do so again:
    /// half of what is kept. So at most a third of the values have left, where all are new.
    pub(super) fn has_moved_on(&self) -> bool {
        self.rows_left > 0 && self.rows_left >= self.rows_kept / 2
    }

    /// True where nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// All segments that are at hand, before values are given up, and the number of the next.
    pub(super) fn segments_for_cleaning(&mut self) -> (Vec<Arc<Segment>>, u64) {
        self.rows_left = 0;
        let kept = self.kept.values().map(|kept| kept.segment.clone());
        (kept.chain(self.departed.values().cloned()).collect(), self.next)
    }

    /// The segments at hand from this number on.
    pub(super) fn segments_since(&self, number: u64) -> impl Iterator<Item = &Arc<Segment>> {
        let kept = self.kept.range(number..).map(|(_, kept)| &kept.segment);
        kept.chain(self.departed.range(number..).map(|(_, segment)| segment))
    }

    /// Lets a quarter of the segments leave, and what has left before.
    pub(super) fn shrink_by_a_quarter(&mut self) {
        self.shrink_to(self.kept_bytes - self.kept_bytes.div_ceil(4));
        while self.forget_departed() {}
    }

    /// Lets the segments that were read first leave until the memory is no more than this.
    pub(super) fn shrink_to(&mut self, bytes_max: usize) {
        while self.memory_bytes() > bytes_max {
            // What has left before stays at hand as long as it is little, also where the
            // memory is always spent.
            let first = self.kept.keys().next().copied();
            match first.filter(|_| self.departed_bytes <= bytes_max / 16) {
                Some(number) => self.leave(number),
                None if self.forget_departed() => {}
                None => break,
            }
        }
    }

    /// Lets rows leave by time.
    fn move_on(&mut self) {
        self.check_ahead();
        let Some(floor_ns) = self.clock.as_ref().and_then(Clock::floor_ns) else { return };
        if floor_ns < self.floor_ns {
            // The clock was wrong. What has left because of it stays away; the newest segment
            // has not been held against it.
            let before_ns = self.floor_ns;
            let earlier = self.kept.range_mut(..self.next - 1);
            earlier.for_each(|(_, kept)| kept.first_ns = kept.first_ns.max(before_ns));
        }
        self.floor_ns = floor_ns;
        while let Some((leaves_ns, number)) = self.by_time.first().copied() {
            if leaves_ns >= floor_ns {
                break;
            }
            self.leave(number);
        }
    }

    /// Lets rows leave whose time is far ahead of what many records after them say.
    fn check_ahead(&mut self) {
        let Some(clock) = &self.clock else { return };
        let ceiling_ns = clock.ceiling_ns();
        let is_refuted = |agreed: u64| clock.agreed() - agreed >= AGREEING;
        let mut refuted = Vec::new();
        self.ahead.retain(|(number, agreed)| {
            if is_refuted(*agreed) {
                refuted.push(*number);
            }
            // By memory they may leave before anything says that their times are wrong.
            !is_refuted(*agreed) && self.kept.contains_key(number)
        });
        for number in refuted {
            let Some(kept) = self.kept.get_mut(&number) else { continue };
            kept.last_ns = kept.last_ns.min(ceiling_ns);
            let range = kept.bounds(self.floor_ns).time_range_ns(&kept.segment);
            let untimed_ns = kept.has_untimed.then_some(kept.read_ns);
            let last_ns = range.map(|(_, last_ns)| last_ns).max(untimed_ns);
            self.by_time.remove(&(kept.leaves_ns, number));
            kept.leaves_ns = last_ns.unwrap_or(i64::MIN);
            self.by_time.insert((kept.leaves_ns, number));
            if last_ns.is_none() {
                self.leave(number);
            }
        }
    }

    fn leave(&mut self, number: u64) {
        let Some(kept) = self.take(number) else { return };
        self.rows_left += kept.segment.rows();
        self.depart(number, kept.segment);
    }

    /// Keeps a segment at hand that was taken out.
    fn depart(&mut self, number: u64, segment: Arc<Segment>) {
        self.departed_bytes += segment.memory_bytes();
        self.departures.push_back(number);
        self.departed.insert(number, segment);
        // Enough for whoever asks a few times a second; who comes too late counts anew.
        while self.departed_bytes > self.kept_bytes / 8 + Self::DEPARTED_BYTES_MIN {
            self.forget_departed();
        }
    }

    /// Beside this there may be one part in eight of what is kept.
    const DEPARTED_BYTES_MIN: usize = 1 << 16;

    fn forget_departed(&mut self) -> bool {
        let Some(segment) =
            self.departures.pop_front().and_then(|number| self.departed.remove(&number))
        else {
            return false;
        };
        self.departed_bytes -= segment.memory_bytes();
        true
    }
}

impl Kept {
    /// True where no bounds of its own are set for good.
    fn is_unbounded(&self) -> bool {
        (self.first_ns, self.last_ns) == (i64::MIN, i64::MAX)
    }

    /// As they are where the clock lets all before `floor_ns` leave. Bounds that take nothing
    /// away are given as none, so that they are equal as long as the rows are.
    fn bounds(&self, floor_ns: i64) -> TimeBounds {
        let floor_ns = self.first_ns.max(floor_ns);
        let range = self.segment.time_range_ns();
        let cuts_first = range.is_some_and(|(first_ns, _)| first_ns < floor_ns);
        let cuts_last = range.is_some_and(|(_, last_ns)| last_ns > self.last_ns);
        TimeBounds {
            first_ns: if cuts_first { floor_ns } else { i64::MIN },
            last_ns: if cuts_last { self.last_ns } else { i64::MAX },
            untimed: !self.has_untimed || self.read_ns >= floor_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_core::{Block, BlockLimits, BlockReader, Format, Segment, Values};

    use super::{ReadAt, Window};

    const AT: ReadAt = ReadAt { machine_ns: 0, is_live: false };

    /// Segments with so many rows each, of these sources in turn, one second after the other.
    fn segments(count: usize, rows: usize, sources: u32) -> Vec<Segment> {
        segments_at((0..count).collect(), rows, sources)
    }

    /// Segments of these seconds.
    fn segments_at(seconds: Vec<usize>, rows: usize, sources: u32) -> Vec<Segment> {
        let mut values = Values::new(1 << 20);
        let format = Arc::new(Format::parse("$remote_addr $msec").expect("a format"));
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let segment = |number: usize| {
            let line = |row: usize| format!("192.0.2.{row} {}.000\n", 1_760_000_000 + number);
            let block = Block::new((0..rows).map(line).collect::<String>().into());
            let read = reader.read(&block, number as u32 % sources);
            reader.resolve(&read, &mut values);
            reader.seal(read)
        };
        seconds.into_iter().map(segment).collect()
    }

    #[test]
    fn of_segments_that_have_left_nothing_is_remembered() {
        // Times that are by turns far ahead and far behind agree with nothing.
        let odd = (0..2_000).map(|number| if number % 2 == 0 { 2_000_000 } else { 0 });
        let seconds = std::iter::repeat_n(1_000_000, 20).chain(odd).collect();
        let segments = segments_at(seconds, 1, 1);
        let bytes_max = segments[0].memory_bytes() * 64;
        let mut window = Window::new(Some(std::time::Duration::from_secs(60)));
        for segment in segments {
            window.push(segment, AT);
            window.shrink_to(bytes_max);
        }
        assert!(window.kept.len() <= 100, "{}", window.kept.len());
        assert!(window.ahead.len() <= 100, "{}", window.ahead.len());
    }

    #[test]
    fn what_has_left_is_at_hand_for_a_while_within_the_memory() {
        // Too large to be merged.
        let segments = segments(200, 2_048, 1);
        let bytes_max = segments[0].memory_bytes() * 64;
        let mut window = Window::new(None);
        for (number, segment) in (0u64..).zip(segments) {
            window.push(segment, AT);
            window.shrink_to(bytes_max);
            assert!(window.memory_bytes() <= bytes_max);
            let kept = window.kept.keys().copied().collect::<Vec<_>>();
            let first = kept[0];
            assert_eq!(kept, (first..=number).collect::<Vec<_>>(), "what was read last");
            if first > 0 {
                assert!(window.departed.contains_key(&(first - 1)), "{number}");
                assert!(kept.len() >= 56, "{}", kept.len());
            }
        }
        window.shrink_to(0);
        assert!(window.is_empty() && window.memory_bytes() == 0);
    }

    #[test]
    fn a_quiet_feed_makes_few_segments() {
        for width in [None, Some(std::time::Duration::from_secs(100_000))] {
            let mut window = Window::new(width);
            let (mut most, mut read) = (0, Vec::new());
            for (number, segment) in segments(5_000, 3, 1).into_iter().enumerate() {
                segment.for_each_time_ns(|time_ns| read.push(time_ns));
                window.push(segment, AT);
                most = most.max(window.kept.len());
                if number % 97 == 0 || number == 4_999 {
                    let mut kept = Vec::new();
                    for slot in window.slots() {
                        slot.segment.for_each_time_ns(|time_ns| kept.push(time_ns));
                    }
                    assert_eq!(kept, read, "in the order in which they were read");
                    assert_eq!(window.rows_kept, read.len());
                    let bytes = window.kept.values().map(|kept| kept.bytes).sum::<usize>();
                    assert_eq!(window.kept_bytes, bytes);
                }
            }
            // Fifteen of each level: 5,000 is less than 16 to the power of four.
            assert!(most <= 4 * 15, "{most}");
            assert_eq!(window.rows_left, 0);
        }
    }

    #[test]
    fn segments_of_many_sources_are_merged_when_there_are_more_of_each() {
        let mut window = Window::new(None);
        segments(5_000, 3, 50).into_iter().for_each(|segment| window.push(segment, AT));
        assert!(window.kept.len() < 1_000, "{}", window.kept.len());
        assert_eq!(window.rows_kept, 15_000);
    }
}
