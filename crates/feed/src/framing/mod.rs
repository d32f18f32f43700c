//! Framing: splitting streams and datagrams into lines.

mod datagram;
mod framer;

use std::str::FromStr;

use crate::option_error::OptionError;

pub(crate) use datagram::{normalise_datagram, whole_lines_bytes};
pub use framer::{FrameError, Framer, Lines};

/// How the lines of a stream are separated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    /// Detected from the first bytes of a connection. A counted frame begins with a number, a space
    /// and `<`.
    #[default]
    Auto,
    /// By line feeds.
    Newline,
    /// By counts of octets (RFC 6587 section 3.4.1).
    Octets,
}

impl FromStr for Framing {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text {
            "auto" => Ok(Self::Auto),
            "newline" => Ok(Self::Newline),
            "octets" => Ok(Self::Octets),
            _ => Err(OptionError::new(text, "framing", "auto, newline or octets")),
        }
    }
}
