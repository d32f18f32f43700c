//! Columns: the records of one block, packed and immutable.

mod codes;
mod merge;
mod numbers;
mod row_bits;
mod segment;
mod selection;
mod times;

pub use codes::{ABSENT, Codes, REMAINDER};
pub use numbers::Numbers;
pub use row_bits::RowBits;
pub use segment::{ColumnRef, Segment};
pub use selection::Selection;
pub use times::Times;

pub(crate) use segment::ColumnData;
