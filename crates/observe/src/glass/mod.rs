//! One request under the glass: the steps of the next request, upload or feed that somebody waits for.
//!
//! A part of the program that answers requests has [`Captures`]. Each request asks them for a [`Journal`], and
//! gets one only while somebody waits. What it does, it notes there as steps. The first that ends, or the first
//! that meets a condition when it ends, is handed to the one who waits as an [`Observation`].
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use weir_observe::glass::{Captures, Sight};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let captures = Arc::new(Captures::<u16>::default());
//! assert!(captures.journal(|| "nobody waits".to_owned()).is_none());
//!
//! let capture = captures.arm(Some(404)).expect("there is room");
//! let journal = captures.journal(|| "GET /a".to_owned()).expect("somebody waits");
//! journal.lap("look", "found nothing");
//! captures.end(journal, &|status| *status == 404);
//! let Sight::Found(observation) = capture.wait(Duration::from_secs(1)).await else { panic!() };
//! assert_eq!(observation.steps[0].name, "look");
//! # }
//! ```
//!
//! While nobody waits, a request costs a load of an atomic and a branch. What is noted is bounded: by the number
//! of those who wait, of the journals at a time, of the steps of each, and of the bytes of its texts.

mod captures;
mod followed;
mod journal;
mod places;
mod sizes;
mod step;
mod steps;

pub use captures::{Capture, Captures, Sight, TooManyCaptures, is_any_armed};
pub use followed::Followed;
pub use journal::{Journal, Observation};
pub use step::{Step, StepTotal};
