//! The integration tests of this crate, in one binary: it is linked once.

mod backends;
mod configuration;
mod edge;
mod forwarding;
mod gate;
mod identifiers;
mod limits;
mod lookups;
mod sessions;
mod tokens;
