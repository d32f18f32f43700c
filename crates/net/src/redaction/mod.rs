//! The parts of a request that a capture shows: its arrival, and its heads as text without
//! secrets. Bodies are never shown.
//!
//! Field values are shown only for the fields of a list. Of URLs, the names of parameters are
//! shown, and the path segments that do not look like a token. Everything else is replaced by its
//! length. So a secret in an unknown field stays hidden. A secret is shown only if a client puts it
//! into a listed field, such as `User-Agent`, or into a path as a short word.

mod arrival;
mod head;
mod target;
mod value;

pub use self::arrival::note_arrival;
pub use self::head::{request_head, response_head};
pub use self::target::shown_target;

/// Stands for a text of this many bytes.
fn length(count: usize) -> String {
    format!("({} not shown)", bytes(count))
}

fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

#[cfg(test)]
mod tests;
