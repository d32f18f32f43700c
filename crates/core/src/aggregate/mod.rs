//! Aggregates: what is counted over the records that pass a filter.
//!
//! Each has `update`, which adds the selected rows of a segment, and `merge`, which adds
//! another of its kind. Merging any split of the rows gives the same answer.

mod evaluation;
mod histogram;
mod quantiles;
mod row_values;
mod status;
mod top_list;
mod totals;

pub use evaluation::{Evaluation, Question, Stack};
pub use histogram::{Bucket, Histogram};
pub use quantiles::Quantiles;
pub use status::{STATUS_CLASSES, StatusClasses};
pub use top_list::{Tally, TopList};
pub use totals::Totals;
