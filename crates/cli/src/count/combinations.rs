//! The counts of three fields or more: a line for each combination of their values.

use weir_core::has_own_order;
use weir_ingest::{TallyEntry, ValueTally};
use weir_view::{
    Combination, CombinationCounts, CountedSources, REMAINDER_VALUE, RecordKind, csv_row,
};

use super::output::{
    bounded_count, csv_cell, display_value, first, json_line, own_place, row_value,
};
use crate::options::OutputKind;
use crate::outcome::Failure;
use crate::terminal::width;

/// Ends a value in the key of a combination; a NUL of the value is followed by [`NUL`] instead.
const END: [u8; 2] = [0, 0];
const NUL: [u8; 2] = [0, 0xff];

/// Appends a value to the key of a combination. Keys are in the order of their first values, then of
/// their second ones, and so on.
pub(super) fn push_value(key: &mut Vec<u8>, value: &[u8]) {
    for byte in value {
        match byte {
            0 => key.extend(NUL),
            byte => key.push(*byte),
        }
    }
    key.extend(END);
}

/// Returns the values in the key of a combination.
fn values_of(key: &[u8]) -> Vec<Vec<u8>> {
    let (mut values, mut value) = (Vec::new(), Vec::new());
    let mut bytes = key.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            0 if bytes.next() == Some(&END[1]) => values.push(std::mem::take(&mut value)),
            byte => value.push(*byte),
        }
    }
    values
}

/// Formats the counts of the combinations, the most frequent first.
pub(super) fn combinations(
    output: OutputKind,
    read: CountedSources,
    kind: RecordKind,
    fields: &[String],
    tally: &ValueTally,
    top: usize,
) -> Result<String, Failure> {
    let mut rows: Vec<(Vec<Vec<u8>>, TallyEntry<'_>)> =
        first(tally.rows(), top).into_iter().map(|entry| (values_of(entry.value), entry)).collect();
    // The first fields that have an order of their own; then the most frequent combinations first.
    let ordered = fields.iter().take_while(|field| has_own_order(field)).count();
    let places = |values: &[Vec<u8>]| -> Vec<(bool, Vec<u8>)> {
        let first = values.iter().take(ordered).map(|key| own_place(key));
        first.map(|(is_absent, value)| (is_absent, value.to_vec())).collect()
    };
    if ordered > 0 {
        rows.sort_by_cached_key(|(values, _)| places(values));
    }
    match output {
        OutputKind::Text => Ok(text(&rows, tally.remainder())),
        OutputKind::Csv => Ok(csv(&rows, fields, tally.remainder())),
        OutputKind::Json => {
            let combination = |(values, entry): &(Vec<Vec<u8>>, TallyEntry<'_>)| Combination {
                count: entry.count,
                values: values.iter().map(|value| row_value(value)).collect(),
                uncounted_max: entry.uncounted_max,
            };
            json_line(weir_view::to_json(&CombinationCounts {
                kind,
                fields: fields.to_vec(),
                remainder: tally.remainder(),
                unlisted_max: tally.unlisted_max(),
                count: tally.records(),
                combinations: rows.iter().map(combination).collect(),
                read,
            }))
        }
    }
}

/// Aligns counts to the right, and values to the left. The last value has no spaces after it.
fn text(rows: &[(Vec<Vec<u8>>, TallyEntry<'_>)], remainder: u64) -> String {
    let mut cells: Vec<(String, Vec<String>)> = rows
        .iter()
        .map(|(values, entry)| {
            let count = bounded_count(entry.count, entry.uncounted_max);
            (count, values.iter().map(|value| display_value(value)).collect())
        })
        .collect();
    if remainder > 0 {
        cells.push((remainder.to_string(), vec![REMAINDER_VALUE.to_owned()]));
    }
    let digits = cells.iter().map(|(count, _)| width(count)).max().unwrap_or(0);
    let widest = |column: usize| {
        let values = cells.iter().filter_map(|(_, values)| values.get(column));
        values.map(|value| width(value)).max().unwrap_or(0)
    };
    let columns = cells.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut text = String::new();
    for (count, values) in &cells {
        let mut line = format!("{count:>digits$}");
        for (value, widest) in values.iter().zip(&widths) {
            let idle = " ".repeat(widest - width(value));
            line += &format!("  {value}{idle}");
        }
        text += line.trim_end_matches(' ');
        text.push('\n');
    }
    text
}

fn csv(rows: &[(Vec<Vec<u8>>, TallyEntry<'_>)], fields: &[String], remainder: u64) -> String {
    // Counts may be lower bounds only if there is a remainder.
    let numbers: &[&str] = if remainder > 0 { &["count", "uncounted_max"] } else { &["count"] };
    let names = fields.iter().map(String::as_str).chain(numbers.iter().copied());
    let mut text = csv_row(names.map(str::as_bytes));
    let mut push = |values: Vec<&[u8]>, count: u64, uncounted_max: u64| {
        let counts = [count, uncounted_max].map(|number| number.to_string());
        let counts = counts.iter().take(numbers.len()).map(|number| number.as_bytes());
        text += &csv_row(values.into_iter().chain(counts));
    };
    for (values, entry) in rows {
        let values = values.iter().map(|value| csv_cell(value)).collect();
        push(values, entry.count, entry.uncounted_max);
    }
    if remainder > 0 {
        push(vec![REMAINDER_VALUE.as_bytes(); fields.len()], remainder, 0);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{push_value, values_of};

    fn key(values: &[Vec<u8>]) -> Vec<u8> {
        let mut key = Vec::new();
        values.iter().for_each(|value| push_value(&mut key, value));
        key
    }

    fn combination() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let byte = prop::sample::select(&[0, 1, b'a', 0xff][..]);
        prop::collection::vec(prop::collection::vec(byte, 0..4), 3)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn keys_hold_their_values_and_have_their_order(one in combination(), other in combination()) {
            prop_assert_eq!(values_of(&key(&one)), one.clone());
            prop_assert_eq!(key(&one).cmp(&key(&other)), one.cmp(&other));
        }
    }
}
