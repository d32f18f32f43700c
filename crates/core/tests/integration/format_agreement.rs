//! The known formats against each other: no format misreads the lines of another one.
//!
//! A line that two formats match has the same client, status and time in both. Otherwise a log
//! that is read in the wrong one of them would have wrong numbers. The exceptions are listed, with
//! the reason.

use std::path::Path;
use std::sync::Arc;

use crate::format_support::{catalog, fields};
use weir_core::{
    Format, LineOutcome, LineParser, LogReader, Record, format_by_name, known_formats,
};

/// Pairs of formats with sample lines that both match and read differently: the format of the
/// line, the other format, and the reason.
const AMBIGUOUS: [(&str, &str, &str); 1] =
    [("HAR", "JSONREQUEST", "`time` is a duration in HAR, of which more fields are read")];

/// The fields on which the formats must agree, by name.
type Facts = Vec<(String, String)>;

/// The facts of a record.
fn facts(format: &Format, record: &Record<'_>) -> Facts {
    let mut facts = fields(format, record);
    facts.retain(|(name, _)| matches!(name.as_str(), "client" | "status" | "time"));
    facts
}

/// The sample lines of a format's file that are in the format, with their facts.
fn samples(path: &Path) -> (Arc<Format>, Vec<(String, Facts)>) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
    let format = Arc::new(format_by_name(name).unwrap());
    let mut samples = Vec::new();
    let mut parser = LineParser::new(Arc::clone(&format));
    for line in text.lines().filter_map(|line| line.strip_prefix("line: ")) {
        let mut record = Record::new();
        if parser.parse(line.as_bytes(), &mut record).is_ok() {
            samples.push((line.to_owned(), facts(&format, &record)));
        }
    }
    let mut reader = LogReader::new(Arc::clone(&format));
    for line in text.lines() {
        let Some(line) = line.strip_prefix("> ") else {
            reader = LogReader::new(Arc::clone(&format));
            continue;
        };
        reader.read(line.as_bytes(), |parser, outcome| {
            if let LineOutcome::Record(record) = outcome {
                samples.push((line.to_owned(), facts(parser.format(), record)));
            }
        });
    }
    (format, samples)
}

#[test]
fn no_format_misreads_the_lines_of_another() {
    let mut disagreements = Vec::new();
    let mut used = Vec::new();
    for path in catalog() {
        let (format, samples) = samples(&path);
        assert!(!samples.is_empty(), "{}", path.display());
        for other in known_formats().iter().filter(|other| other.name() != format.name()) {
            let other = Arc::new(other.clone());
            let mut parser = LineParser::new(Arc::clone(&other));
            for (line, expected) in &samples {
                let mut record = Record::new();
                if parser.parse(line.as_bytes(), &mut record).is_err() {
                    continue;
                }
                let found = facts(&other, &record);
                if found == *expected {
                    continue;
                }
                let pair = (format.name(), other.name());
                match AMBIGUOUS.iter().find(|(line, other, _)| (*line, *other) == pair) {
                    Some(listed) => used.push(listed),
                    None => disagreements.push(format!(
                        "{} read as {}: {line}\n  {expected:?}\n  {found:?}",
                        pair.0, pair.1
                    )),
                }
            }
        }
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
    for listed in &AMBIGUOUS {
        assert!(used.contains(&listed), "{} and {} agree; remove the pair", listed.0, listed.1);
    }
}
