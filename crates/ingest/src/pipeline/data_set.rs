//! The data set: distinct values, segments, and the sources they came from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use weir_core::{Format, LiveIds, ReadBefore, Segment, Values};

use super::window::{Cleaning, ReadAt, Slot, Window, WindowLimits};
use crate::progress::{BlockCounts, SourceProgress, SourceSnapshot};

/// What becomes of the segments of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// They are kept in memory, for questions to come.
    Segments,
    /// They are kept until they are too old; see [`DataSet::moment`].
    Window {
        /// How far back from the newest time, by the log's own; `None` where only memory
        /// bounds the window.
        width: Option<Duration>,
    },
    /// They are dropped when the question of the pipeline has been asked of them, so that
    /// memory holds the distinct values alone.
    ValuesOnly,
}

/// This machine's time, in nanoseconds since 1970.
pub type MachineClock = Box<dyn Fn() -> i64 + Send + Sync>;

/// What was parsed so far. Shared by the parsers that add to it and by everyone who asks.
pub struct DataSet {
    keep: Keep,
    machine_clock: MachineClock,
    memory_bytes_max: usize,
    values: RwLock<Values>,
    segments: RwLock<Vec<Arc<Segment>>>,
    /// What has segments in their stead where the oldest leave.
    window: Option<Mutex<Window>>,
    cleaning: Arc<Cleaning>,
    segment_bytes: AtomicUsize,
    formats: RwLock<Vec<Arc<Format>>>,
    sources: RwLock<Vec<Arc<SourceProgress>>>,
    /// Segments that are sealed before their turn, by ticket.
    early: Mutex<Early>,
    version: watch::Sender<u64>,
}

/// A window at one moment.
#[derive(Debug)]
pub struct Moment {
    /// What is kept, in the order of the blocks.
    pub slots: Vec<Slot>,
    /// What has left not long ago, by number.
    pub departed: BTreeMap<u64, Arc<Segment>>,
    /// The sources in the order of [`DataSet::sources`], with all that they brought.
    pub sources: Vec<SourceSnapshot>,
    /// What [`Values::reuses`] was. Where it has grown since, ids may mean something else.
    pub reuses: u64,
}

#[derive(Debug, Default)]
struct Early {
    next: u64,
    sealed: BTreeMap<u64, Sealed>,
}

/// A block on its way into the data set.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) source: Arc<SourceProgress>,
    pub(super) offset_end: u64,
    pub(super) counts: BlockCounts,
    /// True where its lines had just been written.
    pub(super) is_live: bool,
    /// `None` where the block was dropped, as its source was cancelled.
    pub(super) segment: Option<Segment>,
}

