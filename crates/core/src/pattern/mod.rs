//! Regular expressions of strangers, within a budget of memory.

mod bounded_regex;
mod budget;
mod cache_place;

pub use bounded_regex::{BoundedRegex, RegexOptions};
pub use budget::{CacheReservation, PatternAccount, PatternBudget, PatternRefusal, PatternSize};
