//! Reads tables as records: the rows of Parquet files, those that Weir exports and any others whose
//! columns have the names of fields.
//!
//! A [`TableFile`] reads the footer first. Then it reads the pages of all columns side by side and
//! packs the rows by a [`RecordLayout`](weir_core::RecordLayout), so that a pipeline reads them as it
//! reads the blocks of a log. Everything in a file is hostile: sizes are checked before memory is
//! taken, and nothing is decoded before a row needs it.
//!
//! The files follow the [specification](https://parquet.apache.org/docs/file-format/). The crate opens
//! nothing itself: it reads from what the caller has opened.

mod bits;
mod column;
mod compact;
mod compression;
mod delta;
mod error;
mod footer;
mod hybrid;
mod page;
mod role;
mod row;
mod table_file;
mod values;

pub use error::TableError;
pub use table_file::{Rows, TableFile, is_table};
