//! The capture of a single request, upload or feed with its steps.
//!
//! A part of the program that answers requests has [`Captures`]. Each request asks it for a
//! [`Journal`], and gets one only while a [`Capture`] waits. The request records its steps there.
//! The capture receives the first journal that ends, or the first that meets its condition when it
//! ends, as an [`Observation`].
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
//! While no capture waits, the cost per request is one atomic load and a branch. Memory is bounded
//! by limits on the captures, on the journals at a time, and on the steps and text bytes of each
//! journal.

mod captures;
mod followed;
mod journal;
mod permits;
mod sizes;
mod step;
mod steps;

pub use captures::{Capture, Captures, Sight, TooManyCaptures, is_any_armed};
pub use followed::Followed;
pub use journal::{Journal, Observation};
pub use step::{Step, StepTotal};