impl DataSet {
    /// An empty data set. `memory_bytes_max` bounds it: where segments are kept, half is
    /// for the distinct values. `columns` names extra fields that a question speaks of,
    /// before any format has brought them.
    pub fn new(keep: Keep, memory_bytes_max: usize, columns: &[String]) -> Arc<Self> {
        let now = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
        };
        Self::with_clock(keep, memory_bytes_max, columns, Box::new(now))
    }

    /// As [`Self::new`], on a machine with this clock.
    pub fn with_clock(
        keep: Keep,
        memory_bytes_max: usize,
        columns: &[String],
        machine_clock: MachineClock,
    ) -> Arc<Self> {
        let for_values = match keep {
            Keep::Segments => memory_bytes_max / 2,
            Keep::Window { .. } => WindowLimits::new(memory_bytes_max).values_bytes_max,
            Keep::ValuesOnly => memory_bytes_max,
        };
        let mut values = Values::new(for_values);
        for name in columns {
            if values.schema().text_column_by_name(name).is_none() {
                values.add_text_column(name);
            }
        }
        let data = Arc::new(Self {
            keep,
            machine_clock,
            memory_bytes_max,
            values: RwLock::new(values),
            segments: RwLock::default(),
            window: match keep {
                Keep::Window { width } => Some(Mutex::new(Window::new(width))),
                Keep::Segments | Keep::ValuesOnly => None,
            },
            segment_bytes: AtomicUsize::new(0),
            formats: RwLock::default(),
            sources: RwLock::default(),
            early: Mutex::default(),
            version: watch::Sender::new(0),
            cleaning: Arc::default(),
        });
        if data.window.is_some() {
            data.cleaning.start(&data);
        }
        data
    }

    /// The distinct values. Parsers wait while this is held.
    pub fn values(&self) -> RwLockReadGuard<'_, Values> {
        self.values.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes of the segments.
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// The segments from number `from` on, in the order of their blocks. None where they are
    /// kept until they are too old, see [`Self::moment`].
    pub fn segments_from(&self, from: usize) -> Vec<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.get(from..).unwrap_or_default().to_vec()
    }

    /// The segments from number `from` on, and the sources in the order of
    /// [`Self::sources`], at one and the same moment: the sources' records are those of all
    /// segments up to here.
    pub fn snapshot(&self, from: usize) -> (Vec<Arc<Segment>>, Vec<SourceSnapshot>) {
        // Blocks are taken in under this lock.
        let _early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = self.sources().iter().map(|source| source.snapshot()).collect();
        (self.segments_from(from), sources)
    }

    /// What is kept at this moment, where the oldest leaves.
    pub fn moment(&self) -> Option<Moment> {
        let window = self.window.as_ref()?;
        // Blocks are taken in under this lock.
        let _early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        // First: what is seen after it was there before ids are used again.
        let reuses = self.values().reuses();
        let window = window.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = self.sources().iter().map(|source| source.snapshot()).collect();
        Some(Moment { slots: window.slots(), departed: window.departed(), sources, reuses })
    }

    /// The sources in the order they were opened.
    pub fn sources(&self) -> Vec<Arc<SourceProgress>> {
        self.sources.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cancels every source that has not ended.
    pub(super) fn cancel_sources(&self) {
        for source in self.sources() {
            source.cancel();
        }
        self.touch();
    }

    /// The formats that sources turned out to have.
    pub fn formats(&self) -> Vec<Arc<Format>> {
        self.formats.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.values().memory_bytes() + self.segment_bytes.load(Ordering::Relaxed)
    }

    /// Memory that may be taken, in bytes.
    pub fn memory_bytes_max(&self) -> usize {
        self.memory_bytes_max
    }

    /// True where no more can be kept.
    pub fn is_full(&self) -> bool {
        // The values bound themselves, see `Values::new`, and a window makes room.
        if self.keep != Keep::Segments {
            return false;
        }
        let segments_max = self.memory_bytes_max - self.memory_bytes_max / 2;
        self.segment_bytes.load(Ordering::Relaxed) >= segments_max
    }

    /// A number that grows whenever something here has changed.
    pub fn version(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Says that something has changed that is kept elsewhere, such as a source's state.
    pub fn touch(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    pub(super) fn add_source(&self, source: &Arc<SourceProgress>) -> u32 {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        let index = sources.len() as u32;
        sources.push(source.clone());
        drop(sources);
        self.touch();
        index
    }

    /// The index of a format, which gets its columns when it is new.
    pub(crate) fn add_format(&self, format: &Arc<Format>) -> usize {
        let mut formats = self.formats.write().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Arc<Format>| {
            known.name() == format.name() && known.definition() == format.definition()
        };
        if let Some(index) = formats.iter().position(is_it) {
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
        self.values.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in block number `ticket`; it becomes visible when all before it are.
    pub(super) fn append(&self, ticket: u64, sealed: Sealed) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.sealed.insert(ticket, sealed);
        loop {
            let next = early.next;
            let Some(sealed) = early.sealed.remove(&next) else { break };
            early.next += 1;
            let Sealed { source, offset_end, counts, is_live, segment } = sealed;
            // A source that has been given up does not go on to grow.
            match segment.filter(|_| !source.has_gap() && !source.is_cancelled()) {
                Some(segment) => {
                    self.take(segment, is_live);
                    source.count(&counts, offset_end);
                }
                None => source.drop_rest(),
            }
            source.parsed_to(offset_end);
        }
        drop(early);
        self.touch();
    }

    fn take(&self, segment: Segment, is_live: bool) {
        if let Some(window) = &self.window {
            self.take_into(window, segment, is_live);
        } else if self.keep == Keep::Segments {
            self.segment_bytes.fetch_add(segment.memory_bytes(), Ordering::Relaxed);
            let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
            segments.push(Arc::new(segment));
        }
    }

    /// Takes a segment into the window. Only one at a time does so.
    fn take_into(&self, window: &Mutex<Window>, mut segment: Segment, is_live: bool) {
        if self.values().was_read_before(&segment) {
            self.values_mut().keep_all_of(&segment);
        }
        segment.arrive();
        let limits = self.limits();
        let (values_bytes, used_bytes) = {
            let values = self.values();
            (values.memory_bytes(), values.used_bytes())
        };
        let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
        window.push(segment, ReadAt { machine_ns: (self.machine_clock)(), is_live });
        window.shrink_to(limits.segment_bytes_max(values_bytes));
        self.segment_bytes.store(window.memory_bytes(), Ordering::Relaxed);
        let is_worth = used_bytes >= limits.values_bytes_light && window.has_moved_on();
        if is_worth || used_bytes >= limits.values_bytes_heavy {
            self.cleaning.want(used_bytes >= limits.values_bytes_pressed);
        }
    }

    pub(super) fn limits(&self) -> WindowLimits {
        WindowLimits::new(self.memory_bytes_max)
    }

    /// True where no more should be parsed for the moment.
    pub(super) fn is_pressed(&self) -> bool {
        self.cleaning.is_pressed()
    }

    /// Waits while no more should be parsed. Nobody may wait who has parsed a block that has
    /// not been appended.
    pub(super) fn wait_for_room(&self) {
        self.cleaning.wait_for_room();
    }

    /// The segments of the window, and the number of the next. Where values are heavy, a part
    /// of them leaves before.
    pub(super) fn segments_for_cleaning(&self, is_heavy: bool) -> Option<(Vec<Arc<Segment>>, u64)> {
        let mut window = self.window.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        if is_heavy {
            window.shrink_by_a_quarter();
            self.segment_bytes.store(window.memory_bytes(), Ordering::Relaxed);
        }
        Some(window.segments_for_cleaning())
    }

    /// Begins to give up all values but those that are live and those of the segments from
    /// number `next` on.
    pub(super) fn begin_sweep(&self, mut live: LiveIds, next: u64) -> ReadBefore {
        // Blocks are taken in under this lock.
        let _early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = self.values_mut();
        if let Some(window) = &self.window {
            let window = window.lock().unwrap_or_else(PoisonError::into_inner);
            window.segments_since(next).for_each(|segment| live.mark(segment));
        }
        values.begin_sweep(live)
    }

    /// Goes on with it; true where there is more to do.
    pub(super) fn sweep(&self, ids_max: usize) -> bool {
        self.values_mut().sweep(ids_max)
    }

    pub(super) fn window_is_empty(&self) -> bool {
        self.window
            .as_ref()
            .is_none_or(|window| window.lock().unwrap_or_else(PoisonError::into_inner).is_empty())
    }
}

impl fmt::Debug for DataSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DataSet").field("keep", &self.keep).finish_non_exhaustive()
    }
}

impl Drop for DataSet {
    fn drop(&mut self) {
        self.cleaning.end();
    }
}
