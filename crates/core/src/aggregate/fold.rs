//! Results that can be computed over segments while they are read.
//!
//! The threads that parse a log know nothing of questions: they run a fold over each segment while
//! it is in the cache, and merge the folds at the end. [`crate::Evaluation`] is the usual one; `()`
//! is for a data set that is only stored.

use crate::column::Segment;
use crate::values::Values;

/// A computation over segments that can be divided among threads.
///
/// Each thread has a fold of its own. For each segment it calls [`Self::refresh`] while it can
/// access the values, then [`Self::update`], which needs the segment alone. At the end the folds
/// of all threads are merged. The segments of a thread are in no particular order, and merging
/// any division of the segments must give the result of a single fold over all of them.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Fold, Format, Segment, Values};
///
/// /// Counts the records.
/// #[derive(Default)]
/// struct Rows(usize);
///
/// impl Fold for Rows {
///     fn update(&mut self, segment: &Segment) {
///         self.0 += segment.rows();
///     }
///
///     fn merge(&mut self, other: &Self) {
///         self.0 += other.0;
///     }
/// }
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let mut rows = [Rows::default(), Rows::default()];
/// for fold in &mut rows {
///     let block = Block::new(b"192.0.2.7 200\n192.0.2.8 404\n".to_vec());
///     let segment = reader.read_segment(&block, 0, &mut values);
///     fold.refresh(&values);
///     fold.update(&segment);
/// }
/// let [mut all, other] = rows;
/// all.merge(&other);
/// assert_eq!(all.0, 4);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Implementing
///
/// `update` and `merge` must be associative and commutative: for any division of the segments,
/// `a.merge(b)` is what one fold over all of them would be. What a fold has learned by `refresh` is
/// not merged: both folds have learned it from the same values.
pub trait Fold {
    /// Looks at the values that were added since the last call. Does nothing by default.
    fn refresh(&mut self, values: &Values) {
        let _ = values;
    }

    /// Adds the records of a segment. [`Self::refresh`] must have seen all its values.
    ///
    /// Called once for each segment.
    fn update(&mut self, segment: &Segment);

    /// Adds the result of another fold of the same kind over other segments.
    ///
    /// No segment is in both.
    fn merge(&mut self, other: &Self);
}

/// Computes nothing.
impl Fold for () {
    fn update(&mut self, _: &Segment) {}

    fn merge(&mut self, (): &Self) {}
}

/// Computes nothing if there is no fold. Either all folds over the segments are there, or none is.
impl<F: Fold> Fold for Option<F> {
    fn refresh(&mut self, values: &Values) {
        if let Some(fold) = self {
            fold.refresh(values);
        }
    }

    fn update(&mut self, segment: &Segment) {
        if let Some(fold) = self {
            fold.update(segment);
        }
    }

    fn merge(&mut self, other: &Self) {
        if let (Some(fold), Some(other)) = (self, other) {
            fold.merge(other);
        }
    }
}
