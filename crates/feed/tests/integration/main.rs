//! The integration tests of this crate, in one binary: it is linked once.

mod capture;
mod common;
mod flooding;
mod hostile;
mod idle;
mod transports;
