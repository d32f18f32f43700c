//! Programs that answer the same questions: how they are installed, run and checked.

pub(crate) mod duckdb;
pub(crate) mod goaccess;
