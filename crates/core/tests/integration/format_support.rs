//! Golden cases of formats: text files of definitions and lines with their outcomes.
//!
//! ```text
//! # A comment.
//! format: a definition
//! | and its further lines
//!   the error, if there is one
//! line: a line in that format
//!   client = 192.0.2.1
//! line: a line that does not match
//!   mismatch 1: the reason
//! log: detection in the lines
//! > line
//!   COMBINED 1/1
//! detect: the format detected in the lines, its definition, and the lines read with it
//! > line; `^[` is an escape character
//!   name, then the outcomes
//! read: reading the lines with the format, with the directives between them
//! > line
//!   client = 192.0.2.1
//! ```
//!
//! Indented lines are outcomes; `BLESS=1 cargo test` updates them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::{
    Detection, Field, Format, LineOutcome, LineParser, Lines, LogReader, Record, detect,
    format_by_name, format_rfc3339,
};

/// The path of a golden file.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/formats").join(name)
}

/// The paths of the files of the known formats.
pub(crate) fn catalog() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/format/catalog");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect();
    files.sort();
    files
}

/// Runs the cases of a golden file.
pub(crate) fn check_cases(path: &Path) {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    check_text(path, &answer(&text));
}

/// Compares a golden file with the actual text, or writes it if `BLESS` is set.
pub(crate) fn check_text(path: &Path, actual: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "{}:{}", path.display(), number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{}", path.display());
}

/// The text of a file with new outcomes.
pub(crate) fn answer(text: &str) -> String {
    let mut out = String::new();
    let mut parser: Option<LineParser> = None;
    let mut lines = text.lines().filter(|line| !line.starts_with("  ")).peekable();
    while let Some(line) = lines.next() {
        writeln!(out, "{line}").unwrap();
        let mut more = |mark: &str| {
            let mut more = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with(mark)) {
                writeln!(out, "{line}").unwrap();
                more.push(line[mark.len()..].trim_start_matches(' ').to_owned());
            }
            more
        };
        let outcome = if let Some(definition) = line.strip_prefix("format: ") {
            let mut definition = vec![definition.to_owned()];
            definition.extend(more("|"));
            let (made, outcome) = compile(&definition.join("\n"));
            parser = made;
            outcome
        } else if let Some(line) = line.strip_prefix("line: ") {
            let parser = parser.as_mut().expect("a format comes before its lines");
            outcome(parser, line.as_bytes())
        } else if let Some(name) = line.strip_prefix("name: ") {
            parser = format_by_name(name).map(|format| LineParser::new(Arc::new(format)));
            String::new()
        } else if line.starts_with("log:") {
            describe(&detect(more(">").join("\n").as_bytes()))
        } else if line.starts_with("detect:") {
            detected(&more(">").join("\n").replace("^[", "\u{1b}"))
        } else if line.starts_with("read:") {
            let parser = parser.as_ref().expect("a format comes before its lines");
            read(parser.format(), more(">").join("\n").as_bytes())
        } else {
            String::new()
        };
        for line in outcome.lines() {
            writeln!(out, "{}", format!("  {line}").trim_end()).unwrap();
        }
    }
    out
}

fn compile(definition: &str) -> (Option<LineParser>, String) {
    match Format::parse(definition) {
        Ok(format) => (Some(LineParser::new(Arc::new(format))), String::new()),
        Err(error) => (None, error.to_string()),
    }
}

/// The outcome of a line: its fields, or why it does not match.
pub(crate) fn outcome(parser: &mut LineParser, line: &[u8]) -> String {
    let (mut text, mut decoded) = (Vec::new(), Vec::new());
    let mut record = Record::new();
    let read = match parser.unwrap(line, &mut text) {
        Ok(inside) => parser.parse_decoding(inside, &mut decoded, &mut record),
        Err(mismatch) => Err(mismatch),
    };
    match read {
        Ok(()) => {
            let mut out = String::new();
            for (name, value) in fields(parser.format(), &record) {
                writeln!(out, "{name} = {value}").unwrap();
            }
            out
        }
        Err(mismatch) => format!("mismatch {}: {}\n", mismatch.at + 1, parser.explain(mismatch)),
    }
}

/// The format of a log, and the outcome of its lines.
fn detected(log: &str) -> String {
    let detection = detect(log.as_bytes());
    let Some(best) = detection.best() else { return describe(&detection) };
    let format = &best.format;
    // What the log has beside the keys of a known format is at the end.
    let definition = match format.definition().rsplit_once("xff") {
        Some((_, members)) if format.definition().starts_with("json:") => {
            format!("json:...{members}")
        }
        _ => format.definition().to_owned(),
    };
    format!("{}\n{definition}\n{}", format.name(), read(format, log.as_bytes()))
}

/// The outcome of the lines of a log.
fn read(format: &Arc<Format>, log: &[u8]) -> String {
    let mut out = String::new();
    let mut reader = LogReader::new(Arc::clone(format));
    for (line, number) in Lines::new(log).zip(1..) {
        let text = reader.read(line.bytes, |parser, outcome| match outcome {
            LineOutcome::Directive => None,
            LineOutcome::Record(record) => {
                let fields = fields(parser.format(), record).into_iter();
                let fields: Vec<String> =
                    fields.map(|(name, value)| format!("{name} = {value}")).collect();
                Some(fields.join(", "))
            }
            LineOutcome::Unparsed(mismatch) => {
                Some(format!("mismatch {}: {}", mismatch.at + 1, parser.explain(mismatch)))
            }
        });
        if let Some(text) = text {
            writeln!(out, "{number}: {}", text.trim_end()).unwrap();
        }
    }
    out
}

/// The fields of a record by name.
pub(crate) fn fields(format: &Format, record: &Record<'_>) -> Vec<(String, String)> {
    let text =
        |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
    let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let mut fields: Vec<(String, Option<String>)> = Field::TEXT
        .iter()
        .map(|field| (field.name().to_owned(), text(record.text(*field))))
        .collect();
    fields.push(("bytes".to_owned(), record.number(Field::Bytes).map(|bytes| bytes.to_string())));
    fields.extend(
        Field::DURATIONS.map(|field| (field.name().to_owned(), record.number(field).map(seconds))),
    );
    fields.push(("time".to_owned(), record.time.map(format_rfc3339)));
    for (index, name) in format.extra_fields().iter().enumerate() {
        fields.push((format!("+{name}"), text(record.extra(index))));
    }
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The formats that match a line, best first, and why other lines do not match them.
fn describe(detection: &Detection) -> String {
    let mut out = String::new();
    if detection.best().is_none() {
        writeln!(out, "no format fits").unwrap();
    }
    for candidate in detection.candidates.iter().filter(|candidate| candidate.parsed_lines > 0) {
        let (name, parsed) = (candidate.format.name(), candidate.parsed_lines);
        writeln!(out, "{name} {parsed}/{}", candidate.lines).unwrap();
        for mismatch in &candidate.mismatches {
            let (line, column) = (mismatch.line, mismatch.column);
            writeln!(out, "  line {line}, column {column}: {}", mismatch.reason()).unwrap();
        }
    }
    out
}
