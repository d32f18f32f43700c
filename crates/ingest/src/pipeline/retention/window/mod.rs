//! A sliding window over the segments of a feed.

mod clock;
mod limits;
mod merging;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use weir_core::{Segment, SegmentList, SnapshotSegment, TimeBounds};

pub(super) use clock::ReadAt;
use clock::{AGREEING, Clock};
pub(super) use limits::WindowLimits;
use merging::{Level, Runs};

use super::{DepartedSegments, WindowReach};

/// The segments of a continuing feed. The oldest are removed by time, by memory, or both.
///
/// By time, single rows expire: [`SnapshotSegment::bounds`] states which rows of a partly expired
/// segment remain. By memory, whole segments are dropped, in the order in which they were read.
/// Removed segments stay available for a while in [`Self::departed`], so that an answer that has
/// counted them can subtract them.
#[derive(Debug)]
pub(in crate::pipeline::retention) struct Window {
    clock: Option<Clock>,
    kept: BTreeMap<u64, WindowSegment>,
    /// The newest time of each segment, with its number: the order in which they expire.
    by_time: BTreeSet<(i64, u64)>,
    /// Segments with rows that are ahead of the clock, with the value of [`Clock::agreed`] when
    /// they were read.
    ahead: Vec<(u64, u64)>,
    departed: DepartedSegments,
    /// The numbers of the departed segments, in the order in which they left.
    departures: VecDeque<u64>,
    departed_bytes: usize,
    kept_bytes: usize,
    rows_kept: usize,
    /// Rows that left since values were last evicted.
    rows_left: usize,
    floor_ns: i64,
    /// The oldest time that was read.
    oldest_ns: Option<i64>,
    /// The newest time of the rows that were dropped for memory.
    dropped_ns: Option<i64>,
    next: u64,
    runs: Runs,
}

/// A segment in the window.
#[derive(Debug)]
struct WindowSegment {
    segment: Arc<Segment>,
    bytes: usize,
    /// Bounds that stay even if the clock moves back: an expired row never returns.
    first_ns: i64,
    last_ns: i64,
    /// The newest time when the segment was read. It counts as the time of rows without one.
    read_ns: i64,
    has_untimed: bool,
    /// The key of the segment in `by_time`.
    expires_ns: i64,
    level: Level,
}

impl Window {
    /// A window that reaches back by `width`; `None` if only memory bounds it.
    pub(super) fn new(width: Option<Duration>) -> Self {
        let width_ns =
            width.map(|width| i64::try_from(width.as_nanos()).unwrap_or(i64::MAX).max(1));
        Self {
            clock: width_ns.map(Clock::new),
            kept: BTreeMap::new(),
            by_time: BTreeSet::new(),
            ahead: Vec::new(),
            departed: DepartedSegments::new(),
            departures: VecDeque::new(),
            departed_bytes: 0,
            kept_bytes: 0,
            rows_kept: 0,
            rows_left: 0,
            floor_ns: i64::MIN,
            oldest_ns: None,
            dropped_ns: None,
            next: 0,
            runs: Runs::new(),
        }
    }

    /// Memory of the segments in bytes, including those in [`Self::departed`].
    pub(super) fn memory_bytes(&self) -> usize {
        self.kept_bytes + self.departed_bytes
    }

    /// How far the window reaches back.
    pub(super) fn reach(&self) -> WindowReach {
        let floor_ns = (self.floor_ns != i64::MIN).then_some(self.floor_ns);
        WindowReach { floor_ns, oldest_ns: self.oldest_ns, dropped_ns: self.dropped_ns }
    }

    /// The segments in order.
    pub(super) fn segments(&self) -> SegmentList {
        let segment = |(number, kept): (&u64, &WindowSegment)| SnapshotSegment {
            number: *number,
            segment: kept.segment.clone(),
            bounds: kept.bounds(self.floor_ns),
        };
        self.kept.iter().map(segment).collect()
    }

