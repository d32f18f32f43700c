//! A small HTTP client for answers that the gateway itself needs: key sets, look-ups, log-ins.
//!
//! It asks for one resource at a time, on a connection of its own, and everything about the answer is
//! bounded: its size, its time, and the fields of its head. Redirects are errors, because an answer is
//! trusted for the server that was named. Plain http is for loopback addresses and Unix sockets only.
//! Requests that are forwarded for clients do not go through here.

mod client;
mod connect;
mod error;
mod limits;
mod observed;
mod trust;
mod url;

pub use self::client::{FetchAnswer, FetchClient};
pub use self::error::{FetchError, FetchProblem};
pub use self::limits::FetchLimits;
pub use self::observed::CallCondition;
pub(crate) use self::observed::{ObservedCall, capture_call};
pub use self::trust::TrustError;
pub(crate) use self::trust::client_config;
pub use self::url::{FetchUrl, InvalidFetchUrl};
