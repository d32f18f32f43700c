//! Columns: the records of one block, sealed and immutable.

mod block_reader;
mod codes;
mod dictionary;
mod numbers;
mod seen;
mod segment;
mod values;

pub use block_reader::{BlockReader, ReadBlock, UnmatchedLine};
pub use codes::Codes;
pub use dictionary::{ABSENT, Dictionary, REMAINDER};
pub use numbers::Numbers;
pub use segment::Segment;

pub(crate) use segment::{decode_offset, decode_time};
pub use values::{ColumnId, Values};
