//! Columns: the records of one block, packed and immutable.

mod codes;
mod generation;
mod merge;
mod numbers;
mod row_bits;
mod segment;
mod selection;

pub use codes::{ABSENT, Codes, REMAINDER};
pub use numbers::Numbers;
pub use row_bits::RowBits;
pub use segment::Segment;
pub use selection::Selection;

pub(crate) use generation::{Generation, Generations, InFlight};
pub(crate) use segment::{decode_offset, decode_time, encode_offset, encode_time};
