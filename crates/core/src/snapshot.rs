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
}

/// A source of a data set: a file, a stream, a feed.
///
/// An implementation may be a snapshot of the source itself, or a handle whose counts were copied
/// at the moment of the snapshot. It should not change afterwards.
pub trait LogSource {
    /// The lines that were read of it.
    fn read_counts(&self) -> ReadCounts;

    /// The format that its lines are read with, once that is known.
    ///
    /// `None` while the first lines are still awaited. If the format of a source changed, the
    /// newest; [`Snapshot::formats`] has all.
    fn format(&self) -> Option<&Arc<Format>>;

    /// Its name, as a person knows it.
    fn name(&self) -> &str;

    /// The number by which rows name it. Without one, it is its place among the sources.
    fn number(&self) -> Option<u32> {
        None
    }

    /// Why it ended before it was read whole, as a sentence; `None` if it is whole, or has not
    /// ended.
    fn defect(&self) -> Option<String> {
        None
    }

    /// The number of records in each format, in the order in which the formats appeared.
    ///
    /// Empty if the source does not count them.
    fn records_by_format(&self) -> &[(Arc<Format>, u64)] {
        &[]
    }
}

/// Lines that were read, whether or not a filter accepts them.
///
/// Lines that are neither records, nor empty, unparsed or too long are directives of the format.
///
/// For a source in one format:
/// `lines = records + empty_lines + unparsed_lines + too_long_lines + directives`.
/// All counts are since the source was opened, of data that has expired as well.
///
/// # Examples
///
/// ```
/// use weir_core::ReadCounts;
///
/// let counts = ReadCounts { lines: 10, records: 8, unparsed_lines: 1, ..ReadCounts::default() };
/// assert_eq!(counts.directive_lines(), 1);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Lines read.
    pub lines: u64,
    /// Lines that match their format.
    pub records: u64,
    /// Lines without a text, which are in no format.
    pub empty_lines: u64,
    /// Lines that do not match their format.
    pub unparsed_lines: u64,
    /// Lines over the length limit.
    ///
    /// These are not among the unparsed lines.
    pub too_long_lines: u64,
    /// Bytes read, after decompression.
    ///
    /// Line ends and skipped bytes included.
    pub bytes_read: u64,
}

impl ReadCounts {
    /// The lines that describe other lines.
    pub fn directive_lines(&self) -> u64 {
        let others = [self.records, self.empty_lines, self.unparsed_lines, self.too_long_lines];
        self.lines.saturating_sub(others.iter().sum())
    }

