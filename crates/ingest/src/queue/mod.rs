//! The queue between sources and parsers. It is the only one, and it is bounded.

mod block_queue;
mod job;
mod late_companions;

pub(crate) use block_queue::BlockQueue;
pub(crate) use job::{Job, PullSource, Task, Ticket};
pub(crate) use late_companions::LateCompanions;
