//! The fields that some records may have, by name.

use super::accessor::{FieldAccessor, UnknownField};
use crate::field::Field;
use crate::schema::RecordKind;

/// The fields of the records of a format, or of a data set.
///
/// It resolves names without the lines, so that what reads records need not know whether they come
/// from a line ([`crate::LineParser`]) or from columns ([`crate::RowReader`]).
///
/// # Examples
///
/// ```
/// use weir_core::{Field, Format};
///
/// let fields = Format::parse("%h %t \"%r\" %{X-Key}i")?.record_fields();
/// assert!(fields.fills(Field::Client) && fields.has_arrival_times());
/// assert!(fields.accessor("http_x_key").is_ok());
/// assert!(fields.accessor("status").is_err());
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFields {
    fields: Vec<Field>,
    extra_fields: Vec<String>,
    /// For each extra field, whether a value `-` is a value.
    literal_dashes: Vec<bool>,
    /// How many of the extra fields, the first, stand in lines. The others are derived.
    logged: usize,
    kind: RecordKind,
    has_arrival_times: bool,
    has_plain_texts: bool,
}

impl RecordFields {
    /// Known fields, and fields that only some formats have, by their index in a record.
    pub(crate) fn new(fields: Vec<Field>, extra_fields: Vec<String>, kind: RecordKind) -> Self {
        let (literal_dashes, logged) = (vec![false; extra_fields.len()], extra_fields.len());
        Self {
            fields,
            extra_fields,
            literal_dashes,
            logged,
            kind,
            has_arrival_times: false,
            has_plain_texts: false,
        }
    }

    /// The same fields. `is_literal` says whether a value `-` of an extra field is a value.
    pub(crate) fn with_literal_dashes(mut self, is_literal: impl Fn(&String) -> bool) -> Self {
        self.literal_dashes = self.extra_fields.iter().map(is_literal).collect();
        self
    }

    /// The same fields, of which only the first extra ones stand in lines.
    pub(crate) fn with_logged(self, logged: usize) -> Self {
        Self { logged, ..self }
    }

    /// How many of the extra fields, the first, stand in lines. The others are derived.
    pub(crate) fn logged_extra_fields(&self) -> usize {
        self.logged
    }

    /// The same fields, with times that are those at which requests arrived.
    pub(crate) fn with_arrival_times(self, has_arrival_times: bool) -> Self {
        Self { has_arrival_times, ..self }
    }

    /// The same fields, with texts that have no escapes.
    pub(crate) fn with_plain_texts(self, has_plain_texts: bool) -> Self {
        Self { has_plain_texts, ..self }
    }

    /// Returns the kind of the records.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Returns whether a record may have a known field.
    pub fn fills(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    /// Returns the names of the fields that only some formats have.
    pub fn extra_fields(&self) -> &[String] {
        &self.extra_fields
    }

    /// Returns whether the values of an extra field do not stand in lines, but follow from them.
    pub fn is_derived(&self, extra_field: &str) -> bool {
        self.extra_fields[self.logged..].iter().any(|name| name == extra_field)
    }

    /// Returns whether a value `-` of an extra field is a value. In most formats, and in the known
    /// fields of all of them, it means that there is none.
    pub fn has_literal_dash(&self, extra_field: &str) -> bool {
        let index = self.extra_fields.iter().position(|name| name == extra_field);
        index.is_some_and(|index| self.literal_dashes[index])
    }

    /// Returns whether the time of a record is that at which the request arrived. If not, it is
    /// that at which the server had answered it, or not known.
    pub fn has_arrival_times(&self) -> bool {
        self.has_arrival_times
    }

    /// Returns whether texts have no escapes of the log, such as `\x22`, because its format decodes
    /// them. If not, it is not known.
    pub fn has_plain_texts(&self) -> bool {
        self.has_plain_texts
    }

    /// Resolves a field by any of its names.
    ///
    /// # Errors
    /// If the records have no such field.
    pub fn accessor(&self, name: &str) -> Result<FieldAccessor, UnknownField> {
        FieldAccessor::new(name, &self.fields, &self.extra_fields)
    }

    /// Returns accessors of all fields with their names, in the order of
    /// [`crate::Format::accessors`].
    pub fn accessors(&self) -> Vec<(String, FieldAccessor)> {
        FieldAccessor::all(&self.fields, &self.extra_fields)
    }
}
