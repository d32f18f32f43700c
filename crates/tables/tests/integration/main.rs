//! Parquet files become the records that their writers meant, and damaged ones an error.

mod built_file;
mod damage;
mod foreign_files;
mod hostile;
mod rows;
mod wide;
