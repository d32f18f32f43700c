//! Calls of marked functions: how often each was called and by which other, and how long it took, in the way of
//! Erlang's `fprof`.
//!
//! A function is marked by a [`CallSite`] of its own:
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
//! Without a recording a call costs a load and a branch. With one it takes the time twice.

mod recording;
mod site;
mod table;
mod thread;

pub use recording::{AlreadyRecording, Recording};
pub use site::{Call, CallSite, MarkedFuture};
pub use table::CallCounts;
