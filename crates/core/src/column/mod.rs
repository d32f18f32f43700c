//! Columns: the records of one block, sealed and immutable.

mod block_reader;
mod codes;
mod dictionary;
mod generation;
mod live_ids;
mod merge;
mod numbers;
mod prefetch;
mod read_block;
mod seen;
mod segment;
mod sweep;
mod target_columns;
mod text_column;
mod unwrapped;
mod values;

pub use block_reader::BlockReader;
pub use codes::Codes;
pub use dictionary::{ABSENT, Dictionary, REMAINDER};
pub use live_ids::LiveIds;
pub use numbers::Numbers;
pub use read_block::{ReadBlock, UnmatchedLine};
pub use segment::Segment;

pub(crate) use segment::{decode_offset, decode_time, encode_time};
pub use sweep::ReadBefore;
pub use values::{ColumnId, Values};
