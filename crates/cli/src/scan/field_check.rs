//! Whether records have the fields that a search names.

/// Whether the formats of some records have all fields that the command line names. A single format
/// may lack some of them.
#[derive(Debug, Default)]
pub(crate) struct FieldCheck {
    /// A sentence about the first format that lacks a field.
    missing: Option<String>,
    /// Whether a format has all of them.
    has_all: bool,
}

impl FieldCheck {
    /// Adds the check of another format. The error is a sentence.
    pub(crate) fn add(&mut self, checked: Result<(), &String>) {
        match checked {
            Ok(()) => self.has_all = true,
            Err(sentence) => {
                self.missing.get_or_insert_with(|| sentence.clone());
            }
        }
    }

    /// Adds the checks of later lines.
    pub(crate) fn merge(&mut self, later: Self) {
        self.has_all |= later.has_all;
        self.missing = self.missing.take().or(later.missing);
    }

    /// Returns a sentence if formats were checked, and none has all fields.
    pub(crate) fn failure(&self) -> Option<&String> {
        self.missing.as_ref().filter(|_| !self.has_all)
    }
}