    /// Segments that left a short time ago, by number.
    pub(super) fn departed(&self) -> DepartedSegments {
        self.departed.clone()
    }

    /// Adds a segment, and expires the rows that are too old after it.
    pub(super) fn push(&mut self, segment: Arc<Segment>, at: ReadAt) {
        let level = self.keep(segment, at);
        if let Some(level) = level {
            self.advance();
            self.merge_small(level);
        }
    }

    /// Adds a segment that was stored, with its number and bounds. Those that follow each other are
    /// merged with the next one that is pushed, not here: the numbers are those of the store.
    pub(super) fn restore(&mut self, stored: SnapshotSegment, at: ReadAt) {
        let SnapshotSegment { number, segment, bounds } = stored;
        if self.kept.is_empty() && number > 0 {
            // What was dropped before is not stored. It was read before this segment.
            self.note_dropped(segment.time_range_ns().map(|(first_ns, _)| first_ns));
        }
        self.next = self.next.max(number);
        let Some(level) = self.keep(segment, at) else { return };
        if let Some(kept) = self.kept.get_mut(&number) {
            (kept.first_ns, kept.last_ns) = (bounds.first_ns, bounds.last_ns);
        }
        self.count_run(level);
        self.advance();
    }

    /// Adds a segment, unless it has no rows. Returns its level.
    fn keep(&mut self, segment: Arc<Segment>, at: ReadAt) -> Option<Level> {
        if let Some(clock) = &mut self.clock {
            clock.update(&segment, at);
        }
        if segment.rows() == 0 {
            return None;
        }
        let newest_ns = self.clock.as_ref().and_then(Clock::newest_ns);
        let newest_ns = newest_ns.unwrap_or(if at.is_live { at.machine_ns } else { i64::MAX });
        let time_range = segment.time_range_ns();
        if let Some((first_ns, _)) = time_range {
            self.oldest_ns = Some(self.oldest_ns.map_or(first_ns, |oldest| oldest.min(first_ns)));
        }
        let has_untimed = segment.has_untimed();
        let mut expires_ns = time_range.map_or(newest_ns, |(_, last_ns)| last_ns);
        if has_untimed {
            expires_ns = expires_ns.max(newest_ns);
        }
        let level = Level::of_new(&segment);
        let kept = WindowSegment {
            level,
            bytes: segment.memory_bytes(),
            segment,
            first_ns: i64::MIN,
            last_ns: i64::MAX,
            read_ns: newest_ns,
            has_untimed,
            expires_ns,
        };
        let number = self.insert(kept);
        if let Some(clock) = &self.clock
            && time_range.is_some_and(|(_, last_ns)| last_ns > clock.ceiling_at_ns(at))
        {
            self.ahead.push((number, clock.agreed()));
        }
        Some(level)
    }

    /// Adds a segment at the end. Returns its number.
    fn insert(&mut self, kept: WindowSegment) -> u64 {
        let number = self.next;
        self.next += 1;
        self.kept_bytes += kept.bytes;
        self.rows_kept += kept.segment.rows();
        if self.clock.is_some() {
            self.by_time.insert((kept.expires_ns, number));
        }
        self.kept.insert(number, kept);
        number
    }

    /// Removes a segment.
    fn take(&mut self, number: u64) -> Option<WindowSegment> {
        let kept = self.kept.remove(&number)?;
        self.by_time.remove(&(kept.expires_ns, number));
        self.kept_bytes -= kept.bytes;
        self.rows_kept -= kept.segment.rows();
        Some(kept)
    }

    /// Whether enough rows left since values were last evicted to make another eviction
    /// worthwhile: half of the number of rows that are kept. If every row has new values, then
    /// at most a third of the values are dead.
    pub(super) fn has_moved_on(&self) -> bool {
        self.rows_left > 0 && self.rows_left >= self.rows_kept / 2
    }

