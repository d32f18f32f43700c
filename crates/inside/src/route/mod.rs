//! The route with live numbers: its stages at one moment, compared with those of some seconds before.

mod history;
mod slowest;

pub(crate) use self::history::History;
