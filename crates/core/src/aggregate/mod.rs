//! Aggregates: the numbers that are computed over the records that pass a filter.
//!
//! | aggregate | answers | exact |
//! |---|---|---|
//! | [`Totals`] | how many records, errors and bytes; from when to when | always |
//! | [`Histogram`] | how many records in each step of time, by group | always |
//! | [`TopList`] | how many records, errors and bytes for each value | unless memory ran out |
//! | [`Quantiles`] | median, p90, p99 and so on of a number | up to 131,072 distinct numbers |
//!
//! An [`Evaluation`] holds those that one [`Question`] asks for. It adds segments one at a time, as
//! a [`Fold`]; a [`Recount`] computes it over many segments at once, on several threads, or from
//! the answer to another question.
//!
//! Each aggregate has `update`, which adds the selected rows of a segment, and `merge`, which adds
//! another aggregate of its kind. Merging any division of the rows gives the same result.

mod evaluation;
mod evaluation_by_kind;
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
pub use evaluation_by_kind::EvaluationByKind;
pub use fold::Fold;
pub use histogram::{Bucket, Histogram};
pub use quantiles::Quantiles;
pub use question::{Aggregates, ListedColumns, Question, Stack};
pub use recount::{CountedRows, PartialAggregates, Recount};
pub use status::StatusClasses;
pub use top_list::{Tally, TopList};
pub use totals::Totals;
