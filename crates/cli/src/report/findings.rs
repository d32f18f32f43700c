//! Notes and complaints that accompany a report.

use std::sync::Arc;

use weir_core::{Field, Format, STATUS_CLASS, UnknownField, Zone};
use weir_ingest::{SourceEnd, SourceSnapshot};
use weir_view::{Query, Report};

use super::ReportArguments;
use crate::display::separated;
use crate::messages::{merged, no_known_format, none_matches};
use crate::outcome::Failure;
use crate::scan::where_failure;
use crate::sources::Complaint;

/// Checks that the log has the fields that the options name.
///
/// # Errors
/// For the first field that none of the formats has.
pub(crate) fn check_fields(
    arguments: &ReportArguments,
    sources: &[SourceSnapshot],
    formats: &[Arc<Format>],
) -> Result<(), Failure> {
    let names = field_names(formats);
    if names.is_empty() || sources.iter().all(|source| source.format.is_none()) {
        // No format was detected, so no line matched. A note reports that.
        return Ok(());
    }
    let filter = Query { conditions: arguments.conditions.clone(), ..Query::default() };
    filter.check_fields(formats.iter().map(Arc::as_ref)).map_err(where_failure)?;
    let mut named: Vec<(&str, String)> = vec![("--stack", arguments.stack.clone())];
    named.extend(arguments.group.iter().map(|field| ("--group", field.clone())));
    named.extend(arguments.compare.then(|| ("--compare", "time".to_owned())));
    named.extend(arguments.period.options().map(|option| (option, "time".to_owned())));
    for (option, name) in named {
        let known = match Field::by_name(&name) {
            Some(field) => field.name(),
            None => &name,
        };
        let is_class = matches!(option, "--stack" | "--group") && name == STATUS_CLASS;
        if !is_class && !names.iter().any(|other| other == known) {
            let error = UnknownField { name, fields: names };
            return Err(Failure::new(format_args!("{option}: {error}")));
        }
    }
    Ok(())
}

/// The names of the fields of all formats, without repetition.
fn field_names(formats: &[Arc<Format>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for format in formats {
        let known = format.fields().iter().map(|field| field.name().to_owned());
        for name in known.chain(format.extra_fields().iter().cloned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Sources that ended before the size that they had when they were opened.
pub(crate) fn truncated(sources: &[SourceSnapshot]) -> Vec<Complaint> {
    let complaint = |source: &SourceSnapshot| {
        let total = source.bytes_total?;
        let missing = source.end == Some(SourceEnd::Done) && source.bytes_done < total;
        missing.then(|| Complaint {
            name: source.name.clone(),
            sentence: format!(
                "was truncated while it was read: {} of {} bytes were read; their lines are kept",
                separated(source.bytes_done),
                separated(total)
            ),
        })
    };
    sources.iter().filter_map(complaint).collect()
}

/// Notes about sources without records, and about the report as a whole. `log_ns` are the first and
/// the last time of all records of its kind.
pub(crate) fn notes(
    sources: &[SourceSnapshot],
    report: &Report,
    log_ns: Option<(i64, i64)>,
) -> Vec<String> {
    let without_records: Vec<Complaint> = sources
        .iter()
        .filter(|source| source.records == 0 && source.end == Some(SourceEnd::Done))
        .map(|source| Complaint {
            name: source.name.clone(),
            sentence: reason_without_records(source),
        })
        .collect();
    let mut notes = merged(&without_records);
    notes.extend(report.no_match_note(log_ns));
    for report in std::iter::once(report).chain(&report.other_kinds) {
        if let Some(note) = report.memory_note() {
            notes.push(format!("{note}; raise the limit with --memory"));
        }
        notes.extend(report.rounding_note());
    }
    notes
}

/// A note about a log whose times have several offsets from UTC.
pub(crate) fn mixed_offsets(range_s: Option<(i32, i32)>, report: &Report) -> Option<String> {
    let (least, most) = range_s.filter(|(least, most)| least != most)?;
    let name = |offset_s| Zone::fixed(offset_s).name().to_owned();
    Some(format!(
        "the log's times have offsets from {} to {}; all are shown in {}; choose another zone with --tz",
        name(least),
        name(most),
        report.time.zone
    ))
}

/// Why a source has no record, and what to do.
fn reason_without_records(source: &SourceSnapshot) -> String {
    if source.bytes_parsed == 0 {
        return "is empty".to_owned();
    }
    if source.samples.iter().any(|sample| looks_binary(&sample.text)) {
        return "is not a text file; Weir reads logs, plain or compressed with gzip or zstd"
            .to_owned();
    }
    if source.lines == 0 {
        return "has no lines, only NUL bytes".to_owned();
    }
    let lines = separated(source.lines);
    if source.too_long_lines == source.lines {
        return match source.lines {
            1 => "its only line is over 1 MiB long, so it is not an access log".to_owned(),
            _ => {
                format!("each of its {lines} lines is over 1 MiB long, so it is not an access log")
            }
        };
    }
    match &source.format {
        // Directives are lines, but neither records nor unparsed.
        Some(format) if source.unparsed_lines + source.too_long_lines == 0 => {
            format!("has the directives of the format {} and no requests", format.name())
        }
        Some(format) if source.parsed_share.is_none() => {
            let none_matches = none_matches(source.lines);
            format!("{none_matches} the format {}; see why with weir formats FILE", format.name())
        }
        _ => no_known_format(source.lines),
    }
}

/// Whether a line is binary: more than a tenth of it is control characters or not UTF-8.
fn looks_binary(text: &[u8]) -> bool {
    let controls = text.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    let shown = String::from_utf8_lossy(text);
    let replaced = shown.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    controls + replaced > text.len() / 10
}

#[cfg(test)]
mod tests {
    use weir_ingest::{Phase, SourceEnd, SourceError, SourceSnapshot};

    use super::{looks_binary, truncated};

    fn source(bytes_done: u64, end: SourceEnd) -> SourceSnapshot {
        SourceSnapshot {
            number: 0,
            name: "access.log".to_owned(),
            bytes_total: Some(4_000),
            bytes_done,
            bytes_parsed: bytes_done,
            lines: 0,
            records: 0,
            unparsed_lines: 0,
            too_long_lines: 0,
            format: None,
            by_format: Vec::new(),
            parsed_share: None,
            samples: Vec::new(),
            end: Some(end),
            note: None,
            phase: Phase::Reading,
        }
    }

    #[test]
    fn a_file_that_shrinks_is_reported() {
        let shrunk = truncated(&[source(1_500, SourceEnd::Done)]);
        let sentence = "access.log: was truncated while it was read: 1,500 of 4,000 bytes were read; their lines are kept";
        assert_eq!(shrunk.iter().map(ToString::to_string).collect::<Vec<_>>(), [sentence]);
        let others = [
            source(4_000, SourceEnd::Done),
            // It grew.
            source(4_100, SourceEnd::Done),
            // The failure is reported on its own.
            source(10, SourceEnd::Failed(SourceError::ParserFailed)),
        ];
        assert_eq!(truncated(&others), []);
    }

    #[test]
    fn text_does_not_look_binary() {
        assert!(!looks_binary("größe\tund [31m\x1b[0m 日本".as_bytes()));
        assert!(!looks_binary(b""));
        assert!(looks_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    }
}
