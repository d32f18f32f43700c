//! Filters: which records a question is about.

mod bounds;
mod clause;
mod compiled;
mod predicate;

pub use bounds::TimeBounds;
pub use clause::{Clause, ClauseError, Filter, TextTest};
pub use compiled::{CompiledFilter, ValueBatch};
pub use predicate::RecordPredicate;
