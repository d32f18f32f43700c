//! What the records of a format are like.

use super::Format;
use crate::format::program::Program;
use crate::format::program::json::UNREAD_MEMBERS;
use crate::format::program::keyed::MemberSyntax;
use crate::format::program::tail::MORE_VALUES;
use crate::record::{FieldAccessor, RecordFields, UnknownField};

impl Format {
    /// Whether each line begins with the client, as in the common log format. The client may be the
    /// leftmost of a list, or have a port. Not so if [`Self::with_line_options`] chooses another one.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Format;
    ///
    /// let begins = |text| Format::parse(text).map(|format| format.begins_with_client());
    /// assert_eq!(begins("COMBINED"), Ok(true));
    /// assert_eq!(begins("$host $remote_addr $status"), Ok(false));
    /// assert_eq!(begins("COMBINED in SYSLOG"), Ok(false));
    /// ```
    pub fn begins_with_client(&self) -> bool {
        let is_bare = self.wrapper.is_none() && self.head.is_none() && self.envelopes.is_empty();
        is_bare && self.client_source.is_none() && self.program.begins_with_client()
    }

    /// Resolves the name of a field, or an alias that [`crate::Field::by_name`] accepts. The name
    /// [`crate::STATUS_CLASS`] stands for the class of the status.
    ///
    /// # Errors
    /// If the format does not fill the field.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{FieldAccessor, Format};
    ///
    /// let format = Format::parse("$remote_addr $http_x_trace")?;
    /// assert_eq!(format.accessor("http_x_trace"), Ok(FieldAccessor::Extra(0)));
    /// assert!(format.accessor("status").is_err());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn accessor(&self, name: &str) -> Result<FieldAccessor, UnknownField> {
        FieldAccessor::new(name, &self.fields, &self.extra_fields)
    }

    /// Returns accessors of all fields with the fields' names: the time, the other known fields
    /// in the order of [`crate::Field::TEXT`] and [`crate::Field::NUMBERS`], then the extra fields.
    ///
    /// For a table of all fields, in the order in which people read them.
    pub fn accessors(&self) -> Vec<(String, FieldAccessor)> {
        FieldAccessor::all(&self.fields, &self.extra_fields)
    }

    /// Whether the time of a line is that at which the request arrived: Apache's `%t`, and the
    /// accept date of HAProxy, and the times of our gateway, packed or in JSON. A table states it. nginx and most
    /// others log the time at which they had answered.
    pub fn has_arrival_times(&self) -> bool {
        match &self.program {
            Program::Stored(program) => return program.traits.has_arrival_times,
            Program::Packed(program) => return program.has_arrival_times,
            _ => {}
        }
        let is_apache = self.definition.contains("%t") || self.definition.contains("%{begin");
        let has_own_time =
            ["HAPROXY", "WEIRGATEWAY"].iter().any(|name| self.name.starts_with(name));
        is_apache || has_own_time
    }

    /// Whether blocks hold packed records instead of lines; see [`crate::RecordLayout`].
    pub fn is_packed(&self) -> bool {
        matches!(self.program, Program::Packed(_))
    }

    /// Returns the fields of the records.
    pub fn record_fields(&self) -> RecordFields {
        let fields = RecordFields::new(self.fields.clone(), self.extra_fields.clone(), self.kind())
            .with_literal_dashes(|_| self.has_literal_dashes())
            .with_logged(self.logged_extra_fields().len());
        fields.with_arrival_times(self.has_arrival_times()).with_plain_texts(self.has_plain_texts())
    }

    /// Whether texts have no escapes, because the program decodes those of JSON, or because records
    /// were never text.
    pub(crate) fn has_plain_texts(&self) -> bool {
        match &self.program {
            Program::Json(_) | Program::Packed(_) => true,
            Program::Stored(program) => program.traits.has_plain_texts,
            _ => false,
        }
    }

    /// Whether every line has a place for a field of the format. Objects and messages have any of their
    /// members, and few lines have more values than the format names.
    pub(crate) fn is_in_every_line(&self, name: &str) -> bool {
        self.has_fixed_fields() && ![MORE_VALUES, UNREAD_MEMBERS].contains(&name)
    }

    /// Whether each line has all fields of the definition.
    pub(in crate::format) fn has_fixed_fields(&self) -> bool {
        match &self.program {
            Program::Json(_) | Program::Handwritten(_) => false,
            Program::Stored(program) => program.traits.has_fixed_fields,
            _ => true,
        }
    }

    /// Whether `-` is a value. Servers write it in lines of text where there is no value, but JSON has
    /// `null` and can lack a member.
    pub(crate) fn has_literal_dashes(&self) -> bool {
        match &self.program {
            Program::Json(program) => program.syntax == MemberSyntax::Json,
            Program::Stored(program) => program.traits.has_literal_dashes,
            Program::Packed(program) => program.has_literal_dashes,
            _ => false,
        }
    }

    /// Whether path and query come from one value, the request target, in every line.
    pub(crate) fn has_request_target(&self) -> bool {
        self.program.has_request_target()
    }
}
