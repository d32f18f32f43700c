//! The queue between sources and parsers. It is the only one, and it is bounded.

mod block_queue;
mod job;

pub(crate) use block_queue::BlockQueue;
pub(crate) use job::{Job, PullSource, Task, Ticket};
