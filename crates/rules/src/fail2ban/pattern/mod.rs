//! Patterns: Python's regular expressions with the tags of fail2ban.
//!
//! They are translated for the crate `fancy-regex`, which hands all that needs no look-around to
//! the crate `regex`, whose time is linear. The rest backtracks, up to a limit.

mod classes;
mod engine;
mod literals;
mod prefilter;
mod syntax;
mod text_search;

pub(super) use engine::{Found, Groups, Pattern};
pub(super) use prefilter::{BlockPlace, Prefilter};
pub(super) use syntax::PatternError;
