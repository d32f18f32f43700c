//! The data set: distinct values, segments, and the sources they came from.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use weir_core::{
    DerivedCatalog, Format, FormatChoice, OffsetDays, PendingSegment, RecordKind, RequestCounts,
    SegmentList, Snapshot, Snapshots, Values,
};
use weir_sync::{Lock, ReadWriteLock};

use super::read_totals::ReadTotals;
use super::reorder::{ParsedBlock, ReorderBuffer};
use super::request_totals::{RequestGroup, RequestTotals};
use super::retention::{MachineClock, Retention, RetentionPolicy, WindowReach};
use super::subscribers::{OrderedSegments, Subscribers};
use super::total_memory::{CountedMemory, TotalMemory};
use crate::progress::{SourceProgress, SourceSnapshot};
use crate::restored_place::RestoredPlace;

/// The parsed lines of all sources. The parsers add to it, and any thread may query it.
///
/// Locks are taken in the order of the fields: `reorder` first, `values` last.
pub struct DataSet {
    retention: Retention,
    memory_bytes_max: usize,
    /// Blocks that were parsed before their turn. Blocks are appended only while this is locked.
    reorder: Lock<ReorderBuffer>,
    pub(super) policy: Arc<dyn RetentionPolicy>,
    subscribers: Arc<Subscribers>,
    sources: ReadWriteLock<Vec<Arc<SourceProgress>>>,
    pub(super) formats: ReadWriteLock<Vec<Arc<Format>>>,
    values: Arc<ReadWriteLock<Values>>,
    /// Whether the record that determined the zone offset was removed, and no other record with a
    /// time has been read.
    pub(crate) lacks_offset: AtomicBool,
    /// The offsets of all requests.
    pub(super) offset_days: Lock<OffsetDays>,
    /// Blocks appended so far.
    pub(crate) blocks: AtomicU64,
    version: watch::Sender<u64>,
    counted: OnceLock<CountedMemory>,
    totals: OnceLock<ReadTotals>,
    requests: OnceLock<RequestTotals>,
    keeps_sums: AtomicBool,
}

