//! The tasks of a program: what each is for, what it does at this moment, and what it has done.
//!
//! A task is listed if its future was made by [`TaskKind::observe`]. Without [`enable`] that is the future with
//! a branch for each poll. With it, polls are counted, and the times of some of them stand for those of all.

mod blocking;
mod clock;
mod current;
mod kind;
mod look;
mod name;
mod observed;
mod registry;
mod sampler;
mod shared;
mod switch;
mod work;

pub use current::{add_bytes, add_requests, set_name};
pub use kind::TaskKind;
pub use look::{Look, SeenKind, SeenTask, look};
pub use name::TaskName;
pub use observed::Observed;
pub use shared::TaskState;
pub use switch::enable;
pub use work::TaskWork;
