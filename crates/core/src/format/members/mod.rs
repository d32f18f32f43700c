//! The members of a log's JSON objects.
//!
//! The formats of the catalogue know the members that loggers have in common. What else an object has
//! differs from log to log, so it is found in the first lines:
//!
//! - in a JSON log each further member becomes a field under its path (`extension`);
//! - in objects around lines of another format, the member that holds the line is found by trying, and the
//!   others become fields (`around`);
//! - lines of values have their names in a header (`header`).
//!
//! A member that appears later has no field. Its text is kept in `extra_more`, together with those beside
//! it.

mod around;
mod client_texts;
mod extension;
mod header;
mod names;
mod sample;

pub(super) use self::around::{InsideFormat, enveloped_formats};
pub(super) use self::extension::with_members;
pub(super) use self::header::header_format;

/// The most members that become fields of their own. Each is a column, and loggers write a few dozen.
const MEMBERS_MAX: usize = 128;
