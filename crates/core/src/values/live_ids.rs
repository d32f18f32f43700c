//! The values that the segments of a data set use.
//!
//! A sweep needs to know which values are still in use. The ids of the segments are known, so a bit
//! for each id is set while the columns of all segments are read once. That is a scan over packed
//! arrays, which can be done without a lock, because segments are immutable and ids that are
//! assigned meanwhile count as live.
//!
//! Memory is one bit for each id of the data set.

use super::id_bits::IdBits;
use super::store::Values;
use crate::column::Segment;

/// The ids that occur in some segments, for every column. Ids that are assigned after this was
/// created count as live.
///
/// Mark every segment of the data set, then pass the set to [`Values::begin_sweep`]: the values of
/// all other ids are evicted. Marking reads each column once and costs a bit per id.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Field, Format, LiveIds, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let mut segment = |line: &str| reader.read_segment(&Block::new(line.into()), 0, &mut values);
/// let (_expired, kept) = (segment("192.0.2.1\n"), segment("192.0.2.2\n"));
/// drop(reader);
///
/// let mut live = LiveIds::new(&values);
/// live.mark(&kept);
/// let mut sweep = values.begin_sweep(live).unwrap().try_start().unwrap();
/// while sweep.advance(&mut values, 1_000) {}
/// let clients = values.dictionary(Field::Client.column());
/// assert_eq!(clients.find(b"192.0.2.1"), None);
/// assert!(clients.find(b"192.0.2.2").is_some());
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LiveIds {
    columns: Vec<IdBits>,
}

impl LiveIds {
    /// Returns a set in which none of the existing ids is live.
    pub fn new(values: &Values) -> Self {
        let bits = values.columns.iter().map(|column| IdBits::new(column.dictionary.ids()));
        Self { columns: bits.collect() }
    }

    /// Adds the ids that occur in a segment.
    ///
    /// Time is linear in the rows of the text columns.
    pub fn mark(&mut self, segment: &Segment) {
        for (id, codes) in segment.text_columns() {
            if let Some(bits) = self.columns.get_mut(id.index()) {
                bits.mark(codes);
            }
        }
    }

    /// By column id.
    /// Returns whether all marked ids have a value.
    pub fn have_values(&self, values: &Values) -> bool {
        let columns = self.columns.iter().zip(&values.columns);
        columns.into_iter().all(|(bits, column)| {
            column.dictionary.free_ids().iter().all(|id| !bits.contains(*id as usize))
        })
    }

    pub(super) fn into_columns(self) -> Vec<IdBits> {
        self.columns
    }
}
