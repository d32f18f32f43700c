//! Filters: which records a question is about.

mod clause;
mod compiled;
mod selection;

pub use clause::{Clause, ClauseError, Filter, TextTest};
pub use compiled::CompiledFilter;
pub use selection::Selection;
