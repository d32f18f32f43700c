//! The records of lines, one by one, for the commands that show or count single lines: which
//! format they are in ([`Reader`]) and whether they meet `--where` ([`Conditions`]).

mod conditions;
mod reader;

pub(crate) use conditions::{Conditions, parse_clauses};
pub(crate) use reader::{Reader, steady_format};
