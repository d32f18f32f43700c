//! The integration tests of this crate, in one binary: it is linked once.

mod common;
mod flooding;
mod glass;
mod hostile;
mod idle;
mod transports;
