//! Puts each record of a JSON file on a line of its own, while it is read.
//!
//! Consoles and exports write the records of a log as one list, or over several lines:
//!
//! ```text
//! [                             {                              {"records": [
//!   {                             "status": 200,                 {"status":200}, {"status":404}
//!     "status": 200             }                            ]}
//!   },                          {
//!   {"status":404}                "status": 404              {"status":200,
//! ]                             }                            "path":"/"}
//! ```
//!
//! Blanks outside of strings are dropped, and so are the brackets and commas of the list and the members
//! beside it, and elements that are no objects. Other text stays, on lines of its own: it is no record, and
//! is counted as such. Little is kept: a record of any length passes as it comes.
//!
//! The first bytes of the file tell how its records are arranged ([`Arrangement`]).
//!
//! # Torn records
//!
//! A crash cuts a record off. It ends where a line ends inside a string, which JSON does not allow, or where
//! another record begins: at a brace that begins a line, is indented no more than the record, and can be no
//! value there. What is left of a torn record up to there is dropped with it. In a file without indentation
//! such a brace can also be a value, in a list or after a key. It is one if the first key of the object is not
//! that with which the records begin ([`FirstKey`](first_key::FirstKey)). Otherwise the rest of the record
//! decides, up to a limit: a value is followed by what a value can be followed by, up to the end of the record
//! ([`JsonRecordsDecoder`]).

mod arrangement;
mod decoder;
mod first_key;
mod line_position;
mod list_paths;
mod nesting;
mod scanner;
#[cfg(test)]
mod tests;

pub(super) use self::arrangement::Arrangement;
pub(super) use self::decoder::JsonRecordsDecoder;
