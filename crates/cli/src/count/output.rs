//! Prints counts.

use std::fmt::Write;

use weir_ingest::{Input, TallyEntry, ValueTally};
use weir_view::{
    ColumnTotal, CountTable, EMPTY_VALUE, FileLines, JsonError, LineCounts, NO_VALUE,
    REMAINDER_VALUE, RecordCount, RecordKind, RowValue, TableRow, ValueCount, ValueCounts,
};

use super::InputCount;
use super::arguments::{CountArguments, Output};
use super::records::{ABSENT_KEY, EMPTY_KEY};
use crate::csv::row;
use crate::display::{safe, safe_bytes};
use crate::outcome::Failure;
use crate::terminal::width;

/// The numbers of lines: of one input the number alone, of several a row each and the total.
pub(super) fn lines(
    output: Output,
    inputs: &[Input],
    counted: &[InputCount<u64>],
) -> Result<String, Failure> {
    let total: u64 = counted.iter().map(|counted| counted.count).sum();
    let with_result = inputs.iter().zip(counted).filter(|(_, counted)| counted.has_result());
    let rows: Vec<(String, u64)> =
        with_result.map(|(input, counted)| (input.name(), counted.count)).collect();
    Ok(match output {
        Output::Json => {
            let file = |(file, lines)| FileLines { file, lines };
            let files = rows.into_iter().map(file).collect();
            json_line(weir_view::to_json(&LineCounts { files, lines: total }))?
        }
        Output::Csv => {
            let mut text = row([&b"file"[..], b"lines"]);
            for (name, lines) in &rows {
                text += &row([name.as_bytes(), lines.to_string().as_bytes()]);
            }
            text
        }
        Output::Text if inputs.len() == 1 => format!("{total}\n"),
        Output::Text => {
            let rows = rows.into_iter().chain([("total".to_owned(), total)]);
            columns(rows.map(|(name, lines)| (lines, safe(&name))).collect())
        }
    })
}

/// The counts of the records of a kind.
pub(super) fn tally(
    arguments: &CountArguments,
    kind: RecordKind,
    tally: &ValueTally,
) -> Result<String, Failure> {
    let top = arguments.top.unwrap_or(usize::MAX);
    match &arguments.by[..] {
        [] => records(arguments.output, kind, tally.records),
        [field] => values(arguments.output, kind, field, (tally, top)),
        [first, second, ..] => table(arguments.output, kind, [first, second], (tally, top)),
    }
}

fn records(output: Output, kind: RecordKind, count: u64) -> Result<String, Failure> {
    Ok(match output {
        Output::Text => format!("{count}\n"),
        Output::Csv => row([&b"count"[..]]) + &row([count.to_string().as_bytes()]),
        Output::Json => json_line(weir_view::to_json(&RecordCount { kind, count }))?,
    })
}

fn values(
    output: Output,
    kind: RecordKind,
    field: &str,
    (tally, top): (&ValueTally, usize),
) -> Result<String, Failure> {
    let rows = first(tally.rows(), top);
    let rest =
        (tally.remainder > 0).then(|| (REMAINDER_VALUE.as_bytes().to_vec(), tally.remainder));
    Ok(match output {
        Output::Text => {
            let rows = rows.iter().chain(&rest);
            columns(rows.map(|(value, count)| (*count, shown(value))).collect())
        }
        Output::Csv => {
            let mut text = row([field.as_bytes(), b"count"]);
            for (value, count) in rows.iter().chain(&rest) {
                text += &row([cell(value), count.to_string().as_bytes()]);
            }
            text
        }
        Output::Json => {
            let count =
                |(value, count): &TallyEntry| ValueCount { count: *count, value: row_value(value) };
            json_line(weir_view::to_json(&ValueCounts {
                kind,
                field: field.to_owned(),
                remainder: tally.remainder,
                count: tally.records,
                values: rows.iter().map(count).collect(),
            }))?
        }
    })
}

