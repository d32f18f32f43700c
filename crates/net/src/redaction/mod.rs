//! The parts of a request that a capture shows: its arrival, and its heads as text without
//! secrets. Bodies are never shown.

mod arrival;
mod head;
mod value;

pub use self::arrival::note_arrival;
pub use self::head::{request_head, response_head};
pub use self::value::shown_target;
