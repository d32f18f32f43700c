//! Formats: how the bytes of a line become the fields of a record.
//!
//! ```text
//! definition --notation--> program --+
//! name       --catalog---------------+--> Format --LineParser--> Record or Mismatch
//! first lines --detect---------------+
//! blocks --FormatTracker--> FormatSpan: which part of a block is in which Format
//! ```
//!
//! | a caller with | uses |
//! |---|---|
//! | a name or a definition | [`Format::parse`] |
//! | the first lines of a log | [`detect`] |
//! | blocks of a source | [`FormatTracker`], then [`crate::BlockReader`] |
//! | a log to be read line by line | [`LogReader`] |
//! | single lines of one format | [`LineParser`] |
//!
//! `notation` compiles a definition to a `program`, which [`Format`] (`compiled`) holds;
//! `read` reads lines with it; `catalog` has the formats that are known by name; `detect`
//! chooses one of them for a log, and `tracker` follows the format through a source.

mod catalog;
mod compiled;
mod detect;
mod error;
mod notation;
mod parse;
mod program;
mod read;
mod tracker;

pub use catalog::{FormatNotes, format_by_name, format_notes, known_formats};
pub use compiled::Format;
pub use detect::{Candidate, Detection, LineMismatch, detect, try_format};
pub use error::FormatError;
pub use program::mismatch::Mismatch;
pub use program::wrapper::Wrapper;
pub use read::followed_format::FollowedFormat;
pub use read::line_parser::LineParser;
pub use read::log_reader::{LineOutcome, LogReader};
pub use tracker::{
    BlockFormats, FormatChoice, FormatFinding, FormatSpan, FormatTracker, TrackerOptions,
    with_log_year,
};
