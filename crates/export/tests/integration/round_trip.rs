//! The cells of a file equal the values of the records.

use std::sync::Arc;

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};
use weir_core::{Field, Format, Record, RowReader, Selection, Values};
use weir_export::{RowBatch, TableSchema};
use weir_testkit::tables::{Cell, arrow_rows, parquet_rows};

use super::{cell, file, segment, stream};

const FORMAT: &str =
    r#"$remote_addr [$time_iso8601] $body_bytes_sent $request_time "$http_user_agent" $ssl_cipher"#;

/// The bytes of a quoted value: text, invalid UTF-8, backslashes, and escape-like sequences.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"a".to_vec()),
        Just("é\u{202e}".as_bytes().to_vec()),
        Just(b"\\xFF".to_vec()),
        Just(b"\\".to_vec()),
        Just(vec![0xFF]),
        Just(vec![0xE2, 0x80]),
        Just(b"\x1b[0m,;' ".to_vec()),
        (b'b'..b'z').prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![Just("-".to_owned()), any::<u64>().prop_map(|it| (it / 2).to_string())];
    let duration =
        prop_oneof![Just("-".to_owned()), (0u32..9_999).prop_map(|it| format!("0.{it:04}"))];
    let fields = (0u8..4, 0u32..86_400, -12i32..14, size, duration, value(), 0u8..3);
    fields.prop_map(|(client, second, zone, size, duration, mut agent, cipher)| {
        // A backslash before the closing quote would escape it.
        agent.push(b'.');
        let (hour, minute) = (second / 3_600, second / 60 % 60);
        let time = format!("2025-12-17T{hour:02}:{minute:02}:{:02}{zone:+03}:00", second % 60);
        let head = format!("192.0.2.{client} [{time}] {size} {duration} \"");
        [head.as_bytes(), &agent, format!("\" cipher{cipher}\n").as_bytes()].concat()
    })
}

/// The bytes of a text cell, see [`weir_export::escaped`].
fn bytes_of(row: &[(String, Cell)], name: &str) -> Option<Vec<u8>> {
    let Cell::Str(text) = cell(row, name) else { return None };
    let is_escaped = match cell(row, "escaped_columns") {
        Cell::Str(names) => names.split(',').any(|escaped| escaped == name),
        _ => false,
    };
    if !is_escaped {
        return Some(text.clone().into_bytes());
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'\\' {
            let digits = std::str::from_utf8(&after[1..3]).expect("digits");
            bytes.push(u8::from_str_radix(digits, 16).expect("digits"));
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Some(bytes)
}

fn text(record: &Record<'_>, field: Field) -> Option<Vec<u8>> {
    record.text(field).map(<[u8]>::to_vec)
}

proptest! {
    #[test]
    fn cells_are_the_values_of_the_records(
        lines in prop::collection::vec(line(), 1..60),
        cut in 0usize..60,
        second_batch in any::<bool>(),
        step in 1usize..4,
    ) {
        let format = Arc::new(Format::parse(FORMAT).expect("a format"));
        let mut values = Values::new(1 << 24);
        let (first, second) = lines.split_at(cut.min(lines.len()));
        let first = segment(&format, &first.concat(), 0, &mut values);
        let second = segment(&format, &second.concat(), 1 << 20, &mut values);
        let schema = TableSchema::of_table(&format.record_fields(), false);
        let all = |rows: usize| (0..rows).step_by(step).map(|row| row as u32).collect();
        let selected = [&first, &second].map(|segment| Selection::Rows(all(segment.rows())));
        let batches = || {
            let mut batches = vec![RowBatch::new(schema.clone()), RowBatch::new(schema.clone())];
            batches[0].push("a.log", &first, &selected[0], &values);
            batches[usize::from(second_batch)].push("a.log", &second, &selected[1], &values);
            batches
        };
        let read = parquet_rows(file(&mut batches()));
        prop_assert_eq!(&read, &arrow_rows(&stream(&mut batches())));
        prop_assert_eq!(read.len(), selected[0].len() + selected[1].len());

        let reader = RowReader::new(std::slice::from_ref(&format), &values, format.kind());
        let places = [(&first, &selected[0]), (&second, &selected[1])];
        let mut written = read.iter();
        for (segment, selection) in places {
            let mut rows = Vec::new();
            selection.for_each(|row| rows.push(row));
            for row in rows {
                let mut record = Record::new();
                prop_assert!(reader.read(segment, row, &values, &mut record));
                let cells = written.next().expect("a row");
                let long = |number: u64| Cell::Long(i64::try_from(number).expect("below 2^63"));
                prop_assert_eq!(cell(cells, "line_offset"), &long(segment.line_offset(row)));
                prop_assert_eq!(bytes_of(cells, "client"), text(&record, Field::Client));
                prop_assert_eq!(bytes_of(cells, "user_agent"), text(&record, Field::UserAgent));
                prop_assert_eq!(bytes_of(cells, "ssl_cipher"), record.extra(0).map(<[u8]>::to_vec));
                prop_assert_eq!(bytes_of(cells, "path"), None);
                let size = record.number(Field::Bytes).map_or(Cell::Null, long);
                prop_assert_eq!(cell(cells, "bytes"), &size);
                let duration = record.number(Field::RequestTime);
                let seconds = duration.map_or(Cell::Null, |it| Cell::Double(it as f64 / 1e9));
                prop_assert_eq!(cell(cells, "request_time"), &seconds);
                let time = record.time.expect("a time");
                let microseconds = time.unix_ns.div_euclid(1_000);
                prop_assert_eq!(cell(cells, "time"), &Cell::TimestampMicros(microseconds));
                prop_assert_eq!(cell(cells, "utc_offset_s"), &Cell::Int(time.offset_s));
            }
        }
    }
}
