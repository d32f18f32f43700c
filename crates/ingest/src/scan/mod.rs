//! The search over whole lines, and the merge of results of parallel work.
//!
//! Lines that need not be read as records are searched in blocks that stay in the processor's cache
//! ([`LineBlocks`]), a large plain file in ranges on all cores ([`FileRanges`]). [`run_in_order`]
//! puts the output in the order of the lines, [`ValueTally`] counts values within a
//! [`MemoryBudget`], and [`OrderedMerge`] puts the counts in the order of the lines.

mod file_ranges;
mod line_blocks;
mod memory_budget;
mod ordered;
mod ordered_merge;
mod pair_counts;
mod text_scan;
mod value_tally;

pub use file_ranges::{FileRanges, RangeLines};
pub use line_blocks::{LineBlocks, is_retryable};
pub use memory_budget::MemoryBudget;
pub use ordered::{OrderedOutput, run_in_order};
pub use ordered_merge::{OrderedMerge, Part};
pub use text_scan::scan_text;
pub use value_tally::{TallyChunk, TallyEntry, ValueTally};
