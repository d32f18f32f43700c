//! One connection, from socket to sink. A reader fills chunks; a worker splits them into lines.

mod context;
mod end;
mod idle;
mod memory;
mod modes;
mod options;
mod queue;
mod reader;
mod socket;
mod worker;

pub(crate) use context::ConnectionContext;
pub use context::FeedCaptures;
pub(crate) use end::ConnectionEnd;
pub(crate) use memory::SharedMemory;
pub(crate) use modes::run;
pub(crate) use options::ConnectionOptions;
pub(crate) use socket::Socket;