/// A row for each value of the first field, a column for each of the second. The totals include
/// the values that `--top` leaves out.
fn table(
    output: Output,
    kind: RecordKind,
    fields: [&String; 2],
    (tally, top): (&ValueTally, usize),
) -> Result<String, Failure> {
    let (rows, heads) = (first(tally.rows(), top), first(tally.columns(), top));
    if output == Output::Json {
        let counts = |row: &[u8]| -> Vec<u64> {
            heads.iter().map(|(column, _)| tally.count(row, column)).collect()
        };
        let column =
            |(value, total): &TallyEntry| ColumnTotal { total: *total, value: row_value(value) };
        let row = |(value, total): &TallyEntry| TableRow {
            counts: counts(value),
            total: *total,
            value: row_value(value),
        };
        return json_line(weir_view::to_json(&CountTable {
            kind,
            columns: heads.iter().map(column).collect(),
            columns_field: fields[1].clone(),
            remainder: tally.remainder,
            count: tally.records,
            rows: rows.iter().map(row).collect(),
            rows_field: fields[0].clone(),
        }));
    }
    let name = format!("{} by {}", fields[0], fields[1]);
    let head = [name.into_bytes()].into_iter().chain(heads.iter().map(|(head, _)| head.clone()));
    let mut cells: Vec<Vec<Vec<u8>>> = vec![head.chain([b"total".to_vec()]).collect()];
    let number = |count: u64| count.to_string().into_bytes();
    for (value, total) in &rows {
        let counts = heads.iter().map(|(head, _)| number(tally.count(value, head)));
        cells.push([value.clone()].into_iter().chain(counts).chain([number(*total)]).collect());
    }
    if tally.remainder > 0 {
        // The second value of these records is not known.
        let unknown = heads.iter().map(|_| b"?".to_vec());
        let first = [REMAINDER_VALUE.as_bytes().to_vec()].into_iter();
        cells.push(first.chain(unknown).chain([number(tally.remainder)]).collect());
    }
    let totals = heads.iter().map(|(_, total)| number(*total));
    let last = [b"total".to_vec()].into_iter().chain(totals);
    cells.push(last.chain([number(tally.records)]).collect());
    Ok(match output {
        Output::Csv => cells.iter().map(|cells| row(cells.iter().map(|key| cell(key)))).collect(),
        _ => aligned(&cells),
    })
}

/// Aligns the first column to the left and numbers to the right.
fn aligned(cells: &[Vec<Vec<u8>>]) -> String {
    let cells: Vec<Vec<String>> =
        cells.iter().map(|row| row.iter().map(|cell| shown(cell)).collect()).collect();
    let columns = cells.first().map_or(0, Vec::len);
    let widest = |column: usize| cells.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut text = String::new();
    for row in &cells {
        for (column, cell) in row.iter().enumerate() {
            let idle = " ".repeat(widths[column] - width(cell));
            let _ = match column {
                0 => write!(text, "{cell}{idle}"),
                _ => write!(text, "  {idle}{cell}"),
            };
        }
        text.push('\n');
    }
    text
}

/// Aligns numbers to the right, with their names after them.
fn columns(rows: Vec<(u64, String)>) -> String {
    let digits = rows.iter().map(|(count, _)| count.to_string().len()).max().unwrap_or(0);
    let lines = rows.iter().map(|(count, name)| format!("{count:>digits$}  {name}\n"));
    lines.collect()
}

fn first(mut entries: Vec<TallyEntry>, top: usize) -> Vec<TallyEntry> {
    entries.truncate(top);
    entries
}

/// A key of a tally as a value for people.
fn shown(key: &[u8]) -> String {
    match key {
        ABSENT_KEY => NO_VALUE.to_owned(),
        EMPTY_KEY => EMPTY_VALUE.to_owned(),
        value => safe_bytes(value),
    }
}

/// A key of a tally as a value in CSV.
fn cell(key: &[u8]) -> &[u8] {
    match key {
        ABSENT_KEY => NO_VALUE.as_bytes(),
        EMPTY_KEY => b"",
        value => value,
    }
}

/// A key of a tally as a value in JSON.
fn row_value(key: &[u8]) -> RowValue {
    match key {
        ABSENT_KEY => RowValue::absent(),
        key => RowValue::new(cell(key), false),
    }
}

fn json_line(text: Result<String, JsonError>) -> Result<String, Failure> {
    Ok(text.map_err(Failure::new)?
        + "
")
}
