//! How well a definition fits the first lines of a source, as a person writes it.

use serde::{Deserialize, Serialize};
use weir_core::{Candidate, Format, FormatError, Lines, detect, suggest_format, try_format};

/// A definition, and how well it fits some lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FormatTrial {
    /// The definition: that of the question or, if it has none, the one that is suggested for the
    /// lines; empty if there is none.
    pub definition: String,
    /// The number of lines that were tried.
    pub lines: u64,
    /// The number of these lines that it fits.
    pub parsed_lines: u64,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// The first line that it does not fit.
    pub misfit: Option<Misfit>,
    /// Why it is no definition.
    pub error: Option<DefinitionError>,
}

/// A line that a definition does not fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Misfit {
    /// The number of the line, from 1.
    pub line: u64,
    /// The first position that does not fit, in bytes from 1.
    pub column: usize,
    /// The text that the format expects there.
    pub reason: String,
    /// The line, truncated.
    pub text: String,
}

/// A mistake in a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DefinitionError {
    /// Its place, in characters from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The most bytes of a line that are returned.
const TEXT_BYTES_MAX: usize = 2_000;

impl FormatTrial {
    /// Tries a definition on lines; one that is suggested for them if it is empty.
    pub fn of(definition: &str, lines: &[u8]) -> Self {
        let suggested = definition.trim().is_empty().then(|| suggested(lines));
        let definition = suggested.as_deref().unwrap_or(definition);
        let trial = Self { definition: definition.to_owned(), ..Self::default() };
        if definition.is_empty() {
            let lines = Lines::new(lines).filter(|line| !line.bytes.is_empty()).count() as u64;
            return Self { lines, ..trial };
        }
        match Format::parse(definition) {
            Ok(format) => trial.with(&format, &try_format(&format, lines), lines),
            Err(error) => Self { error: Some(DefinitionError::from(&error)), ..trial },
        }
    }

    fn with(self, format: &Format, candidate: &Candidate, lines: &[u8]) -> Self {
        let misfit = candidate.mismatches.first().map(|mismatch| {
            let index = usize::try_from(mismatch.line - 1).unwrap_or(usize::MAX);
            let text = Lines::new(lines).nth(index).map_or(&[][..], |line| line.bytes);
            Misfit {
                line: mismatch.line,
                column: mismatch.column,
                reason: mismatch.reason(),
                text: String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]).into_owned(),
            }
        });
        Self {
            lines: candidate.lines,
            parsed_lines: candidate.parsed_lines,
            fields: format.accessors().into_iter().map(|(name, _)| name).collect(),
            misfit,
            ..self
        }
    }
}

impl From<&FormatError> for DefinitionError {
    fn from(error: &FormatError) -> Self {
        Self { column: error.column(), message: error.message().to_owned() }
    }
}

/// The definition or the name that fits lines best; empty if none fits.
fn suggested(lines: &[u8]) -> String {
    let detection = detect(lines);
    if let Some(best) = detection.best() {
        return best.format.suggested_definition().unwrap_or(best.format.name()).to_owned();
    }
    suggest_format(Lines::new(lines).map(|line| line.bytes))
        .map_or_else(String::new, |it| it.definition)
}

#[cfg(test)]
mod tests {
    use super::FormatTrial;

    #[test]
    fn trials() {
        let line = "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5";
        let log = format!("{line} 7\n{line} 8\nbroken\n");
        let trial = FormatTrial::of("", log.as_bytes());
        assert_eq!(trial.definition, "COMMON and $extra_1");
        assert_eq!((trial.lines, trial.parsed_lines), (3, 2));
        assert!(trial.fields.iter().any(|name| name == "extra_1"));
        assert_eq!(trial.misfit.map(|it| (it.line, it.text)), Some((3, "broken".to_owned())));

        let trial = FormatTrial::of("COMMON and $", log.as_bytes());
        assert_eq!(trial.error.map(|it| it.column), Some(12));
        assert_eq!(FormatTrial::of("COMMON", log.as_bytes()).parsed_lines, 0);
        assert_eq!(FormatTrial::of(" ", b"Dear reader,\n\nthis is\n").lines, 2);
        assert_eq!(FormatTrial::of("", b""), FormatTrial::default());
        assert_eq!(FormatTrial::of("", &[0xFF; 100]).definition, "");
    }
}
