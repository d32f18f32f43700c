//! Columns: the records of one block, packed and immutable.
//!
//! A [`Segment`] has one column for each field that some of its records have. Row `n` of every
//! column belongs to record `n`.
//!
//! | column | type | a row | an absent value |
//! |---|---|---|---|
//! | text | [`Codes`] | the id of a distinct value, see [`crate::Values`] | [`ABSENT`] |
//! | number | [`Numbers`] | steps of a unit above the smallest number | code 0 |
//! | time | [`Times`] | an instant and a zone offset, each as a number | code 0 in both |
//!
//! All are arrays of 8, 16, 32 or 64 bits, whichever is the narrowest that holds the segment's
//! values. A column in which all rows are equal takes no memory per row. Most columns of a log are
//! narrow in a block of 1 MiB, so a segment takes a fraction of its block.
//!
//! A set of rows is [`RowBits`], which are small and fast to combine, or a [`Selection`], which is
//! fast to iterate over.

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
