//! Views that several connections share, and the memory that they may take.
//!
//! Connections that ask the same share one [`SharedAnswer`]: one evaluator, and one text that all
//! of them send without copying it. [`ViewMemory`] counts the texts until the last connection has
//! sent them, and decides how much memory texts and evaluators may take.

mod shared_answer;
mod view_memory;

pub(crate) use shared_answer::{MadeView, SharedAnswer, SharedAnswers};
pub(crate) use view_memory::{Room, ViewMemory};
