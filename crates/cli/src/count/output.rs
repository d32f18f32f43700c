//! Prints counts.

use std::fmt::Write;

use weir_core::has_own_order;
use weir_ingest::{Input, TallyEntry, ValueTally};
use weir_view::{
    CountedSource, CountedSources, EMPTY_VALUE, FileLines, IncompleteSource, JsonError, LineCounts,
    NO_VALUE, REMAINDER_VALUE, RecordCount, RecordKind, RowValue, ValueCount, ValueCounts, csv_row,
};

use super::InputCount;
use super::arguments::CountArguments;
use super::combinations::combinations;
use super::records::value_of_key;
use super::table::table;
use crate::display::{safe, safe_bytes};
use crate::options::OutputKind;
use crate::outcome::Failure;
use crate::sources::Complaint;
use crate::terminal::width;

/// Returns the sources of a count. `complaints` are about files that are not among the inputs.
pub(super) fn sources<T>(
    inputs: &[Input],
    counted: &[InputCount<T>],
    complaints: &[Complaint],
) -> CountedSources {
    let with_result = inputs.iter().zip(counted).filter(|(_, counted)| counted.has_result());
    let source = |(input, counted): (&Input, &InputCount<T>)| CountedSource {
        name: input.name(),
        is_complete: counted.complaints.is_empty(),
    };
    let all = complaints.iter().chain(counted.iter().flat_map(|counted| &counted.complaints));
    let incomplete = |Complaint { name, sentence }: &Complaint| IncompleteSource {
        source: name.clone(),
        reason: sentence.clone(),
    };
    CountedSources {
        sources: with_result.map(source).collect(),
        incomplete: all.map(incomplete).collect(),
    }
}

/// Formats the numbers of lines. One input has only its number; several have a row each, and a
/// total.
pub(super) fn lines(
    output: OutputKind,
    inputs: &[Input],
    counted: &[InputCount<u64>],
    incomplete: Vec<IncompleteSource>,
) -> Result<String, Failure> {
    // A hostile table states as many rows as it likes.
    let total = counted.iter().fold(0u64, |total, counted| total.saturating_add(counted.count));
    let with_result = inputs.iter().zip(counted).filter(|(_, counted)| counted.has_result());
    let rows: Vec<(String, u64)> =
        with_result.map(|(input, counted)| (input.name(), counted.count)).collect();
    Ok(match output {
        OutputKind::Json => {
            let file = |(file, lines)| FileLines { file, lines };
            let files = rows.into_iter().map(file).collect();
            json_line(weir_view::to_json(&LineCounts { files, lines: total, incomplete }))?
        }
        OutputKind::Csv => {
            let mut text = csv_row([&b"file"[..], b"lines"]);
            for (name, lines) in &rows {
                text += &csv_row([name.as_bytes(), lines.to_string().as_bytes()]);
            }
            text
        }
        OutputKind::Text if inputs.len() == 1 => format!("{total}\n"),
        OutputKind::Text => {
            let rows = rows.into_iter().chain([("total".to_owned(), total)]);
            columns(rows.map(|(name, lines)| (lines.to_string(), safe(&name))))
        }
    })
}

/// Formats the counts of the records of a kind.
pub(super) fn tally(
    arguments: &CountArguments,
    kind: RecordKind,
    tally: &ValueTally,
    read: CountedSources,
) -> Result<String, Failure> {
    let top = arguments.top.map_or(usize::MAX, |top| top as usize);
    let output = arguments.output.kind();
    match &arguments.by[..] {
        [] => records(output, kind, tally.records(), read),
        [field] => values(output, read, kind, field, tally, top),
        [first, second] => table(output, read, kind, [first, second], tally, top),
        fields => combinations(output, read, kind, fields, tally, top),
    }
}

fn records(
    output: OutputKind,
    kind: RecordKind,
    count: u64,
    read: CountedSources,
) -> Result<String, Failure> {
    Ok(match output {
        OutputKind::Text => format!("{count}\n"),
        OutputKind::Csv => csv_row([&b"count"[..]]) + &csv_row([count.to_string().as_bytes()]),
        OutputKind::Json => json_line(weir_view::to_json(&RecordCount { kind, count, read }))?,
    })
}

