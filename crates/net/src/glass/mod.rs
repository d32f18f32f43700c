//! What is shown of a request to one who looks at it: how it came, and heads as text without their
//! secrets. Bodies are never shown.

mod arrival;
mod head;
mod hidden;

pub use self::arrival::note_arrival;
pub use self::head::{request_head, response_head};
pub use self::hidden::shown_target;
