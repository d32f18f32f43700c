//! What a snapshot says of its sources.

use std::sync::Arc;

use crate::format::Format;

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
    /// newest; [`crate::Snapshot::formats`] has all.
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
