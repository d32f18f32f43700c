//! Errors of sources and inputs.

mod fault;
mod read_error;
mod source_error;
mod stop_reason;
mod stream_error;

pub use fault::{Fault, FaultKind};
pub use read_error::ReadError;
pub use source_error::SourceError;
pub use stop_reason::StopReason;
pub use stream_error::{StreamDefect, StreamError};