    /// The counts of all sources together.
    ///
    /// All zeros if there is no source.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Format, LogSource, ReadCounts};
    ///
    /// /// A source with this many lines, all of them records.
    /// struct Lines(u64);
    ///
    /// impl LogSource for Lines {
    ///     fn read_counts(&self) -> ReadCounts {
    ///         ReadCounts { lines: self.0, records: self.0, ..ReadCounts::default() }
    ///     }
    ///
    ///     fn format(&self) -> Option<&Arc<Format>> {
    ///         None
    ///     }
    ///
    ///     fn name(&self) -> &str {
    ///         "lines"
    ///     }
    /// }
    ///
    /// let sum = ReadCounts::of_all(&[Lines(3), Lines(4)]);
    /// assert_eq!((sum.lines, sum.records, sum.unparsed_lines), (7, 7, 0));
    /// ```
    pub fn of_all<S: LogSource>(sources: &[S]) -> Self {
        let mut sum = Self::default();
        for counts in sources.iter().map(LogSource::read_counts) {
            sum.lines += counts.lines;
            sum.records += counts.records;
            sum.empty_lines += counts.empty_lines;
            sum.unparsed_lines += counts.unparsed_lines;
            sum.too_long_lines += counts.too_long_lines;
            sum.bytes_read += counts.bytes_read;
        }
        sum
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

/// A list of segments that only grows, and whose clones share their memory.
///
/// Appending to a clone leaves the original as it was:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Format, SegmentList, SnapshotSegment, TimeBounds, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let segment = reader.read_segment(&Block::new(b"192.0.2.7\n".to_vec()), 0, &mut values);
///
/// let before = SegmentList::default();
/// let mut after = before.clone();
/// let bounds = TimeBounds::ALL;
/// after.push(SnapshotSegment { number: 0, segment: Arc::new(segment), bounds });
/// assert_eq!((before.len(), after.len()), (0, 1));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Representation
///
/// Full chunks of [`Self::CHUNK`] segments, each shared between the clones that have it, and a last
/// one that is not full. So a clone of a list of `n` segments costs `n / CHUNK` reference counts,
/// and a push costs no more than a copy of one chunk's handles, once after each clone. There is no
/// removal: a data set whose rows expire builds a new list.
#[derive(Debug, Clone, Default)]
pub struct SegmentList {
    /// All full but the last.
    chunks: Vec<Arc<Vec<SnapshotSegment>>>,
    len: usize,
}

impl SegmentList {
    /// Segments in a chunk. A clone copies a pointer per chunk, and the first push after it
    /// copies at most one chunk.
    pub const CHUNK: usize = 128;

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a segment at the end.
    ///
    /// Clones that were taken before do not see it.
    pub fn push(&mut self, segment: SnapshotSegment) {
        match self.chunks.last_mut().filter(|last| last.len() < Self::CHUNK) {
            Some(last) => Arc::make_mut(last).push(segment),
            None => self.chunks.push(Arc::new(vec![segment])),
        }
        self.len += 1;
    }

    /// The segments in order.
    pub fn iter(&self) -> impl Iterator<Item = &SnapshotSegment> {
        self.iter_from(0)
    }

    /// The segments in order, without the first `start`.
    ///
    /// Whole chunks are skipped without being read. A `start` beyond the end yields nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{
    ///     Block, BlockLimits, BlockReader, Format, SegmentList, SnapshotSegment, TimeBounds, Values,
    /// };
    ///
    /// let format = Arc::new(Format::parse("$remote_addr")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let segment = Arc::new(reader.read_segment(&Block::new(b"::1\n".to_vec()), 0, &mut values));
    ///
    /// let numbered = |number| SnapshotSegment {
    ///     number,
    ///     segment: segment.clone(),
    ///     bounds: TimeBounds::ALL,
    /// };
    /// let list: SegmentList = (0..300).map(numbered).collect();
    /// let unseen: Vec<u64> = list.iter_from(298).map(|segment| segment.number).collect();
    /// assert_eq!(unseen, [298, 299]);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn iter_from(&self, start: usize) -> impl Iterator<Item = &SnapshotSegment> {
        let chunks = self.chunks.get(start / Self::CHUNK..).unwrap_or_default();
        chunks.iter().flat_map(|chunk| chunk.iter()).skip(start % Self::CHUNK)
    }
}

impl FromIterator<SnapshotSegment> for SegmentList {
    fn from_iter<I: IntoIterator<Item = SnapshotSegment>>(segments: I) -> Self {
        let mut list = Self::default();
        segments.into_iter().for_each(|segment| list.push(segment));
        list
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{SegmentList, SnapshotSegment};
    use crate::block::{Block, BlockLimits};
    use crate::filter::TimeBounds;
    use crate::format::Format;
    use crate::read::BlockReader;
    use crate::values::Values;

    #[test]
    fn a_clone_stays_as_it_was_while_the_list_grows() {
        let mut values = Values::new(1 << 20);
        let format = Arc::new(Format::parse("$remote_addr").expect("a format"));
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let read = reader.read(&Block::new(b"192.0.2.1\n".to_vec()), 0);
        let resolved = reader.resolve(read, || &mut values);
        let segment = Arc::new(reader.seal(resolved).into_segment());

        let mut list = SegmentList::default();
        let mut clones = Vec::new();
        for number in 0..3 * SegmentList::CHUNK as u64 + 1 {
            clones.push(list.clone());
            list.push(SnapshotSegment {
                number,
                segment: segment.clone(),
                bounds: TimeBounds::ALL,
            });
        }
        clones.push(list);
        for (len, list) in clones.iter().enumerate() {
            assert_eq!((list.len(), list.is_empty()), (len, len == 0));
            for start in [0, 1, SegmentList::CHUNK - 1, SegmentList::CHUNK, len, len + 1] {
                let numbers = list.iter_from(start).map(|segment| segment.number);
                assert!(numbers.eq(start as u64..len as u64), "{len} from {start}");
            }
        }
    }
}
