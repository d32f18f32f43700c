//! Scans: every line of some texts is read once, in parallel, and nothing is kept.
//!
//! A pipeline stores the lines it reads, for later questions. A scan answers one question that is
//! known in advance: which lines match, how many there are, what a rule would have done.
//! [`TextScan`] reads a text in blocks of whole lines ([`LineBlocks`]) or as records
//! ([`RecordReader`]), a large plain file in ranges on all cores ([`FileRanges`]), [`run_in_order`]
//! puts the output in the order of the lines, [`ValueTally`] counts values within a
//! [`MemoryBudget`], and [`OrderedMerge`] puts the counts in the order of the lines.

mod drift_splitter;
mod file_ranges;
mod format_search;
mod late_search;
mod line_blocks;
mod memory_budget;
mod ordered;
mod ordered_merge;
mod pair_counts;
mod record_reader;
mod text_formats;
mod text_scan;
mod value_tally;

pub use file_ranges::{FileRanges, RangeLines};
pub use line_blocks::{LineBlocks, is_retryable};
pub use memory_budget::MemoryBudget;
pub use ordered::{OrderedOutput, run_in_order};
pub use ordered_merge::{OrderedMerge, Part};
pub use record_reader::{FormatBinding, RecordReader};
pub use text_scan::{ScannedText, TextPart, TextScan};
pub use value_tally::{TallyChunk, TallyEntry, ValueTally};
