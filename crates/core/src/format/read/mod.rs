//! Readers turn lines into records and follow the directives between them.

pub(super) mod followed_format;
pub(super) mod line_parser;
pub(super) mod log_reader;
mod staleness;
