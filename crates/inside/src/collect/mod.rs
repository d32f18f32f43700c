//! The metrics of each part of the program.

mod feed;
mod gateway;
mod process;
mod requests;
mod server;
mod threads;

pub use self::feed::{FeedPart, ListenerCounts};
pub(crate) use self::process::{process, process_limits};
pub use self::requests::{GroupedRequests, RequestsPart};
pub(crate) use self::threads::threads;
