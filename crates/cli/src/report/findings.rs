//! Notes and complaints that accompany a report.

use std::sync::Arc;

use weir_core::{Field, Format, STATUS_CLASS, UnknownField, Zone};
use weir_ingest::{SourceEnd, SourceSnapshot};
use weir_query::{WrittenQuery, no_match_note};
use weir_view::{Measure, REMAINDER_VALUE, Report};

use super::ReportArguments;
use crate::display::separated;
use crate::messages::{format_option, merge};
use crate::outcome::Failure;
use crate::scan::{check_client, query_failure};
use crate::sources::Complaint;
use crate::unmatched::without_records;

/// Checks that the log has the fields that the options name.
///
/// # Errors
/// For the first field that none of the formats has.
pub(crate) fn check_fields(
    arguments: &ReportArguments,
    query: &WrittenQuery,
    sources: &[SourceSnapshot],
    formats: &[Arc<Format>],
) -> Result<(), Failure> {
    let names = field_names(formats);
    if names.is_empty() || sources.iter().all(|source| source.format.is_none()) {
        // No format was detected, so no line matched. A note reports that.
        return Ok(());
    }
    check_client(formats)?;
    query.check_fields(formats.iter().map(Arc::as_ref), &|_| None).map_err(query_failure)?;
    let mut named: Vec<(&str, String)> = vec![("--stack", arguments.stack.clone())];
    named.extend(group_fields(arguments, query));
    named.extend(arguments.compare.then(|| ("--compare", "time".to_owned())));
    named.extend(arguments.period.options().map(|option| (option, "time".to_owned())));
    for (option, name) in named {
        let known = match Field::by_name(&name) {
            Some(field) => field.name(),
            None => &name,
        };
        let is_class = matches!(option, "--stack" | "--group" | "--by") && name == STATUS_CLASS;
        if !is_class && !names.iter().any(|other| other == known) {
            let error = UnknownField { name, fields: names };
            return Err(Failure::new(format_args!("{option}: {error}")));
        }
    }
    Ok(())
}

/// Returns the fields that the options about groups name.
fn group_fields(arguments: &ReportArguments, query: &WrittenQuery) -> Vec<(&'static str, String)> {
    let Some(group) = query.group() else { return Vec::new() };
    let mut named: Vec<(&str, String)> =
        group.fields.iter().map(|field| (arguments.group_option, field.clone())).collect();
    let mut add = |option, measure: Measure| {
        named.extend(measure.fields().iter().map(|field| (option, field.name().to_owned())));
    };
    group.measures.iter().for_each(|measure| add("--measure", *measure));
    if arguments.sort.is_some() {
        add("--sort", group.sort);
    }
    named
}

/// Returns the names of the fields of all formats, without repetition.
pub(crate) fn field_names(formats: &[Arc<Format>]) -> Vec<String> {
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

/// Returns complaints about sources that ended before the size that they had when they were opened.
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

/// Returns notes about sources without records, and about the report as a whole. `log_ns` is the
/// first and the last time of all records of its kind.
pub(crate) fn notes(
    sources: &[SourceSnapshot],
    report: &Report,
    log_ns: Option<(i64, i64)>,
) -> Vec<String> {
    let mut notes = merge(&without_records(sources));
    notes.extend(unnamed_values(sources));
    notes.extend(format_notes(sources));
    notes.extend(no_match_note(report, log_ns));
    for report in std::iter::once(report).chain(&report.other_kinds) {
        if let Some(note) = report.memory_note() {
            notes.push(format!("{note}; raise the limit with --memory"));
        }
        notes.extend(report.rounding_note());
        notes.extend(combinations_note(report));
    }
    notes
}

/// Returns a note about the combinations that a group has no memory for. Values that are grouped have a note
/// of their own.
fn combinations_note(report: &Report) -> Option<String> {
    let group = report.group.as_ref().filter(|group| !group.further_fields.is_empty())?;
    let fields: Vec<&str> =
        std::iter::once(&group.field).chain(&group.further_fields).map(String::as_str).collect();
    let has_all_values = fields.iter().all(|field| !report.is_estimated(field));
    let lacks_records = group.rows.iter().any(|row| row.value.uncounted_max > 0);
    (has_all_values && lacks_records && !report.filter_estimated).then(|| {
        format!(
            "memory limit reached: combinations of {} that were found after that are grouped as \
             \"{REMAINDER_VALUE}\"; those with a row were found first and need not be the largest, and their \
             numbers are lower bounds (≥); raise the limit with --memory",
            fields.join(", ")
        )
    })
}

/// Returns notes about sources with values that have no name in the log, with the definition in which
/// they can be named.
pub(crate) fn unnamed_values(sources: &[SourceSnapshot]) -> Vec<String> {
    let complaint = |source: &SourceSnapshot| {
        let format = source.format.as_deref()?;
        let definition = format.suggested_definition()?;
        let fields = format.unnamed_fields();
        let sentence = format!(
            "{}; the names of {} are in {}",
            format.name(),
            enumerated(&fields)?,
            format_option(definition)
        );
        Some(Complaint { name: source.name.clone(), sentence })
    };
    merge(&sources.iter().filter_map(complaint).collect::<Vec<_>>())
}

/// Joins names as in a sentence; `None` if there are none.
fn enumerated(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [name] => Some((*name).to_owned()),
        [first, .., last] if names.len() > 4 => Some(format!("{first} to {last}")),
        [names @ .., last] => Some(format!("{} and {last}", names.join(", "))),
    }
}

/// Returns notes about sources that do not name the zone of their times or the unit of a number; one note
/// covers all of them.
pub(crate) fn format_notes(sources: &[SourceSnapshot]) -> Vec<String> {
    let complaint = |source: &SourceSnapshot| {
        let sentence = source.format_note()?;
        Some(Complaint { name: source.name.clone(), sentence })
    };
    merge(&sources.iter().filter_map(complaint).collect::<Vec<_>>())
}

/// Returns a note about a log whose times have several offsets from UTC. `own` is its zone, which has
/// all offsets of the requests unless its name is one of them.
pub(crate) fn mixed_offsets(
    range_s: Option<(i32, i32)>,
    report: &Report,
    own: Option<&Zone>,
) -> Option<String> {
    let (least, most) = range_s.filter(|(least, most)| least != most)?;
    let name = |offset_s| Zone::fixed(offset_s).name().to_owned();
    let (zone, offsets) = (&report.time.zone, &report.time.offsets);
    let is_own = own.is_some_and(|own| own.name() == zone && !offsets.contains(zone));
    if is_own {
        return Some(format!(
            "the offsets of the requests, {}, are those of {zone}, in which all times are shown; \
             choose another zone with --tz",
            offsets.join(" and ")
        ));
    }
    Some(format!(
        "the log's times have offsets from {} to {}; all are shown in {}; choose another zone with --tz",
        name(least),
        name(most),
        report.time.zone
    ))
}

#[cfg(test)]
mod tests {
    use weir_ingest::{Phase, SourceEnd, SourceError, SourceSnapshot};

    use super::truncated;

    fn source(bytes_done: u64, end: SourceEnd) -> SourceSnapshot {
        SourceSnapshot {
            number: 0,
            name: "access.log".to_owned(),
            bytes_total: Some(4_000),
            bytes_done,
            bytes_parsed: bytes_done,
            lines: 0,
            records: 0,
            empty_lines: 0,
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
}
