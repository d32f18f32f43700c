//! Counts and times of the calls of marked functions, by caller, as in Erlang's `fprof`.
//!
//! A function is marked with its own [`CallSite`]:
//!
//! ```
//! use weir_observe::call::Recording;
//! use weir_observe::mark;
//!
//! fn verify() {
//!     let _call = mark!("verify").enter();
//! }
//!
//! fn answer() {
//!     let _call = mark!("answer").enter();
//!     verify();
//! }
//!
//! let recording = Recording::start().expect("no other one");
//! answer();
//! let calls = recording.finish();
//! let called = |caller, name| calls.iter().any(|it| it.caller == caller && it.name == name && it.calls == 1);
//! assert!(called(None, "answer") && called(Some("answer"), "verify"));
//! ```
//!
//! Without a recording, a call costs one load and a branch. During a recording, it reads the clock
//! twice.

mod recording;
mod site;
mod table;
mod thread;

pub use recording::{AlreadyRecording, Recording};
pub use site::{Call, CallSite, MarkedFuture};
pub use table::CallCounts;