    /// Whether no segment is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// All segments whose values must not be evicted, and the number of the next segment.
    pub(super) fn segments_for_eviction(&mut self) -> (Vec<Arc<Segment>>, u64) {
        self.rows_left = 0;
        let kept = self.kept.values().map(|kept| kept.segment.clone());
        (kept.chain(self.departed.values().cloned()).collect(), self.next)
    }

    /// The segments from this number on, including those in [`Self::departed`].
    pub(super) fn segments_since(&self, number: u64) -> impl Iterator<Item = &Arc<Segment>> {
        let kept = self.kept.range(number..).map(|(_, kept)| &kept.segment);
        kept.chain(self.departed.range(number..).map(|(_, segment)| segment))
    }

    /// Drops a quarter of the segments, and all that left before.
    pub(super) fn shrink_by_a_quarter(&mut self) {
        self.shrink_to(self.kept_bytes - self.kept_bytes.div_ceil(4));
        while self.forget_departed() {}
    }

    /// Drops segments, the first ones read first, until the memory is at most `bytes_max`.
    pub(super) fn shrink_to(&mut self, bytes_max: usize) {
        while self.memory_bytes() > bytes_max {
            // A few departed segments stay even if the memory is always full.
            let first = self.kept.keys().next().copied();
            match first.filter(|_| self.departed_bytes <= bytes_max / 16) {
                Some(number) => {
                    let range = self.kept[&number].segment.time_range_ns();
                    self.note_dropped(range.map(|(_, last_ns)| last_ns));
                    self.remove(number);
                }
                None if self.forget_departed() => {}
                None => break,
            }
        }
    }

    /// Drops the segments of a source. The clock stays where it is.
    pub(super) fn remove_source(&mut self, source: u32) {
        let is_of_source = |kept: &WindowSegment| kept.segment.source() == source;
        let numbers: Vec<u64> =
            self.kept.iter().filter(|(_, kept)| is_of_source(kept)).map(|(n, _)| *n).collect();
        for number in numbers {
            self.remove(number);
        }
        self.ahead.retain(|(number, _)| self.kept.contains_key(number));
    }

    /// Expires rows by time.
    fn advance(&mut self) {
        self.expire_ahead();
        let Some(floor_ns) = self.clock.as_ref().and_then(Clock::floor_ns) else { return };
        if floor_ns < self.floor_ns {
            // The clock was wrong. Rows that expired because of it do not return. The newest
            // segment was never compared with the wrong time.
            let before_ns = self.floor_ns;
            let earlier = self.kept.range_mut(..self.next - 1);
            earlier.for_each(|(_, kept)| kept.first_ns = kept.first_ns.max(before_ns));
        }
        self.floor_ns = floor_ns;
        while let Some((expires_ns, number)) = self.by_time.first().copied() {
            if expires_ns >= floor_ns {
                break;
            }
            self.remove(number);
        }
    }

    /// Expires rows whose times are far ahead of many records that were read after them.
    fn expire_ahead(&mut self) {
        let Some(clock) = &self.clock else { return };
        let ceiling_ns = clock.ceiling_ns();
        let is_refuted = |agreed: u64| clock.agreed() - agreed >= AGREEING;
        let mut refuted = Vec::new();
        self.ahead.retain(|(number, agreed)| {
            if is_refuted(*agreed) {
                refuted.push(*number);
            }
            // The segment may have been dropped to free memory before its times were refuted.
            !is_refuted(*agreed) && self.kept.contains_key(number)
        });
        for number in refuted {
            let Some(kept) = self.kept.get_mut(&number) else { continue };
            kept.last_ns = kept.last_ns.min(ceiling_ns);
            let range = kept.bounds(self.floor_ns).time_range_ns(&kept.segment);
            let untimed_ns = kept.has_untimed.then_some(kept.read_ns);
            let last_ns = range.map(|(_, last_ns)| last_ns).max(untimed_ns);
            self.by_time.remove(&(kept.expires_ns, number));
            kept.expires_ns = last_ns.unwrap_or(i64::MIN);
            self.by_time.insert((kept.expires_ns, number));
            if last_ns.is_none() {
                self.remove(number);
            }
        }
    }