impl DataSet {
    /// Creates an empty data set that takes at most `memory_bytes_max` bytes. If all segments are
    /// kept, half is for the distinct values. `columns` names extra fields of a question, which
    /// then exist before a format with them is found.
    pub fn new(retention: Retention, memory_bytes_max: usize, columns: &[String]) -> Arc<Self> {
        let now = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
        };
        Self::with_clock(retention, memory_bytes_max, columns, Box::new(now))
    }

    /// [`Self::new`] with another clock of the machine.
    pub fn with_clock(
        retention: Retention,
        memory_bytes_max: usize,
        columns: &[String],
        machine_clock: MachineClock,
    ) -> Arc<Self> {
        let mut values = Values::new(retention.values_bytes_max(memory_bytes_max));
        add_columns(&mut values, columns);
        let values = Arc::new(ReadWriteLock::new(values));
        let subscribers = Arc::default();
        Arc::new(Self {
            retention,
            memory_bytes_max,
            reorder: Lock::default(),
            policy: retention.policy(memory_bytes_max, &values, &subscribers, machine_clock),
            subscribers,
            sources: ReadWriteLock::default(),
            formats: ReadWriteLock::default(),
            values,
            lacks_offset: AtomicBool::new(false),
            offset_days: Lock::default(),
            blocks: AtomicU64::new(0),
            version: watch::Sender::new(0),
            counted: OnceLock::new(),
            totals: OnceLock::new(),
            requests: OnceLock::new(),
            keeps_sums: AtomicBool::new(false),
        })
    }

    /// The distinct values. Parsers wait while this is held.
    pub fn values(&self) -> RwLockReadGuard<'_, Values> {
        self.values.read()
    }

    /// Adds text columns, unless they are known already.
    pub fn add_columns(&self, names: &[String]) {
        // A caller that holds the values may ask again for columns that it has added.
        if !has_columns(&self.values(), names) {
            add_columns(&mut self.values_mut(), names);
        }
    }

    /// Lets questions name the derived fields of a catalog; see [`Values::derive_with`].
    pub fn derive_with(&self, catalog: Arc<dyn DerivedCatalog>) {
        self.values_mut().derive_with(catalog);
    }

    /// Charges each value with what answers keep of it; see [`Values::charge_answers`].
    pub fn charge_answers(&self, bytes_of_each: usize) {
        self.values_mut().charge_answers(bytes_of_each);
    }

    /// Which segments are kept.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// Returns how far the window reaches back, if there is one.
    pub fn reach(&self) -> WindowReach {
        self.policy.reach()
    }

    /// Returns a consistent snapshot of the kept segments and all sources: the counts of the
    /// sources cover exactly the blocks up to the last segment.
    pub fn snapshot(&self) -> Snapshot<SourceSnapshot> {
        let _reorder = self.reorder.lock();
        // The epoch is read before the segments. If ids are reused between the two, it is too old,
        // which readers detect.
        let epoch = self.values().reuses();
        let (segments, departed) = self.policy.segments();
        let all = self.all_sources();
        let kept = || all.iter().filter(|source| !source.is_removed());
        let mut formats = self.formats();
        if kept().count() < all.len() {
            formats.retain(|format| kept().any(|source| source.has_used(format)));
        }
        let sources = kept().map(|source| source.snapshot()).collect();
        Snapshot { segments, departed, sources, formats, epoch }
    }

    /// Registers a consumer of all segments that are appended from now on, in the order of the
    /// log. The parsers pause while more than `capacity` segments wait for it.
    pub fn subscribe(&self, capacity: usize) -> OrderedSegments {
        let _reorder = self.reorder.lock();
        self.subscribers.add(capacity)
    }

    /// Ends the consumers when all blocks are parsed, after the segments that wait for them.
    pub(super) fn finish_subscribers(&self) {
        self.subscribers.finish();
    }

    /// The sources in the order they were opened, without those that were removed.
    pub fn sources(&self) -> Vec<Arc<SourceProgress>> {
        let mut sources = self.all_sources();
        sources.retain(|source| !source.is_removed());
        sources
    }

    /// The source of this number, unless it was removed.
    pub fn source(&self, number: u32) -> Option<Arc<SourceProgress>> {
        let sources = self.sources.read();
        sources.get(number as usize).filter(|source| !source.is_removed()).cloned()
    }

    /// Removes a source with all of its records and lines. From then on every answer is as if the
    /// source had never been read. Returns whether it existed.
    ///
    /// A source that is being read is cancelled. The memory of its records becomes free; that of
    /// its distinct values only if the window of a feed moves on. Records of other sources that the
    /// memory limit or the window had already excluded do not return.
    pub fn remove_source(&self, number: u32) -> bool {
        // No block is appended meanwhile, so no record of the source can follow.
        let _reorder = self.reorder.lock();
        let Some(source) = self.source(number) else { return false };
        source.remove();
        self.policy.remove_source(number);
        let sources = self.sources();
        let first = sources.iter().filter_map(|source| source.first_offset()).min();
        let offset_s = first.map(|(_, offset_s)| offset_s);
        self.lacks_offset.store(offset_s.is_none(), Ordering::Relaxed);
        let mut days = OffsetDays::default();
        sources.iter().for_each(|source| source.add_offset_days_to(&mut days));
        let several = days.has_several().then(|| days.clone());
        *self.offset_days.lock() = days;
        let mut values = self.values_mut();
        values.replace_first_offset_s(offset_s);
        values.replace_offset_days(several);
        drop(values);
        self.report_memory();
        self.touch();
        true
    }

    /// Reports the memory of the data set to the total of [`Self::count_in`].
    pub(super) fn report_memory(&self) {
        if let Some(counted) = self.counted.get() {
            counted.set(self.memory_bytes());
        }
    }

    pub(crate) fn all_sources(&self) -> Vec<Arc<SourceProgress>> {
        self.sources.read().clone()
    }

    /// No block is appended while the result lives.
    pub(crate) fn lock_appends(&self) -> impl Drop {
        self.reorder.lock()
    }

    /// The segments of the data set.
    pub(crate) fn segments(&self) -> SegmentList {
        self.policy.segments().0
    }

    /// A source that another process has read, and that goes on under this name; each once.
    pub(super) fn take_restored(&self, name: &str) -> Option<Arc<SourceProgress>> {
        let sources = self.sources.read();
        // They come first. Thousands of files may be opened, so the others are not looked at.
        let restored = sources.partition_point(|source| source.is_restored());
        // Of several with the name, the last one has ended last.
        let mut restored = sources[..restored].iter().rev();
        restored.find(|source| source.name() == name && source.resume()).cloned()
    }

    /// The places in files up to which another process has read the sources.
    pub(super) fn restored_places(&self) -> Vec<RestoredPlace> {
        let sources = self.sources.read();
        let restored = sources.iter().take_while(|source| source.is_restored());
        let places = restored.filter(|source| source.is_kept()).flat_map(|source| {
            let name: Arc<str> = source.name().into();
            let of_source = move |place| RestoredPlace { source: name.clone(), place };
            source.restored_places().into_iter().map(of_source)
        });
        places.collect()
    }

    /// How the lines after those are read that another process has read of a source.
    pub(super) fn format_after(&self, source: &str, choice: FormatChoice) -> FormatChoice {
        let sources = self.sources.read();
        let mut restored = sources.iter().take_while(|known| known.is_restored());
        match restored.find(|known| known.name() == source) {
            Some(known) => known.format_after(choice),
            None => choice,
        }
    }

    /// Cancels every source that has not ended.
    pub(super) fn cancel_sources(&self) {
        for source in self.sources() {
            source.cancel();
        }
        self.touch();
    }

    /// All formats that lines of the sources were read with.
    pub fn formats(&self) -> Vec<Arc<Format>> {
        self.formats.read().clone()
    }

    /// Memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.values().memory_bytes() + self.policy.memory_bytes()
    }

    /// Reserves memory of a window, in bytes, for what is not in the data set but grows with it.
    pub(super) fn reserve(&self, bytes: usize) {
        self.policy.reserve(bytes);
    }

    /// Memory that may be taken, in bytes.
    pub fn memory_bytes_max(&self) -> usize {
        self.memory_bytes_max
    }

    /// Whether the memory is full, so that sources have to stop.
    pub fn is_full(&self) -> bool {
        self.policy.is_full()
    }

    /// Adds the memory of the data set to a shared total from now on. Its own limit still applies.
    /// Only the first call has an effect.
    pub fn count_in(&self, total: &TotalMemory) {
        self.counted.get_or_init(|| CountedMemory::new(total.clone())).set(self.memory_bytes());
    }

    /// Lets the lines of files that are opened from now on be compared with what they were when they
    /// are read again. Their bytes are summed while they are read.
    pub fn keep_sums(&self) {
        self.keeps_sums.store(true, Ordering::Relaxed);
    }

    pub(super) fn keeps_sums(&self) -> bool {
        self.keeps_sums.load(Ordering::Relaxed)
    }

    /// Adds the counts of all further blocks to shared totals. Only the first call has an effect.
    pub fn add_reads_to(&self, totals: &ReadTotals) {
        self.totals.get_or_init(|| totals.clone());
    }

    /// Counts the requests of all further blocks. Only the first call has an effect.
    pub fn count_requests(&self, totals: RequestTotals) {
        self.requests.get_or_init(|| totals);
    }

    pub(super) fn request_totals(&self) -> Option<&RequestTotals> {
        self.requests.get()
    }

    /// Returns the counts of [`Self::count_requests`], from the moment on when all files that are
    /// followed have been read to their ends for the first time. Before it, a monitoring system would
    /// take the requests of days for those of a few seconds.
    pub fn request_counts(&self) -> Option<Vec<(RequestGroup, RequestCounts)>> {
        let totals = self.requests.get()?;
        let is_current = || {
            let sources = self.sources();
            !sources.is_empty() && sources.iter().all(|source| source.is_current())
        };
        totals.have_reached_present(is_current).then(|| totals.groups())
    }

    /// Takes the data set out of the total of [`Self::count_in`], because it is being dropped: its
    /// memory is freed as soon as its threads have noticed.
    pub fn leave_total(&self) {
        if let Some(counted) = self.counted.get() {
            counted.leave();
        }
    }

    /// Whether the sources may go on as far as the total of [`Self::count_in`] is concerned. Drops
    /// other data sets that may go if it is reached.
    pub(super) fn has_room_in_total(&self) -> bool {
        let has_room = || self.counted.get().is_none_or(|counted| counted.total().has_room());
        matches!(self.retention, Retention::Window { .. }) || has_room()
    }

    /// A number that grows whenever something here changes.
    pub fn version(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Waits until every source has ended and is parsed up to its end.
    pub async fn wait_for_ends(&self) {
        let has_ended = |source: &Arc<SourceProgress>| source.end().is_some();
        let are_ended = |_: &u64| self.all_sources().iter().all(has_ended);
        // The sender lives in `self`, so this cannot fail.
        let _ = self.version().wait_for(are_ended).await;
    }

    /// Reports a change of something that is kept elsewhere, such as the state of a source.
    pub fn touch(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    pub(super) fn add_source(&self, source: &Arc<SourceProgress>) -> u32 {
        let mut sources = self.sources.write();
        let index = sources.len() as u32;
        source.set_number(index);
        sources.push(source.clone());
        drop(sources);
        self.touch();
        index
    }

    /// The index of a format. Its columns are added if it is new.
    pub(crate) fn add_format(&self, format: &Arc<Format>) -> usize {
        let is_same = |known: &Arc<Format>| known.is_same_as(format);
        let formats = self.formats.read();
        if let Some(index) = formats.iter().position(is_same) {
            return index;
        }
        drop(formats);
        let mut formats = self.formats.write();
        // Another thread may have added it meanwhile.
        if let Some(index) = formats.iter().position(is_same) {
            return index;
        }
        let mut values = self.values_mut();
        for name in format.extra_fields() {
            values.add_text_column(name);
        }
        formats.push(format.clone());
        formats.len() - 1
    }

    pub(super) fn values_mut(&self) -> RwLockWriteGuard<'_, Values> {
        self.values.write()
    }

    /// Notes that the values of another block have ids; see [`RetentionPolicy::note_resolved`].
    pub(super) fn note_resolved(&self) {
        self.policy.note_resolved();
    }

    /// Appends the block of a ticket, after those of all tickets before it. Returns how many were
    /// appended: none if an earlier one is missing, several if others waited for this one.
    pub(super) fn append(&self, ticket: u64, block: ParsedBlock) -> u64 {
        let mut reorder = self.reorder.lock();
        reorder.insert(ticket, block);
        let mut appended = 0;
        while let Some(block) = reorder.pop() {
            self.append_next(block);
            appended += 1;
        }
        self.subscribers.set_reordered(reorder.len());
        // Reported under the lock, so that an older amount never overwrites a newer one.
        self.report_memory();
        drop(reorder);
        self.touch();
        appended
    }

    fn append_next(&self, block: ParsedBlock) {
        let ParsedBlock { source, offset_end, counts, requests, is_live, segments } = block;
        // A source that was cancelled does not grow.
        match segments.filter(|_| !source.has_gap() && !source.is_cancelled()) {
            Some(segments) => {
                let block = self.blocks.fetch_add(1, Ordering::Relaxed);
                source.note_offset(block, || first_offset_s(&segments));
                if self.lacks_offset.load(Ordering::Relaxed) {
                    let offset_s = first_offset_s(&segments);
                    self.lacks_offset.store(offset_s.is_none(), Ordering::Relaxed);
                    self.values_mut().replace_first_offset_s(offset_s);
                }
                self.note_offset_days(&source, &segments);
                // Before the segments, so that their consumers find the formats of the source.
                let bytes = source.count(&counts, offset_end);
                if let Some(totals) = self.totals.get() {
                    totals.add(bytes, &counts);
                }
                if let Some(totals) = self.requests.get() {
                    totals.add(&requests);
                }
                for segment in segments {
                    self.policy.append(segment, is_live, &self.subscribers);
                }
            }
            None => source.note_gap(),
        }
        source.set_parsed(offset_end);
    }

    /// Notes the offsets of the requests of a block. The values have them only if there are several,
    /// so that most blocks need no exclusive access.
    fn note_offset_days(&self, source: &SourceProgress, segments: &[PendingSegment]) {
        let mut days = OffsetDays::default();
        for segment in segments.iter().map(PendingSegment::segment) {
            if let Some(times) = segment.times().filter(|_| segment.kind() == RecordKind::Request) {
                days.add(times);
            }
        }
        source.add_offset_days(&days);
        let mut all = self.offset_days.lock();
        let had_several = all.has_several();
        all.merge(&days);
        if had_several || all.has_several() {
            self.values_mut().add_offset_days(if had_several { &days } else { &all });
        }
    }

    /// Whether the parsers should pause.
    pub(super) fn must_pause(&self) -> bool {
        self.policy.must_pause() || self.subscribers.must_pause()
    }

    /// Waits while the parsers should pause. A thread must not wait while it holds a parsed block
    /// that is not appended.
    pub(super) fn wait_for_room(&self) {
        self.policy.wait_for_room();
        self.subscribers.wait_for_room();
    }
}

