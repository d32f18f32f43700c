//! What a person states about all lines of some logs, beside their format.

use std::sync::Arc;

use super::Format;
use super::client_choice::ClientChoice;
use crate::derived::DerivedField;
use crate::value::AddressMask;

/// Options of all lines, whatever their format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineOptions {
    /// Which address is the client.
    pub client: Option<ClientChoice>,
    /// The year of the first line of each source, for times without one.
    pub year: Option<i32>,
    /// Fields that formats get in addition, as far as they have what these are derived from.
    pub derived: Vec<DerivedField>,
    /// What of the addresses in all values is hidden. It is hidden before a value is kept, compared
    /// or counted.
    pub mask: Option<AddressMask>,
}

/// Gives a format the options of all lines, if there are some and it has not got them.
pub(in crate::format) fn with_options(
    format: Arc<Format>,
    options: Option<&Arc<LineOptions>>,
) -> Arc<Format> {
    match options {
        Some(options) if format.line_options() != Some(options) => {
            Arc::new(format.with_line_options(options))
        }
        _ => format,
    }
}
