//! A small HTTP client for the gateway's own requests: key sets, lookups, log-ins and trace
//! exports.
//!
//! Each request has its own connection. The size, the time and the header fields of an answer are
//! bounded. Redirects are errors, because an answer is trusted on account of the configured server.
//! Plain http is allowed only for loopback addresses and Unix sockets. Forwarded requests of
//! clients do not use this client.

mod captured_call;
mod client;
mod client_certificate;
mod connect;
mod error;
mod limits;
mod trust;
mod url;

pub(crate) use self::captured_call::{CapturedCall, capture_call};
pub use self::client::{FetchAnswer, FetchClient};
pub use self::client_certificate::{ClientCertificate, ClientCertificateError};
pub use self::error::{FetchError, FetchProblem};
pub use self::limits::FetchLimits;
pub(crate) use self::trust::client_config;
pub use self::trust::{Authorities, TrustError};
pub use self::url::{FetchUrl, InvalidFetchUrl};