    fn note_dropped(&mut self, last_ns: Option<i64>) {
        self.dropped_ns = self.dropped_ns.max(last_ns);
    }

    fn remove(&mut self, number: u64) {
        let Some(kept) = self.take(number) else { return };
        self.rows_left += kept.segment.rows();
        self.depart(number, kept.segment);
    }

    /// Keeps a removed segment available in [`Self::departed`].
    fn depart(&mut self, number: u64, segment: Arc<Segment>) {
        self.departed_bytes += segment.memory_bytes();
        self.departures.push_back(number);
        self.departed.insert(number, segment);
        // This is enough for a reader that queries a few times a second. A slower one counts all
        // rows again.
        while self.departed_bytes > self.kept_bytes / 8 + Self::DEPARTED_BYTES_MIN {
            self.forget_departed();
        }
    }

    /// Departed segments may take this many bytes, plus an eighth of the memory of the kept ones.
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

impl WindowSegment {
    /// Whether the segment has no permanent bounds of its own.
    fn is_unbounded(&self) -> bool {
        (self.first_ns, self.last_ns) == (i64::MIN, i64::MAX)
    }

    /// Returns the bounds after rows before `floor_ns` have expired. Bounds that exclude no row are
    /// returned as unbounded, so that they are equal as long as the rows are.
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

    use weir_core::{
        Block, BlockLimits, BlockReader, Format, Segment, SnapshotSegment, TimeBounds, Values,
    };

    use super::{ReadAt, Window};
    use crate::pipeline::retention::WindowReach;

    const AT: ReadAt = ReadAt { machine_ns: 0, is_live: false };

    /// `count` segments of `rows` rows, of the sources in turn, one second apart.
    fn segments(count: usize, rows: usize, sources: u32) -> Vec<Segment> {
        segments_at((0..count).collect(), rows, sources)
    }

    /// A segment at each of these seconds.
    fn segments_at(seconds: Vec<usize>, rows: usize, sources: u32) -> Vec<Segment> {
        let mut values = Values::new(1 << 20);
        let format = Arc::new(Format::parse("$remote_addr $msec").expect("a format"));
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let segment = |number: usize| {
            let line = |row: usize| format!("192.0.2.{row} {}.000\n", 1_760_000_000 + number);
            let block = Block::new((0..rows).map(line).collect::<String>().into());
            let read = reader.read(&block, number as u32 % sources);
            let resolved = reader.resolve(read, || &mut values);
            reader.seal(resolved).into_segment()
        };
        seconds.into_iter().map(segment).collect()
    }

    #[test]
    fn segments_that_left_leave_no_state_behind() {
        // Times that alternate between far ahead and far behind agree with nothing.
        let odd = (0..2_000).map(|number| if number % 2 == 0 { 2_000_000 } else { 0 });
        let seconds = std::iter::repeat_n(1_000_000, 20).chain(odd).collect();
        let segments = segments_at(seconds, 1, 1);
        let bytes_max = segments[0].memory_bytes() * 64;
        let mut window = Window::new(Some(std::time::Duration::from_secs(60)));
        for segment in segments {
            window.push(Arc::new(segment), AT);
            window.shrink_to(bytes_max);
        }
        assert!(window.kept.len() <= 100, "{}", window.kept.len());
        assert!(window.ahead.len() <= 100, "{}", window.ahead.len());
    }

