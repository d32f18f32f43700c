//! Reading: the lines of a block become the columns of a segment.
//!
//! ```text
//! Block --read--> ReadBlock --resolve--> ResolvedBlock --seal--> PendingSegment --admit--> Segment
//!        own ids             shared ids                 packed                   in the data set
//!        in parallel         in order                   in parallel
//! ```
//!
//! Each state is a type, so no step can be left out. Only `resolve` needs exclusive access to the
//! values of the data set, and only for values that this reader has not met before.
//!
//! `text_column` and `target_columns` hold the values that a reader has met; `unwrapped` removes
//! the escapes of wrapped lines.

mod block_reader;
mod read_block;
mod target_columns;
mod text_column;
mod unwrapped;

pub use block_reader::BlockReader;
pub use read_block::{ReadBlock, ResolvedBlock, UnparsedLine};
