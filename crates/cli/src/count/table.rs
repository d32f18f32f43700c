//! Prints the counts of two fields as a table.

use std::fmt::Write;

use weir_ingest::{TallyEntry, ValueTally};
use weir_view::{
    ColumnTotal, CountTable, CountedSources, OTHERS, OtherColumns, OtherRows, REMAINDER_VALUE,
    RecordKind, TableRow, csv_row,
};

use super::output::{bounded_count, csv_cell, display_value, in_order, json_line, row_value};
use crate::options::OutputKind;
use crate::outcome::Failure;
use crate::terminal::width;

/// The counts of a table. Those of a row, and of the last line of totals, add up.
struct Table<'a> {
    tally: &'a ValueTally,
    rows: Vec<Row>,
    /// The values of the second field that have a column.
    heads: Vec<TallyEntry<'a>>,
    /// The rows that are left out, together; `None` if there are none.
    other_rows: Option<(u64, Row)>,
    /// The number of values without a column, and of their records.
    other_columns: Option<(u64, u64)>,
}

/// The counts of a row, each with the largest number of further records.
struct Row {
    key: Vec<u8>,
    counts: Vec<(u64, u64)>,
    /// The records in the columns that are left out; `None` if none are.
    others: Option<u64>,
    total: u64,
}

/// Formats a table with a row for each value of the first field and a column for each of the
/// second. The values that `--top` leaves out are a row and a column together.
pub(super) fn table(
    output: OutputKind,
    read: CountedSources,
    kind: RecordKind,
    fields: [&String; 2],
    tally: &ValueTally,
    top: usize,
) -> Result<String, Failure> {
    let table = Table::new(tally, fields, top);
    match output {
        OutputKind::Json => json_line(weir_view::to_json(&table.view(kind, fields, read))),
        OutputKind::Csv => {
            let cells = table.cells(fields, |count, _| count.to_string());
            Ok(cells.iter().map(|cells| csv_row(cells.iter().map(|key| csv_cell(key)))).collect())
        }
        OutputKind::Text => Ok(align(&table.cells(fields, bounded_count))),
    }
}

impl<'a> Table<'a> {
    fn new(tally: &'a ValueTally, fields: [&String; 2], top: usize) -> Self {
        let (mut entries, mut heads) = (tally.rows(), tally.columns());
        let left_out = entries.split_off(top.min(entries.len()));
        let without_column = heads.split_off(top.min(heads.len()));
        let (entries, heads) = (in_order(entries, fields[0]), in_order(heads, fields[1]));
        let sum = |entries: &[TallyEntry<'_>]| entries.iter().map(|entry| entry.count).sum::<u64>();
        let others = |total: u64, counts: &[(u64, u64)]| {
            let shown: u64 = counts.iter().map(|(count, _)| count).sum();
            (!without_column.is_empty()).then(|| total - shown)
        };
        let row = |entry: TallyEntry<'_>| {
            let count = |head: &TallyEntry<'_>| tally.count(entry.value, head.value);
            let counts: Vec<_> = heads.iter().map(count).collect();
            let others = others(entry.count, &counts);
            Row { key: entry.value.to_vec(), counts, others, total: entry.count }
        };
        let total_left_out = sum(&left_out);
        let rows: Vec<Row> = entries.into_iter().map(row).collect();
        let other_rows = (!left_out.is_empty()).then(|| {
            // The records of a column that are in no row above. Any of the remainder may be among them.
            let count = |(column, head): (usize, &TallyEntry<'_>)| {
                let above: u64 = rows.iter().map(|row| row.counts[column].0).sum();
                (head.count - above, tally.remainder())
            };
            let counts: Vec<_> = heads.iter().enumerate().map(count).collect();
            let others = others(total_left_out, &counts);
            let row = Row { key: OTHERS.into(), counts, others, total: total_left_out };
            (left_out.len() as u64, row)
        });
        let other_columns = (!without_column.is_empty())
            .then(|| (without_column.len() as u64, sum(&without_column)));
        Self { tally, rows, heads, other_rows, other_columns }
    }

    fn view(&self, kind: RecordKind, fields: [&String; 2], read: CountedSources) -> CountTable {
        let counts = |row: &Row| row.counts.iter().map(|(count, _)| *count).collect::<Vec<_>>();
        let column = |entry: &TallyEntry<'_>| ColumnTotal {
            total: entry.count,
            value: row_value(entry.value),
        };
        let row = |row: &Row| TableRow {
            counts: counts(row),
            others: row.others,
            total: row.total,
            value: row_value(&row.key),
        };
        let other_rows = self.other_rows.as_ref().map(|(values, row)| OtherRows {
            values: *values,
            counts: counts(row),
            others: row.others,
            total: row.total,
        });
        CountTable {
            kind,
            columns: self.heads.iter().map(column).collect(),
            other_columns: self.other_columns.map(|(values, total)| OtherColumns { values, total }),
            columns_field: fields[1].clone(),
            remainder: self.tally.remainder(),
            unlisted_max: self.tally.unlisted_max(),
            count: self.tally.records(),
            rows: self.rows.iter().map(row).collect(),
            other_rows,
            rows_field: fields[0].clone(),
            read,
        }
    }

    /// Returns the cells of all lines, the first with the names of the columns. `number` formats a
    /// count and the largest number of further records.
    fn cells(
        &self,
        fields: [&String; 2],
        number: impl Fn(u64, u64) -> String,
    ) -> Vec<Vec<Vec<u8>>> {
        let remainder = self.tally.remainder();
        let number = |count, uncounted_max| number(count, uncounted_max).into_bytes();
        // A total may lack any of the records in the remainder.
        let total = |count: u64| number(count, remainder);
        let line = |first: Vec<u8>, counts: Vec<Vec<u8>>, others: Option<Vec<u8>>, last| {
            let cells = [first].into_iter().chain(counts).chain(others);
            cells.chain([last]).collect::<Vec<_>>()
        };
        let has_others = self.other_columns.is_some();
        let heads = self.heads.iter().map(|head| head.value.to_vec()).collect();
        let name = format!("{} by {}", fields[0], fields[1]).into_bytes();
        let mut cells =
            vec![line(name, heads, has_others.then(|| OTHERS.into()), b"total".to_vec())];
        for row in self.rows.iter().chain(self.other_rows.as_ref().map(|(_, row)| row)) {
            let counts = row.counts.iter().map(|(count, more)| number(*count, *more)).collect();
            cells.push(line(row.key.clone(), counts, row.others.map(total), total(row.total)));
        }
        if remainder > 0 {
            // The second value of these records is not known.
            let unknown = || b"?".to_vec();
            let counts = self.heads.iter().map(|_| unknown()).collect();
            let last = number(remainder, 0);
            cells.push(line(REMAINDER_VALUE.into(), counts, has_others.then(unknown), last));
        }
        let counts = self.heads.iter().map(|head| total(head.count)).collect();
        let others = self.other_columns.map(|(_, count)| total(count));
        cells.push(line(b"total".to_vec(), counts, others, number(self.tally.records(), 0)));
        cells
    }
}

/// Aligns the first column to the left and numbers to the right.
pub(super) fn align(cells: &[Vec<Vec<u8>>]) -> String {
    let cells: Vec<Vec<String>> =
        cells.iter().map(|row| row.iter().map(|cell| display_value(cell)).collect()).collect();
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
