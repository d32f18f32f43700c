//! Aggregates: the numbers that are computed over the records that pass a filter.
//!
//! | aggregate | answers | exact |
//! |---|---|---|
//! | [`Totals`] | how many records, errors and bytes; from when to when | always |
//! | [`Histogram`] | how many records in each step of time, by group | always |
//! | [`TopList`] | how many records, errors and bytes for each value | unless memory ran out |
//! | [`Quantiles`] | median, p90, p99 and so on of a number | up to 131,072 distinct numbers |
//! | [`DurationCounts`] | how many records took how long in each span of time | always |
//! | [`GroupTable`] | sums, percentiles and extremes for each value or combination of values | see [`grouping`] |
//! | [`RequestCounts`] | how many requests by method and class, for monitoring | always |
//! | [`Visitors`] | how many visitors and visits, by day | up to 917,504 half hours of visitors |
//!
//! An [`Evaluation`] holds those that one [`Question`] asks for. It adds segments one at a time, as
//! a [`Fold`]; a [`Recount`] computes it over many segments at once, on several threads, or from
//! the answer to another question.
//!
//! Each aggregate has `update`, which adds the selected rows of a segment, and `merge`, which adds
//! another aggregate of its kind. Merging any division of the rows gives the same result.
//!
//! # Order and threads
//!
//! No aggregate depends on the order of segments or of rows, nor on how they are divided: sums are
//! integers, extremes are extremes, and a histogram's step follows from the records alone. So each
//! thread counts what it gets, and the parts are merged in any order. Tests compare every split of
//! the rows with the whole.
//!
//! # Exactness
//!
//! Counts and sums are exact. They have room for more than any log: records are 64-bit numbers,
//! bytes are summed in 128 bits and shown as 2^64 - 1 at most. Where memory would have no bound, an
//! aggregate becomes an estimate at a fixed limit and says so ([`Quantiles::is_estimated`],
//! [`VisitorCounts::is_exact`], [`crate::Values::is_estimated`]).
//!
//! # Memory
//!
//! | aggregate | memory |
//! |---|---|
//! | [`Totals`] | fixed |
//! | [`Histogram`] | 8 bytes for each bucket and group |
//! | [`TopList`] | in proportion to the distinct values of its column |
//! | [`Quantiles`] | 32 KiB, and at most about 4 MiB |
//! | [`Visitors`] | at most 17 MiB |
//! | [`DurationCounts`] | 2 KiB for each span of time |
//! | [`GroupTable`] | in proportion to the groups and their distinct numbers |

mod duration_counts;
mod evaluation;
mod evaluation_by_kind;
mod fold;
mod grouping;
mod histogram;
mod packed_tally;
mod quantiles;
mod question;
mod recount;
mod requests;
mod status;
mod step;
mod top_list;
mod totals;
mod visit;
mod visitors;

pub use duration_counts::{DurationCounts, DurationSteps};
pub use evaluation::Evaluation;
pub use evaluation_by_kind::EvaluationByKind;
pub use fold::Fold;
pub use grouping::{
    DerivedValues, GroupKey, GroupTable, GroupVisitors, GroupedNumber, Grouping, NumberSum,
    TimeSpans,
};
pub use histogram::{Bucket, Histogram};
pub use quantiles::Quantiles;
pub use question::{Aggregates, ListedColumns, Question, Stack};
pub use recount::{CountedRows, PartialAggregates, Recount};
pub use requests::{DURATION_BOUNDS_NS, REQUEST_METHODS, RequestCounter, RequestCounts, RowGroups};
pub use status::StatusClasses;
pub use step::histogram_steps_s;
pub use top_list::{Tally, TopList};
pub use totals::Totals;
pub use visitors::{CountedVisitors, DayVisitors, Moment, VisitorCounter, VisitorCounts, Visitors};
