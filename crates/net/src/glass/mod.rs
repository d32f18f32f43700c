//! The parts of a request that an observation shows: its arrival, and its heads as text without
//! secrets. Bodies are never shown.

mod arrival;
mod head;
mod redaction;

pub use self::arrival::note_arrival;
pub use self::head::{request_head, response_head};
pub use self::redaction::shown_target;
