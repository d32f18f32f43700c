//! The capture of a single request, upload or feed with its steps.
//!
//! A part of the program that answers requests has [`Captures`]. A [`PendingCapture`] waits there
//! for a request. While one is pending, each request gets an [`OpenCapture`] and records its steps
//! there. The wait receives the first [`Capture`] that ends, or the first that meets its condition
//! when it ends.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use weir_observe::capture::{CaptureOutcome, Captures};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let captures = Arc::new(Captures::<u16>::default());
//! assert!(captures.open(|| "nobody waits".to_owned()).is_none());
//!
//! let pending = captures.arm(Some(404)).expect("there is room");
//! let capture = captures.open(|| "GET /a".to_owned()).expect("somebody waits");
//! capture.lap("look", "found nothing");
//! captures.end(capture, &|status| *status == 404);
//! let outcome = pending.wait(Duration::from_secs(1)).await;
//! let CaptureOutcome::Found(capture) = outcome else { panic!() };
//! assert_eq!(capture.steps[0].name, "look");
//! # }
//! ```
//!
//! While no capture is pending, the cost per request is one atomic load and a branch. Memory is
//! bounded by limits on the pending captures, on those in progress, and on the steps and text bytes
//! of each.

mod capturable;
mod captures;
mod error;
mod open;
mod pending;
mod permits;
mod sizes;
mod step;
mod steps;

pub use capturable::Capturable;
pub use captures::{Captures, is_any_armed};
pub use error::CaptureError;
pub use open::{Capture, OpenCapture};
pub use pending::{CaptureOutcome, PendingCapture};
pub use step::{Step, StepDetail, StepTotal};
