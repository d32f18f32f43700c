//! What the tests of every crate share, and nothing else uses.
//!
//! - [`oracle`]: what `weir report` should say of a log, worked out as plainly as possible and
//!   without a line of Weir's own code; the same once more in Python in `oracle/report.py`.
//! - [`chunking`]: the same bytes cut up in every way.
//! - [`archive`]: files made one.
//! - [`fixtures`]: paths of real logs.
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
pub mod chunking;
pub mod fixtures;
pub mod oracle;
