//! The integration tests of this crate, in one binary: it is linked once.

mod capture;
mod dashboard;
mod documentation;
mod leaving;
mod profiles;
mod serving;
mod tasks;
#[cfg(target_os = "linux")]
mod threads;
