//! Helpers for the tests of all crates.
//!
//! - [`oracle`]: the expected report of a log, computed naively and without any of Weir's code.
//!   `oracle/report.py` is a second implementation in Python.
//! - [`chunking`]: the same bytes in pieces of any size.
//! - [`archive`]: archives of files.
//! - [`arrow`]: a reader of Arrow streams.
//! - [`lines`]: single lines of a few formats.
//! - [`fixtures`]: paths of real logs.
//! - [`json_schema`]: a naive validator of JSON schemas.
//! - [`messages`]: the messages to the operator of the code under test.
//! - [`mmdb`]: MaxMind DB files.
//! - [`numbers`]: pseudo-random numbers.
//! - `tables`, a feature: the rows of exported tables.
//!
//! ```
//! use weir_testkit::oracle::{Layout, Oracle};
//!
//! let log = br#"192.0.2.1 - - [02/Nov/2026:00:00:00 +0000] "GET /a?b HTTP/1.1" 200 5 "-" "-""#;
//! let oracle = Oracle::read(Layout::Combined, log);
//! assert_eq!((oracle.lines, oracle.records.len(), oracle.bytes_sent()), (1, 1, 5));
//! assert_eq!(oracle.top("path", 10)[0].value, b"/a");
//! ```

pub mod archive;
pub mod arrow;
pub mod chunking;
pub mod fixtures;
pub mod json_schema;
pub mod lines;
pub mod messages;
pub mod mmdb;
pub mod numbers;
pub mod oracle;
#[cfg(feature = "tables")]
pub mod tables;
