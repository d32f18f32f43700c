//! The writers of text, one for each thread.

use weir_export::TextWriter;

/// A writer for each thread that has been needed so far.
#[derive(Default)]
pub(super) struct TextWriters {
    /// The version of the fields that the writers know.
    version: u64,
    writers: Vec<TextWriter>,
}

impl TextWriters {
    /// Returns writers that know this version of the fields. Older ones may lack new fields.
    pub(super) fn get(
        &mut self,
        version: u64,
        writers: usize,
        new: impl FnMut() -> TextWriter,
    ) -> &mut [TextWriter] {
        if self.version != version {
            self.version = version;
            self.writers.clear();
        }
        if self.writers.len() < writers {
            self.writers.resize_with(writers, new);
        }
        &mut self.writers
    }
}
