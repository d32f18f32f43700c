//! Calls of marked functions: how often each was called and by which other, and how long it took, in the way of
//! Erlang's `fprof`.
//!
//! A function is marked by a [`CallSite`] of its own:
//!
//! ```
//! use weir_observe::call::{CallSite, Recording};
//!
//! fn verify() {
//!     static SITE: CallSite = CallSite::new("verify");
//!     let _call = SITE.enter();
//! }
//!
//! fn answer() {
//!     static SITE: CallSite = CallSite::new("answer");
//!     let _call = SITE.enter();
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
