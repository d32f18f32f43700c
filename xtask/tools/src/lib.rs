//! Commands, packages and paths that `cargo xtask` and the benchmarks share.

pub mod browsers;
pub mod held_connections;
pub mod npm;
pub mod packages;
pub mod shell;
