//! The records of lines, one by one, for the commands that show or count single lines: which
//! format they are in ([`Reader`]), what one of their fields holds ([`Place`]), and whether
//! they meet conditions ([`Conditions`]).

mod conditions;
mod place;
mod reader;

pub(crate) use conditions::{Conditions, Placed, parse_clauses};
pub(crate) use place::{Place, STATUS_CLASS, columns, find, status_class};
pub(crate) use reader::{Reader, steady_format};
