//! The known formats, and how well they match a file.

use serde::Serialize;
use weir_core::{
    Candidate, Format, FormatNotes, LineMismatch, Wrapper, format_by_name, format_notes,
};

use crate::kind::RecordKind;

/// The known formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFormats {
    /// The formats, the most specific first.
    pub formats: Vec<KnownFormat>,
    /// The names of the wrappers that may surround the lines of most formats.
    pub wrappers: Vec<&'static str>,
}

/// A known format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFormat {
    /// Its name.
    pub name: &'static str,
    /// The kind of its records.
    pub kind: RecordKind,
    /// A description of what writes it, in a few sentences.
    pub about: &'static str,
    /// The URL of the manual that defines it.
    pub manual: &'static str,
    /// The definition, or the shape of the lines.
    pub definition: &'static str,
    /// Whether `definition` is a shape, which cannot be compiled.
    pub is_shape: bool,
    /// Whether it is detected automatically. If not, it must be named.
    pub is_detected: bool,
    /// The names of its fields; empty if the log names them.
    pub fields: Vec<String>,
}

/// How well formats match the first lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatFits {
    /// The name of the file.
    pub file: String,
    /// The formats, the best match first.
    pub formats: Vec<FormatFit>,
    /// A definition made from the values of the lines, if no format matches a line and most lines
    /// have a common form. Otherwise left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<SuggestedFormat>,
}

/// A definition for `--format`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuggestedFormat {
    /// The definition.
    pub definition: String,
    /// The number of lines that were tried.
    pub lines: u64,
    /// The number of these lines that it matches.
    pub parsed_lines: u64,
}

/// How well a format matches the first lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatFit {
    /// The format's name.
    pub name: String,
    /// The number of lines that were tried, without empty lines and directives.
    pub lines: u64,
    /// The number of lines that match.
    pub parsed_lines: u64,
    /// The first lines that do not match, five at most.
    pub mismatches: Vec<FormatMismatch>,
    /// The definition for `--format` of a known format with values after its lines or parts before
    /// them. Left out for other formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// A line that does not match a format, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatMismatch {
    /// The number of the line, from 1.
    pub line: u64,
    /// The first position that does not match, in bytes from 1.
    pub column: usize,
    /// The text that the format expects there.
    pub reason: String,
}

impl KnownFormats {
    /// Returns all known formats.
    pub fn all() -> Self {
        let formats = format_notes().iter().map(KnownFormat::of).collect();
        Self { formats, wrappers: Wrapper::ALL.iter().map(|wrapper| wrapper.name()).collect() }
    }
}

impl KnownFormat {
    fn of(notes: &'static FormatNotes) -> Self {
        let format = format_by_name(notes.name);
        let kind = format.as_ref().map_or_else(RecordKind::default, |format| format.kind().into());
        let accessors = format.as_ref().map(Format::accessors).unwrap_or_default();
        Self {
            name: notes.name,
            kind,
            about: notes.about,
            manual: notes.manual,
            definition: &notes.definition,
            is_shape: notes.is_shape,
            is_detected: notes.is_detected,
            fields: accessors.into_iter().map(|(name, _)| name).collect(),
        }
    }
}

impl FormatFits {
    /// Creates the result for a file from the candidates, and the definition that was made from its
    /// lines.
    pub fn new(
        file: &str,
        candidates: &[Candidate],
        suggestion: Option<&weir_core::SuggestedFormat>,
    ) -> Self {
        let fit = |candidate: &Candidate| FormatFit {
            name: candidate.format.name().to_owned(),
            lines: candidate.lines,
            parsed_lines: candidate.parsed_lines,
            mismatches: candidate.mismatches.iter().map(FormatMismatch::of).collect(),
            suggestion: candidate.format.suggested_definition().map(str::to_owned),
        };
        let suggestion = suggestion.map(|it| SuggestedFormat {
            definition: it.definition.clone(),
            lines: it.lines,
            parsed_lines: it.parsed_lines,
        });
        Self { file: file.to_owned(), formats: candidates.iter().map(fit).collect(), suggestion }
    }
}

impl FormatMismatch {
    fn of(mismatch: &LineMismatch) -> Self {
        Self { line: mismatch.line, column: mismatch.column, reason: mismatch.reason() }
    }
}