    #[test]
    fn departed_segments_stay_for_a_while_within_the_memory() {
        // Too large to be merged.
        let segments = segments(200, 2_048, 1);
        let bytes_max = segments[0].memory_bytes() * 64;
        let mut window = Window::new(None);
        for (number, segment) in (0u64..).zip(segments) {
            window.push(Arc::new(segment), AT);
            window.shrink_to(bytes_max);
            assert!(window.memory_bytes() <= bytes_max);
            let kept = window.kept.keys().copied().collect::<Vec<_>>();
            let first = kept[0];
            assert_eq!(kept, (first..=number).collect::<Vec<_>>(), "the last ones read");
            if first > 0 {
                assert!(window.departed.contains_key(&(first - 1)), "{number}");
                assert!(kept.len() >= 56, "{}", kept.len());
            }
        }
        window.shrink_to(0);
        assert!(window.is_empty() && window.memory_bytes() == 0);
    }

    /// The time of a segment of [`segments_at`], in nanoseconds since 1970.
    fn at_ns(second: i64) -> Option<i64> {
        Some((1_760_000_000 + second) * 1_000_000_000)
    }

    #[test]
    fn a_window_knows_how_far_it_reaches_back() {
        let mut window = Window::new(None);
        assert_eq!(window.reach(), WindowReach::default());
        let seconds = [7, 3].into_iter().chain(8..100).collect();
        segments_at(seconds, 1, 1).into_iter().for_each(|read| window.push(Arc::new(read), AT));
        let all = WindowReach { floor_ns: None, oldest_ns: at_ns(3), dropped_ns: None };
        assert_eq!(window.reach(), all);
        // Segments that were merged have left, too, and are forgotten first.
        window.shrink_to(window.kept_bytes * 3 / 4);
        let kept = window.kept.values().filter_map(|kept| kept.segment.time_range_ns());
        let first_ns = kept.map(|(first_ns, _)| first_ns).min();
        let dropped_ns = first_ns.map(|first_ns| first_ns - 1_000_000_000);
        assert!(dropped_ns >= at_ns(7), "the second before what is kept");
        assert_eq!(window.reach(), WindowReach { dropped_ns, ..all });

        let mut window = Window::new(Some(std::time::Duration::from_secs(60)));
        for read in segments_at((0..100).collect(), 1, 1) {
            window.push(Arc::new(read), AT);
        }
        let reach = WindowReach { floor_ns: at_ns(39), oldest_ns: at_ns(0), dropped_ns: None };
        assert_eq!(window.reach(), reach);
    }

    #[test]
    fn a_restored_window_does_not_claim_what_was_dropped_before() {
        let stored = |number: u64, second: usize| SnapshotSegment {
            number,
            segment: Arc::new(segments_at(vec![second], 1, 1).remove(0)),
            bounds: TimeBounds::ALL,
        };
        for (first, dropped_ns) in [(0, None), (5, at_ns(50))] {
            let mut window = Window::new(None);
            window.restore(stored(first, 50), AT);
            window.restore(stored(first + 1, 51), AT);
            let reach = WindowReach { floor_ns: None, oldest_ns: at_ns(50), dropped_ns };
            assert_eq!(window.reach(), reach);
        }
    }

    #[test]
    fn a_quiet_feed_makes_few_segments() {
        for width in [None, Some(std::time::Duration::from_secs(100_000))] {
            let mut window = Window::new(width);
            let (mut most, mut read) = (0, Vec::new());
            for (number, segment) in segments(5_000, 3, 1).into_iter().enumerate() {
                segment.for_each_time_ns(|time_ns| read.push(time_ns));
                window.push(Arc::new(segment), AT);
                most = most.max(window.kept.len());
                if number % 97 == 0 || number == 4_999 {
                    let mut kept = Vec::new();
                    for kept_segment in window.segments().iter() {
                        kept_segment.segment.for_each_time_ns(|time_ns| kept.push(time_ns));
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
        segments(5_000, 3, 50).into_iter().for_each(|segment| window.push(Arc::new(segment), AT));
        assert!(window.kept.len() < 1_000, "{}", window.kept.len());
        assert_eq!(window.rows_kept, 15_000);
    }
}
