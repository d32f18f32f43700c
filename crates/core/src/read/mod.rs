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
//! A block may hold lines of several formats. The reader of the block's own format leaves the lines
//! that do not match (`left_lines`), readers of other formats read those of them that match theirs,
//! and each makes a segment of its own from the same block.
//!
//! `text_column` and `target_columns` hold the values that a reader has met; `unwrapped` removes
//! the escapes of wrapped lines.
//!
//! # Ids
//!
//! A reader gives each distinct value an id of its own when it meets it, so that parsing needs no
//! lock and no other thread. The shared id of a value is found once for each reader, and columns
//! are translated from own to shared ids when they are packed. Shared ids are given in the order of
//! the blocks, so the same log has the same ids, and the same remainder when memory runs out, on
//! any number of threads.
//!
//! # Memory
//!
//! A reader holds the values that it has met, at most 64 MiB or those of the blocks since the last
//! seal, and the unpacked columns of the block that it reads: four bytes for each row and text
//! column, eight for each number, sixteen for each time. The columns are reused for the next block.
//!
//! # What a block can contain
//!
//! Anything. A line of the format is a row; any other line is counted as unparsed, as a directive
//! of the format or as too long, and the first few unparsed ones are kept as samples. The counts
//! add up to the lines of the block.

mod block_reader;
mod derived_columns;
mod left_lines;
mod read_block;
mod target_columns;
mod text_column;
mod unwrapped;

pub use block_reader::BlockReader;
pub use left_lines::LeftLines;
pub use read_block::{ReadBlock, ResolvedBlock, UnparsedLine};
