//! Reading: the lines of a block become the columns of a segment.

mod block_reader;
mod read_block;
mod target_columns;
mod text_column;
mod unwrapped;

pub use block_reader::BlockReader;
pub use read_block::{ReadBlock, ResolvedBlock, UnparsedLine};
