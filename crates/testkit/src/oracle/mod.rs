//! What `weir report` should say of a log, worked out naively: regular expressions over each
//! line and maps over the records. Slow, and short enough to be checked by eye.

mod calendar;
mod json;
mod line;
mod record;
mod report;

pub use record::{Layout, Record};
pub use report::{Bucket, Oracle, Row};
