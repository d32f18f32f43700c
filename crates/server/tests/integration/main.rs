//! The integration tests of this crate, in one binary: it is linked once.

mod addresses;
mod archives;
mod bench;
mod common;
mod growing;
mod interruption;
mod joined;
mod live;
mod sliding;
mod upload;
