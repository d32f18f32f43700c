//! A data set at one moment, as plain data.
//!
//! A data set grows while questions about it are answered. A [`Snapshot`] is its state at one
//! moment: a list of segments that are shared, not copied, and what is known of the sources. It is
//! consistent: the counts of the sources include exactly the blocks whose segments are in the list.
//!
//! Three numbers make it possible to derive one answer from an earlier one:
//!
//! | number | changes | meaning |
//! |---|---|---|
//! | [`SnapshotSegment::number`] | never | the same number is the same segment, in any snapshot |
//! | [`SnapshotSegment::bounds`] | as rows expire | the rows that still count |
//! | [`Snapshot::epoch`] | as ids are freed and used again | ids of two snapshots may be compared only if it is equal |
//!
//! The module knows neither threads nor files: [`Snapshots`] and [`LogSource`] are what the owner
//! of a data set implements.

mod log_source;
mod segment_list;

pub use log_source::{LogSource, ReadCounts};
pub use segment_list::SegmentList;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::column::Segment;
use crate::filter::TimeBounds;
use crate::format::Format;
use crate::values::Values;

/// A data set as seen by the code that answers questions: snapshots, and the distinct values that
/// the ids in their segments stand for.
///
/// Code that answers questions is generic over this trait, so it needs neither the threads nor the
/// sources that fill the data set.
///
/// # Examples
///
/// ```
/// use std::ops::Deref;
/// use std::sync::Arc;
/// use weir_core::{
///     Format, LogSource, ReadCounts, SegmentList, Snapshot, Snapshots, Values,
/// };
///
/// /// A data set that never changes.
/// struct Archive {
///     values: Values,
///     segments: SegmentList,
/// }
///
/// /// A source without counts.
/// struct File;
///
/// impl LogSource for File {
///     fn read_counts(&self) -> ReadCounts {
///         ReadCounts::default()
///     }
///
///     fn format(&self) -> Option<&Arc<Format>> {
///         None
///     }
///
///     fn name(&self) -> &str {
///         "access.log"
///     }
/// }
///
/// impl Snapshots for Archive {
///     type Source = File;
///
///     fn values(&self) -> impl Deref<Target = Values> {
///         &self.values
///     }
///
///     fn snapshot(&self) -> Snapshot<File> {
///         Snapshot {
///             segments: self.segments.clone(),
///             departed: Default::default(),
///             sources: vec![File],
///             formats: Vec::new(),
///             epoch: self.values.reuses(),
///         }
///     }
///
///     fn memory_bytes_max(&self) -> usize {
///         1 << 30
///     }
/// }
///
/// let archive = Archive { values: Values::new(1 << 20), segments: SegmentList::default() };
/// let snapshot = archive.snapshot();
/// assert_eq!(snapshot.epoch, archive.values().reuses());
/// assert!(snapshot.segments.is_empty());
/// ```
///
/// # Order of calls
///
/// Take the snapshot first, then the values: these then include the values of all its segments. If
/// [`Values::reuses`] has grown beyond the snapshot's epoch meanwhile, take another snapshot. Drop
/// the values before the next snapshot, because both may need the same lock.
pub trait Snapshots {
    /// How a snapshot describes a source.
    type Source: LogSource;

    /// The distinct values. The data set may be unable to grow while this is held.
    ///
    /// They include the values of every segment in every snapshot that was taken before.
    fn values(&self) -> impl Deref<Target = Values>;

    /// The segments and the sources at this moment.
    ///
    /// See [`Snapshot`] for the cost.
    fn snapshot(&self) -> Snapshot<Self::Source>;

    /// Memory that the data set may take, in bytes.
    ///
    /// Code that keeps answers uses a part of it as its own limit.
    fn memory_bytes_max(&self) -> usize;

    /// How far the kept records reach back from the newest one, in nanoseconds, if the data set keeps a
    /// window of that width. It is the time axis of unlimited questions, so that bars move instead of
    /// becoming narrower.
    fn window_ns(&self) -> Option<i64> {
        None
    }
}

/// The segments and the sources of a data set at one moment.
///
/// The counts of the sources include exactly the blocks up to the last segment. Copies share
/// their segments, and taking a snapshot takes time in proportion to
/// `segments.len() / SegmentList::CHUNK`, unless rows expire.
///
/// It stays valid and unchanged while the data set grows or shrinks; the memory of a segment is
/// freed when the last snapshot with it is dropped.
///
/// `S` is how a source is described, see [`LogSource`].
///
/// # Examples
///
/// An answer over a snapshot counts the rows of each segment that have not expired:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Question, SegmentList, Snapshot,
///     SnapshotSegment, TimeBounds, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
/// let segment = reader.read_segment(&Block::new(b"::1 200\n::2 404\n".to_vec()), 0, &mut values);
///
/// let mut segments = SegmentList::default();
/// let bounds = TimeBounds::ALL;
/// segments.push(SnapshotSegment { number: 0, segment: Arc::new(segment), bounds });
/// let snapshot = Snapshot {
///     segments,
///     departed: Default::default(),
///     sources: vec!["access.log"],
///     formats: vec![format],
///     epoch: values.reuses(),
/// };
///
/// let mut evaluation = Evaluation::new(&Question::default());
/// evaluation.refresh(&values);
/// for kept in snapshot.segments.iter() {
///     assert_eq!(evaluation.pass_within(&kept.segment, &kept.bounds).len(), kept.rows());
///     evaluation.update(&kept.segment);
/// }
/// assert_eq!(evaluation.totals().records, 2);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Snapshot<S> {
    /// The segments in the order of their blocks.
    pub segments: SegmentList,
    /// Segments that left the data set a short time ago, by number. An answer that counted them
    /// can subtract them.
    ///
    /// They are not part of the answer. A segment that left before an answer counted it need not be
    /// here, and one that left long ago is not.
    pub departed: BTreeMap<u64, Arc<Segment>>,
    /// The sources in the order in which they were opened.
    pub sources: Vec<S>,
    /// All formats that lines of the sources were read with.
    pub formats: Vec<Arc<Format>>,
    /// [`Values::reuses`] at this moment. If it has grown since, an id may stand for another
    /// value. The ids in the segments of a snapshot never do.
    pub epoch: u64,
}

/// A segment in a snapshot, and which of its rows are still in the data set.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Format, SnapshotSegment, TimeBounds, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr [$time_iso8601]")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 [1970-01-01T00:00:00Z]\n::1 [1970-01-01T00:00:09Z]\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let mut kept = SnapshotSegment {
///     number: 0,
///     segment: Arc::new(segment),
///     bounds: TimeBounds::ALL,
/// };
/// assert_eq!(kept.rows(), 2);
/// kept.bounds = TimeBounds { first_ns: 5_000_000_000, ..TimeBounds::ALL };
/// assert_eq!(kept.rows(), 1);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SnapshotSegment {
    /// Segments are numbered in the order in which they were appended. No number is used twice.
    pub number: u64,
    /// The columns.
    pub segment: Arc<Segment>,
    /// The rows that have not expired.
    pub bounds: TimeBounds,
}

impl SnapshotSegment {
    /// Number of rows that have not expired.
    ///
    /// Takes no time if no row has expired; otherwise it may read the times of the segment.
    pub fn rows(&self) -> usize {
        match self.bounds {
            TimeBounds::ALL => self.segment.rows(),
            bounds => bounds.rows(&self.segment).len(),
        }
    }
}
