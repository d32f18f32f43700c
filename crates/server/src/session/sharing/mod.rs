//! Shares views between connections, and limits their memory.
//!
//! Connections with the same query share one [`SharedAnswer`]: one evaluator, and one text that
//! they all send without copying it. [`ViewMemory`] counts the texts until the last connection has
//! sent them. It limits the memory of texts and evaluators.

mod shared_answer;
mod view_memory;

pub(crate) use shared_answer::{MadeView, SharedAnswer, SharedAnswers};
pub(crate) use view_memory::{Room, ViewMemory};
