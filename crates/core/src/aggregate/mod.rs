//! Aggregates: the numbers that are computed over the records that pass a filter.
//!
//! Each aggregate has `update`, which adds the selected rows of a segment, and `merge`, which adds
//! another aggregate of its kind. Merging any division of the rows gives the same result.

mod evaluation;
mod fold;
mod histogram;
mod packed_tally;
mod quantiles;
mod question;
mod recount;
mod status;
mod top_list;
mod totals;
mod visit;

pub use evaluation::Evaluation;
pub use fold::Fold;
pub use histogram::{Bucket, Histogram};
pub use quantiles::Quantiles;
pub use question::{Aggregates, ListedColumns, Question, Stack};
pub use recount::{CountedRows, PartialAggregates, Recount};
pub use status::StatusClasses;
pub use top_list::{Tally, TopList};
pub use totals::Totals;
