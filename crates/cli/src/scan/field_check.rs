//! Whether records have the fields that a search names.

use std::fmt;

use weir_core::UnknownField;

/// An option names a field that the logs lack.
#[derive(Debug, Clone)]
pub(crate) struct MissingField {
    pub(super) option: &'static str,
    pub(super) error: UnknownField,
}

impl fmt::Display for MissingField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.option, self.error)
    }
}

/// Whether the formats of some records have all fields that the command line names. A single format
/// may lack some of them.
#[derive(Debug, Default)]
pub(crate) struct FieldCheck {
    /// The first field that a format lacks.
    missing: Option<MissingField>,
    /// Whether a format has all of them.
    has_all: bool,
}

impl FieldCheck {
    /// Adds the check of another format.
    pub(crate) fn add(&mut self, checked: Result<(), &MissingField>) {
        match checked {
            Ok(()) => self.has_all = true,
            Err(missing) => {
                self.missing.get_or_insert_with(|| missing.clone());
            }
        }
    }

    /// Adds the checks of later lines.
    pub(crate) fn merge(&mut self, later: Self) {
        self.has_all |= later.has_all;
        self.missing = self.missing.take().or(later.missing);
    }

    /// Returns a missing field if formats were checked, and none has all fields.
    pub(crate) fn failure(&self) -> Option<&MissingField> {
        self.missing.as_ref().filter(|_| !self.has_all)
    }
}
