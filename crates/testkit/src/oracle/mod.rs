//! The expected output of `weir report`, computed naively: regular expressions over each line, and
//! maps over the records. It is slow, but short enough to check by eye.

mod calendar;
mod json;
mod line;
mod record;
mod report;

pub use record::{Layout, Record};
pub use report::{Bucket, Oracle, Row};
