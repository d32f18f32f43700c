//! Patterns: Python's regular expressions with the tags of fail2ban.
//!
//! They are translated for the crate `fancy-regex`. It hands patterns without look-around to the
//! crate `regex`, which runs in linear time. The others backtrack, up to a limit.

mod classes;
mod engine;
mod literals;
mod nearest_miss;
mod prefilter;
mod syntax;
mod text_search;

pub(super) use engine::{Found, Groups, Pattern};
pub(super) use nearest_miss::NearestMiss;
pub(super) use prefilter::{BlockPlace, Prefilter};
