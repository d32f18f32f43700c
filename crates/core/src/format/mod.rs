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
//! chooses one of them for a log, `surroundings` finds known lines inside others, `members` the
//! further members of JSON objects and the lines in them, `companions` has
//! the formats of lines that the log's does not match, and `tracker` follows the format through a
//! source.
//!
//! # Three layers
//!
//! | layer | knows | does not know |
//! |---|---|---|
//! | notations | how nginx, Apache and others describe a line | lines |
//! | programs | how to read a line | who described it |
//! | readers | blocks, directives, wrappers, the order of lines | what a value means |
//!
//! A new way to describe a format is a module of `notation`; a new shape of lines is a module of
//! `program`; a new known format is usually a text file in `catalog` and no code.
//!
//! # What is a match
//!
//! A line matches if the text between its values is that of the definition and each value has the
//! form of its field: a status has three digits, a time is a time. The stricter the forms, the
//! surer the detection; so a form accepts what servers write and nothing else. A line that does not
//! match is counted and shown, never an error.
//!
//! # Bounds
//!
//! Definitions have at most 256 values. Reading a line allocates nothing and takes time in
//! proportion to its length; detection reads at most 1,000 lines or 256 KiB with each known format.

mod absent_keys;
mod catalog;
mod companion_search;
mod companions;
mod compiled;
mod description;
mod detect;
mod error;
mod inference;
mod layout;
mod line_detector;
mod members;
mod nearest;
mod nearness;
mod notation;
mod own_names;
mod parse;
mod placeholder;
mod program;
mod read;
mod surroundings;
mod tracker;
mod unread;
mod users;

pub use self::absent_keys::absent_keys;
pub use catalog::{FormatNotes, format_by_name, format_notes, known_formats};
pub use companion_search::CompanionSearch;
pub use compiled::client_choice::ClientChoice;
pub use compiled::line_options::LineOptions;
pub use compiled::{Format, YearOrigin, YearReference};
pub use description::FormatDescription;
pub(crate) use detect::unparsed_reason;
pub use detect::{Candidate, Detection, LineMismatch, detect, detect_format, try_format};
pub use error::FormatError;
pub use inference::{SuggestedFormat, suggest_format};
pub use layout::RecordLayout;
pub use line_detector::LineDetector;
pub use program::handwritten::{JoinerWait, RecordJoiner, original_lines, record_length};
pub use program::mismatch::Mismatch;
pub(crate) use program::packed::PackedRecords;
pub use program::stored::FormatTraits;
pub use program::wrapper::Wrapper;
pub use read::followed_format::FollowedFormat;
pub use read::line_parser::LineParser;
pub use read::log_reader::{LineOutcome, LogReader};
pub use tracker::{
    BlockFormats, FormatChoice, FormatFinding, FormatSpan, FormatTracker, TrackerOptions,
    with_log_year,
};
pub use unread::TextKind;
