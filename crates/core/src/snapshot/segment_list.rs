//! The segments of a data set, in a list whose clones share their memory.

use std::sync::Arc;

use super::SnapshotSegment;

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

    use super::SegmentList;
    use crate::block::{Block, BlockLimits};
    use crate::filter::TimeBounds;
    use crate::format::Format;
    use crate::read::BlockReader;
    use crate::snapshot::SnapshotSegment;
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
