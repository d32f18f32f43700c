//! Formats as plain data, so that they can be stored beside the records that were read with them.

use super::compiled::{Format, YearReference};
use super::program::Program;
use super::program::stored::{FormatTraits, StoredProgram};
use crate::field::Field;
use crate::schema::RecordKind;

/// What a format tells of its records, without how it reads lines.
///
/// # Examples
///
/// ```
/// use weir_core::{Format, format_by_name};
///
/// let format = format_by_name("COMBINED").unwrap();
/// let again = Format::of_description(format.description());
/// assert!(again.is_same_as(&format));
/// assert_eq!(again.description(), format.description());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatDescription {
    /// See [`Format::name`].
    pub name: String,
    /// See [`Format::definition`].
    pub definition: String,
    /// See [`Format::kind`].
    pub kind: RecordKind,
    /// See [`Format::fields`].
    pub fields: Vec<Field>,
    /// See [`Format::extra_fields`].
    pub extra_fields: Vec<String>,
    /// See [`Format::year`].
    pub year: Option<YearReference>,
    /// See [`Format::suggested_definition`].
    pub suggestion: Option<String>,
    /// See [`Format::unitless_members`].
    pub unitless_members: Vec<String>,
    /// See [`Format::client_field`].
    pub client_field: Option<String>,
    /// The rest.
    pub traits: FormatTraits,
}

impl Format {
    /// Returns what the format tells of its records.
    pub fn description(&self) -> FormatDescription {
        FormatDescription {
            name: self.name().to_owned(),
            definition: self.definition().to_owned(),
            kind: self.kind(),
            fields: self.fields().to_vec(),
            extra_fields: self.logged_extra_fields().to_vec(),
            year: self.year(),
            suggestion: self.suggested_definition().map(str::to_owned),
            unitless_members: self.unitless_members().to_vec(),
            client_field: self.client_field(),
            traits: FormatTraits {
                has_local_times: self.has_local_times(),
                lacks_year: self.lacks_year(),
                has_arrival_times: self.has_arrival_times(),
                has_plain_texts: self.has_plain_texts(),
                has_literal_dashes: self.has_literal_dashes(),
                has_request_target: self.has_request_target(),
                has_fixed_fields: self.has_fixed_fields(),
            },
        }
    }

    /// Returns a format with this description. It reads lines if its name or its definition is
    /// enough to compile it; otherwise no line matches it.
    pub fn of_description(description: FormatDescription) -> Self {
        Self::compiled_as(&description).unwrap_or_else(|| Self::stored(description))
    }

    /// Whether it reads lines, and does not only describe records that were read before.
    pub fn reads_lines(&self) -> bool {
        !matches!(self.program(), Program::Stored(_))
    }

    /// Whether it reads no line before a header in the log names the values.
    pub fn waits_for_header(&self) -> bool {
        matches!(self.program(), Program::Delimited(program) if program.columns.is_empty())
    }

    /// Compiles the format that has this description, if its texts tell how it reads lines.
    fn compiled_as(description: &FormatDescription) -> Option<Self> {
        let FormatDescription { name, definition, suggestion, .. } = description;
        let texts = [Some(name), suggestion.as_ref(), Some(definition)];
        texts.into_iter().flatten().find_map(|text| {
            let mut format = Self::parse(text).ok()?.with_name(name);
            if let Some(suggestion) = suggestion {
                format.set_suggestion(suggestion.clone());
            }
            if let Some(year) = description.year {
                format = format.with_year(year);
            }
            (format.description() == *description).then_some(format)
        })
    }

    /// A format that only describes its records.
    fn stored(description: FormatDescription) -> Self {
        let FormatDescription {
            definition, kind, fields, extra_fields, client_field, traits, ..
        } = description;
        let program = Program::Stored(StoredProgram { kind, client_field, traits });
        let format = Self::new(&definition, fields, extra_fields, program);
        let mut format = format.with_name(&description.name);
        format.set_unitless_members(description.unitless_members);
        if let Some(suggestion) = description.suggestion {
            format.set_suggestion(suggestion);
        }
        if traits.has_local_times {
            format.set_local_times();
        }
        match description.year {
            Some(year) => format.with_year(year),
            None => format,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{FormatDescription, FormatTraits};
    use crate::format::{Format, LineParser, YearOrigin, YearReference, known_formats};
    use crate::record::Record;
    use crate::schema::RecordKind;

    #[test]
    fn every_known_format_can_be_described() {
        for format in known_formats() {
            let again = Format::of_description(format.description());
            assert_eq!(again.description(), format.description(), "{}", format.name());
            let fields = format.record_fields().accessors();
            assert_eq!(again.record_fields().accessors(), fields, "{}", format.name());
        }
    }

    #[test]
    fn a_format_without_a_definition_keeps_its_description() {
        let described = FormatDescription {
            name: "MEMBERS".to_owned(),
            definition: "no definition".to_owned(),
            kind: RecordKind::FirewallEvent,
            fields: vec![crate::Field::Client, crate::Field::Time],
            extra_fields: vec!["pod".to_owned()],
            year: Some(YearReference { unix_s: 1_700_000_000, origin: YearOrigin::NextLog }),
            suggestion: Some("neither".to_owned()),
            unitless_members: vec!["took".to_owned()],
            client_field: Some("pod".to_owned()),
            traits: FormatTraits { has_local_times: true, lacks_year: true, ..Default::default() },
        };
        let format = Format::of_description(described.clone());
        assert!(!format.reads_lines());
        assert_eq!(format.description(), described);
        let mut parser = LineParser::new(Arc::new(format));
        let mismatch = parser.parse(b"192.0.2.1", &mut Record::new()).unwrap_err();
        assert!(parser.explain(mismatch).contains("comes from a data set"));
    }
}
