//! Parquet files become the records that their writers meant, and damaged ones an error.

mod damage;
mod foreign_files;
mod rows;
