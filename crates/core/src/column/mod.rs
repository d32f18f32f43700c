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
//!
//! # Why columns
//!
//! A question reads few fields of many records. With one array for each field it reads only those,
//! from memory in order, and a test or a sum is a short loop over small integers. Text is an id, so
//! equal texts are equal integers, and a count by value is an array indexed by id.
//!
//! # Order
//!
//! The codes of numbers and times have the order of what they stand for. So a range of times or
//! sizes is a range of codes, found with two divisions for each segment, and no row is decoded. The
//! ids of texts have no order but that of their first appearance.
//!
//! # Limits
//!
//! A segment has as many rows as its block has records, below 2^32. All columns of a segment have
//! that many rows, and none is empty: a column that no row has is left out.
//!
//! # Example
//!
//! Four records, of a status (text), a size (number) and a time:
//!
//! ```text
//! row   status       size               time
//! 0     2 "200"      251  1,250 bytes   1   09:03:01
//! 1     2 "200"        0  absent        2   09:03:02
//! 2     3 "404"        1  1,000 bytes   2   09:03:02
//! 3     2 "200"      251  1,250 bytes   0   absent
//!       U8           U8                 U8
//! ```

mod codes;
mod merge;
mod numbers;
mod offset_days;
mod parts;
mod row_bits;
mod segment;
mod selection;
mod times;

pub use codes::{ABSENT, Codes, REMAINDER};
pub use numbers::Numbers;
pub use offset_days::OffsetDays;
pub use parts::{ColumnParts, SegmentParts};
pub use row_bits::RowBits;
pub use segment::{ColumnRef, Segment};
pub use selection::Selection;
pub use times::Times;

pub(crate) use segment::ColumnData;
