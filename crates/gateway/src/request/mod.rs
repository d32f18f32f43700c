//! The parts of a request: its head, target and version, and its body on the way to a backend.

pub(crate) mod continue_gate;
pub(crate) mod head;
pub(crate) mod target;
pub(crate) mod upload_body;
pub(crate) mod version;
