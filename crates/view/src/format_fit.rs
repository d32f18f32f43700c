//! The known formats, and how well they fit a file.

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
    /// The names of the wrappers that may stand around the lines of most formats.
    pub wrappers: Vec<&'static str>,
}

/// A known format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFormat {
    /// Its name.
    pub name: &'static str,
    /// What its records are about.
    pub kind: RecordKind,
    /// What writes it, in a few sentences.
    pub about: &'static str,
    /// The address of the manual that defines it.
    pub manual: &'static str,
    /// The definition, or the shape of the lines.
    pub definition: &'static str,
    /// Whether `definition` is a shape, which does not compile.
    pub is_shape: bool,
    /// Whether it is detected. If not, it is only taken by its name.
    pub is_detected: bool,
    /// The names of its fields. Empty if the log names them.
    pub fields: Vec<String>,
}

/// How well formats fit the first lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatFits {
    /// The name of the file.
    pub file: String,
    /// The formats, the best first.
    pub formats: Vec<FormatFit>,
}

/// How well a format fits the first lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatFit {
    /// The format's name.
    pub name: String,
    /// The lines that were tried, without empty lines and directives.
    pub lines: u64,
    /// Those that fit.
    pub parsed_lines: u64,
    /// The first lines that do not fit, five at most.
    pub mismatches: Vec<FormatMismatch>,
}

/// A line that does not fit a format, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatMismatch {
    /// The number of the line, from 1.
    pub line: u64,
    /// Where it stops to fit, in bytes from 1.
    pub column: usize,
    /// What the format expects there.
    pub reason: String,
}

impl KnownFormats {
    /// All known formats.
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
    /// The fits of the candidates for a file.
    pub fn new(file: &str, candidates: &[Candidate]) -> Self {
        let fit = |candidate: &Candidate| FormatFit {
            name: candidate.format.name().to_owned(),
            lines: candidate.lines,
            parsed_lines: candidate.parsed_lines,
            mismatches: candidate.mismatches.iter().map(FormatMismatch::of).collect(),
        };
        Self { file: file.to_owned(), formats: candidates.iter().map(fit).collect() }
    }
}

impl FormatMismatch {
    fn of(mismatch: &LineMismatch) -> Self {
        let LineMismatch { line, column, reason } = mismatch;
        Self { line: *line, column: *column, reason: reason.clone() }
    }
}
