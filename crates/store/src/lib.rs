//! Data sets as bytes. A [`Writer`] writes what a data set has, a [`Reader`] makes it again.
//!
//! A stored data set is a header and a sequence of records, each with its length and a checksum
//! (`record`). A record has sections: columns, values, segments, sources. It is a part, or it
//! commits: what was read up to a commit is a data set, and what follows the last commit is not
//! counted. So a data set can be stored at once, as parts and a commit, and every later change of it
//! as one record that commits, which is appended. A process that is killed while it appends leaves
//! the state of the last whole record.
//!
//! Numbers are little-endian, and arrays of a column are stored as they are in memory. Everything is
//! checked when it is read: bytes are hostile until a constructor of core has accepted them, and no
//! length allocates more than the input has bytes.
//!
//! The crate knows neither files nor threads: it reads from `io::Read` and writes to `io::Write`.

mod code;
mod error;
mod format_table;
mod read_ahead;
mod reader;
mod record;
mod section;
mod segment;
mod source;
mod values;
mod writer;

pub use error::StoreError;
pub use reader::{Reader, StoredData, StoredSegment};
pub use record::{checksum, is_stored, reseal};
pub use source::{FormatRef, SourceEndKind, StoredPlace, StoredSample, StoredSource, Summary};
pub use writer::Writer;
