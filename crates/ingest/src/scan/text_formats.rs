//! The formats of a text's lines.

use std::sync::Arc;

use weir_core::{FollowedFormat, Format, LogReader};

/// The own format of a text, and its companions, which are tried on lines that do not match.
#[derive(Debug, Clone)]
pub(super) struct TextFormats {
    pub(super) own: Arc<Format>,
    pub(super) companions: Arc<[Arc<Format>]>,
}

impl TextFormats {
    /// Creates a reader at the start of the text.
    pub(super) fn reader(&self) -> LogReader {
        LogReader::with_companions(self.own.clone(), &self.companions)
    }

    /// Whether no directive of the text can change the formats, so that each line can be read
    /// without those before it.
    pub(super) fn are_steady(&self) -> bool {
        !FollowedFormat::new(self.own.clone()).may_change()
    }
}