fn values(
    output: OutputKind,
    read: CountedSources,
    kind: RecordKind,
    field: &str,
    tally: &ValueTally,
    top: usize,
) -> Result<String, Failure> {
    let rows = in_order(first(tally.rows(), top), field);
    let rest = (tally.remainder() > 0).then(|| TallyEntry {
        value: REMAINDER_VALUE.as_bytes(),
        count: tally.remainder(),
        uncounted_max: 0,
    });
    Ok(match output {
        OutputKind::Text => {
            let cells = |entry: &TallyEntry<'_>| {
                (bounded_count(entry.count, entry.uncounted_max), display_value(entry.value))
            };
            columns(rows.iter().chain(&rest).map(cells))
        }
        OutputKind::Csv => {
            // Counts may be lower bounds only if there is a remainder.
            let columns = if rest.is_some() { 3 } else { 2 };
            let mut text =
                csv_row([field.as_bytes(), b"count", b"uncounted_max"].into_iter().take(columns));
            for TallyEntry { value, count, uncounted_max } in rows.iter().chain(&rest) {
                let [count, uncounted_max] = [count, uncounted_max].map(u64::to_string);
                let cells = [csv_cell(value), count.as_bytes(), uncounted_max.as_bytes()];
                text += &csv_row(cells.into_iter().take(columns));
            }
            text
        }
        OutputKind::Json => {
            let count = |entry: &TallyEntry<'_>| ValueCount {
                count: entry.count,
                value: row_value(entry.value).with_uncounted_max(entry.uncounted_max),
            };
            json_line(weir_view::to_json(&ValueCounts {
                kind,
                field: field.to_owned(),
                remainder: tally.remainder(),
                unlisted_max: tally.unlisted_max(),
                count: tally.records(),
                values: rows.iter().map(count).collect(),
                read,
            }))?
        }
    })
}

/// Formats a count, with a mark if it may be too low.
pub(super) fn bounded_count(count: u64, uncounted_max: u64) -> String {
    if uncounted_max > 0 { format!("≥{count}") } else { count.to_string() }
}

/// Aligns numbers to the right, with their names after them. The rows are made twice, because there may
/// be millions of them.
fn columns(rows: impl Iterator<Item = (String, String)> + Clone) -> String {
    let digits = rows.clone().map(|(count, _)| width(&count)).max().unwrap_or(0);
    let mut text = String::new();
    for (count, name) in rows {
        let _ = writeln!(text, "{count:>digits$}  {name}");
    }
    text
}

pub(super) fn first(mut entries: Vec<TallyEntry<'_>>, top: usize) -> Vec<TallyEntry<'_>> {
    entries.truncate(top);
    entries
}

/// Puts the values of a field that has an order of its own into it. The others stay in the order of
/// their counts.
pub(super) fn in_order<'a>(mut entries: Vec<TallyEntry<'a>>, field: &str) -> Vec<TallyEntry<'a>> {
    if has_own_order(field) {
        entries.sort_by_key(|entry| own_place(entry.value));
    }
    entries
}

/// The place of a key among the values of a field with an order of its own: records without the field
/// come last.
pub(super) fn own_place(key: &[u8]) -> (bool, &[u8]) {
    let value = value_of_key(key);
    (value.is_none(), value.unwrap_or_default())
}

/// Formats a key of a tally as a value for people.
pub(super) fn display_value(key: &[u8]) -> String {
    match value_of_key(key) {
        None => NO_VALUE.to_owned(),
        Some(b"") => EMPTY_VALUE.to_owned(),
        Some(value) => safe_bytes(value),
    }
}

/// Returns a key of a tally as a value in CSV.
pub(super) fn csv_cell(key: &[u8]) -> &[u8] {
    value_of_key(key).unwrap_or(NO_VALUE.as_bytes())
}

/// Returns a key of a tally as a value in JSON.
pub(super) fn row_value(key: &[u8]) -> RowValue {
    match value_of_key(key) {
        None => RowValue::absent(),
        Some(value) => RowValue::new(value, false),
    }
}

pub(super) fn json_line(text: Result<String, JsonError>) -> Result<String, Failure> {
    Ok(text.map_err(Failure::new)? + "\n")
}
