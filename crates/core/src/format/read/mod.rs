//! Readers turn lines into records and follow the directives between them.
//!
//! | reader | reads | keeps between lines |
//! |---|---|---|
//! | [`crate::LineParser`] | lines in one format | the last time |
//! | [`crate::FollowedFormat`] | directives alone | the list of fields in force |
//! | [`crate::LogReader`] | lines in order, with both | both, and the last unwrapped line |
//!
//! Blocks are read by [`crate::BlockReader`] with a `LineParser`, after a [`crate::FormatTracker`]
//! has split them where the format changes.

pub(super) mod followed_format;
pub(super) mod line_parser;
pub(super) mod log_reader;
mod staleness;
