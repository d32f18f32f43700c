//! What sources are opened in.

use std::fmt;
use std::sync::Arc;

use weir_core::FormatChoice;

use super::{SourceOptions, SourceWriter};
use crate::restored_place::RestoredPlace;

/// Takes the bytes of sources: a [`Pipeline`](crate::Pipeline), or [`Records`](crate::Records).
pub trait Intake: fmt::Debug + Send + Sync {
    /// Opens a source. Sources are independent of one another and may be written to at the same
    /// time.
    fn open(&self, options: SourceOptions) -> SourceWriter;

    /// Reserves this much memory, in bytes, for what reads the sources. The last call counts.
    fn reserve(&self, _bytes: usize) {}

    /// Whether it takes no more, so that no source need be opened.
    fn is_ended(&self) -> bool {
        false
    }

    /// Whether somebody looks at the first lines of a source while the others are read. If not,
    /// files are cut into full blocks only, which do not depend on the speed of the reader.
    fn is_watched(&self) -> bool;

    /// The places in files up to which another process has read its sources.
    fn restored_places(&self) -> Vec<RestoredPlace> {
        Vec::new()
    }

    /// How the lines after those are read that another process has read of a source.
    fn format_after(&self, source: &str, choice: FormatChoice) -> FormatChoice {
        let _ = source;
        choice
    }
}

impl<I: Intake + ?Sized> Intake for Arc<I> {
    fn open(&self, options: SourceOptions) -> SourceWriter {
        (**self).open(options)
    }

    fn reserve(&self, bytes: usize) {
        (**self).reserve(bytes);
    }

    fn is_ended(&self) -> bool {
        (**self).is_ended()
    }

    fn is_watched(&self) -> bool {
        (**self).is_watched()
    }

    fn restored_places(&self) -> Vec<RestoredPlace> {
        (**self).restored_places()
    }

    fn format_after(&self, source: &str, choice: FormatChoice) -> FormatChoice {
        (**self).format_after(source, choice)
    }
}
