//! Readers: lines become records, and directives change the format.

pub(super) mod followed_format;
pub(super) mod line_parser;
pub(super) mod log_reader;
mod staleness;
