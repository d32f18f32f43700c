//! Filters: which records a question is about.

mod bounds;
mod clause;
mod compiled;
mod row_bits;
mod selection;

pub use bounds::TimeBounds;
pub use clause::{Clause, ClauseError, Filter, TextTest};
pub use compiled::{CompiledFilter, Undecided};
pub use row_bits::RowBits;
pub use selection::Selection;
