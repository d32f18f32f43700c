//! The tasks of a program: their purpose, their current state and their work so far.
//!
//! A task is listed if its future was wrapped by [`TaskKind::observe`]. Before [`enable`], the
//! wrapper only adds a branch to each poll. After it, polls are counted, and a sample of them is
//! timed.

mod blocking;
mod clock;
mod current;
mod kind;
mod name;
mod observed;
mod registry;
mod sampler;
mod shared;
mod snapshot;
mod switch;
mod work;

pub use current::{add_bytes, add_requests, set_name};
pub use kind::TaskKind;
pub use name::TaskName;
pub use observed::ObservedFuture;
pub use shared::TaskState;
pub use snapshot::{KindSnapshot, Snapshot, TaskSnapshot, snapshot};
pub use switch::enable;
pub use work::TaskWork;