/// Adds text columns, unless they are known already.
fn has_columns(values: &Values, names: &[String]) -> bool {
    names.iter().all(|name| values.schema().text_column_by_name(name).is_some())
}

fn add_columns(values: &mut Values, names: &[String]) {
    for name in names {
        if values.schema().text_column_by_name(name).is_none() {
            values.add_text_column(name);
        }
    }
}

/// Returns the zone offset, in seconds, of the first record with a time in the segments of a block.
fn first_offset_s(segments: &[PendingSegment]) -> Option<i32> {
    let first = segments.iter().filter_map(|segment| segment.segment().first_timed_record());
    first.min().map(|(_, offset_s)| offset_s)
}

impl Snapshots for DataSet {
    type Source = SourceSnapshot;

    fn values(&self) -> impl std::ops::Deref<Target = Values> {
        self.values()
    }

    fn snapshot(&self) -> Snapshot<SourceSnapshot> {
        self.snapshot()
    }

    fn memory_bytes_max(&self) -> usize {
        self.memory_bytes_max
    }

    fn window_ns(&self) -> Option<i64> {
        let Retention::Window { width: Some(width) } = self.retention else { return None };
        i64::try_from(width.as_nanos()).ok()
    }
}

impl fmt::Debug for DataSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DataSet")
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}
