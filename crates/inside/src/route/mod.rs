//! The route with live rates, which compare the current numbers of the stages with those of some
//! seconds ago.

mod history;
mod slowest;

pub(crate) use self::history::History;
