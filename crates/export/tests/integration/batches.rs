//! Batches: late fields, line order, reused ids, limits.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use weir_core::{Format, Selection, Values};
use weir_export::{RowBatch, TableSchema};
use weir_testkit::tables::{Cell, parquet_rows};

use super::{cell, file, segment};

fn text(text: &str) -> Cell {
    Cell::Str(text.to_owned())
}

#[test]
fn fields_without_a_column_are_json() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$remote_addr $ssl_cipher $geo").expect("a format"));
    let log = b"::1 AES \"\xff\n::2 - x\n";
    let segment = segment(&format, log, 0, &mut values);
    let known = Format::parse("$remote_addr $ssl_cipher").expect("a format");
    let mut batch = RowBatch::new(TableSchema::of_table(&known.record_fields(), false));
    batch.push("a", &segment, &Selection::All(2), &values);
    let rows = parquet_rows(file(&mut [batch]));
    assert_eq!(cell(&rows[0], "ssl_cipher"), &text("AES"));
    assert_eq!(cell(&rows[0], "other_fields"), &text(r#"{"geo":"\"\\xFF"}"#));
    assert_eq!(cell(&rows[0], "escaped_columns"), &text("other_fields"));
    assert_eq!(cell(&rows[1], "other_fields"), &text(r#"{"geo":"x"}"#));
    assert_eq!(cell(&rows[1], "escaped_columns"), &Cell::Null);
}

#[test]
fn lines_of_one_block_are_written_in_their_order() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$remote_addr $status").expect("a format"));
    let later = segment(&format, b"::2 200\n::4 200\n", 100, &mut values);
    let between = segment(&format, b"::1 404\n::3 404\n", 96, &mut values);
    let next = segment(&format, b"::5 200\n", 200, &mut values);
    let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
    batch.push("a", &later, &Selection::All(2), &values);
    assert!(batch.overlaps(&between) && !batch.overlaps(&next));
    batch.push("a", &between, &Selection::All(2), &values);
    batch.push("a", &next, &Selection::All(1), &values);
    let rows = parquet_rows(file(&mut [batch]));
    let clients: Vec<&Cell> = rows.iter().map(|row| cell(row, "client")).collect();
    let expected = ["::1", "::2", "::3", "::4", "::5"].map(text);
    assert_eq!(clients, expected.iter().collect::<Vec<_>>());
}

#[test]
fn a_batch_is_full_before_it_takes_much_memory() {
    let format = Arc::new(Format::parse("$remote_addr $uri").expect("a format"));
    let mut values = Values::new(1 << 30);
    let long = "x".repeat(1 << 16);
    let log: String = (0..140).map(|number| format!("::1 /{number}{long}\n")).collect();
    let segment = segment(&format, log.as_bytes(), 0, &mut values);
    let schema = TableSchema::of_table(&format.record_fields(), false);
    let mut batch = RowBatch::new(schema.clone());
    for row in 0..100 {
        batch.push("a", &segment, &Selection::Rows(vec![row]), &values);
    }
    assert!(!batch.is_full(), "6 MiB of text");
    batch.push("a", &segment, &Selection::Rows((100..140).collect()), &values);
    assert!(batch.is_full(), "9 MiB of text");
    batch.clear();
    assert_eq!((batch.rows(), batch.is_full()), (0, false));
    let many = vec![0; 1 << 16];
    batch.push("a", &segment, &Selection::Rows(many), &values);
    assert!(batch.is_full(), "65,536 rows");
}

/// So that the beginning of a table costs little.
#[test]
fn the_first_batches_are_small() {
    let format = Arc::new(Format::parse("$remote_addr").expect("a format"));
    let mut values = Values::new(1 << 20);
    let segment = segment(&format, b"::1\n", 0, &mut values);
    let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
    let mut rows = Vec::new();
    for _ in 0..9 {
        let left = batch.rows_left();
        batch.push("a", &segment, &Selection::Rows(vec![0; left - 1]), &values);
        assert!(!batch.is_full());
        batch.push("a", &segment, &Selection::Rows(vec![0]), &values);
        assert!(batch.is_full());
        assert_eq!((batch.rows(), batch.rows_left()), (left, 0));
        rows.push(batch.rows());
        batch.clear();
    }
    assert_eq!(rows, [1_024, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 65_536]);
}

#[test]
fn texts_are_dictionaries_and_row_groups_have_statistics() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$remote_addr [$msec] $status").expect("a format"));
    let mut batches = Vec::new();
    for second in [10, 20] {
        let log = format!("::1 [{second}.0] 200\n::2 [{}.0] 404\n", second + 5);
        let segment = segment(&format, log.as_bytes(), second, &mut values);
        let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
        batch.push("a", &segment, &Selection::All(2), &values);
        batches.push(batch);
    }
    let reader = SerializedFileReader::new(file(&mut batches)).expect("a file");
    let groups = reader.metadata().row_groups();
    assert_eq!(groups.len(), 2);
    let column = |group: usize, name: &str| {
        let all = groups[group].columns();
        all.iter().find(|column| column.column_path().string() == name).expect("a column").clone()
    };
    for (group, first) in [(0, 10), (1, 20)] {
        let statistics = column(group, "time").statistics().expect("statistics").clone();
        let microseconds = |second: i64| Some((second * 1_000_000).to_le_bytes().to_vec());
        assert_eq!(statistics.min_bytes_opt().map(<[u8]>::to_vec), microseconds(first));
        assert_eq!(statistics.max_bytes_opt().map(<[u8]>::to_vec), microseconds(first + 5));
        let status = column(group, "status");
        assert!(status.encodings().any(|encoding| encoding == Encoding::RLE_DICTIONARY));
        assert_eq!(status.statistics().and_then(|it| it.null_count_opt()), Some(0));
    }
    let metadata = reader.metadata().file_metadata().key_value_metadata().expect("units");
    let unit = metadata.iter().find(|entry| entry.key == "weir.unit.request_time");
    assert_eq!(unit.and_then(|entry| entry.value.as_deref()), Some("seconds"));
}

#[test]
fn what_a_format_writes_for_no_value_is_null() {
    let mut values = Values::new(1 << 20);
    let text_format = "$remote_addr $status \"$http_user_agent\" $tenant";
    let json_format = "json:status=status,user_agent=agent,tenant=tenant";
    for (format, log, tenant) in [
        (text_format, &b"- - \"-\" -\n"[..], Cell::Null),
        (json_format, br#"{"status":"-","agent":"-","tenant":"-"}"#, text("-")),
    ] {
        let format = Arc::new(Format::parse(format).expect("a format"));
        let segment = segment(&format, log, 0, &mut values);
        let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
        batch.push("a", &segment, &Selection::All(1), &values);
        let rows = parquet_rows(file(&mut [batch]));
        for name in ["client", "status", "status_code", "user_agent"] {
            assert_eq!(cell(&rows[0], name), &Cell::Null, "{name}");
        }
        assert_eq!(cell(&rows[0], "tenant"), &tenant, "JSON can lack a member");
    }
}

#[test]
fn times_are_microseconds_and_keep_their_nanoseconds() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$time_iso8601 $status").expect("a format"));
    let log = b"1969-12-31T23:59:59.999999999Z 200\n1970-01-01T00:00:00.000001Z -\n";
    let segment = segment(&format, log, 0, &mut values);
    let rows = |has_nanoseconds| {
        let schema = TableSchema::of_table(&format.record_fields(), has_nanoseconds);
        let mut batch = RowBatch::new(schema);
        batch.push("a", &segment, &Selection::All(2), &values);
        parquet_rows(file(&mut [batch]))
    };
    let with_column = rows(true);
    let cells =
        |name: &str| [cell(&with_column[0], name).clone(), cell(&with_column[1], name).clone()];
    assert_eq!(cells("time"), [-1, 1].map(Cell::TimestampMicros));
    assert_eq!(cells("time_ns"), [-1, 1_000].map(Cell::Long));
    assert_eq!(cells("status_code"), [Cell::Int(200), Cell::Null]);
    assert_eq!(cells("status"), [text("200"), Cell::Null]);
    let without = rows(false);
    assert_eq!(cell(&without[0], "time"), &Cell::TimestampMicros(-1));
    assert_eq!(cell(&without[0], "other_fields"), &text(r#"{"time_ns":"-1"}"#));
}

#[test]
fn rows_are_in_order_without_the_column_of_their_lines() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$remote_addr $status").expect("a format"));
    let later = segment(&format, b"::2 200\n::4 200\n", 100, &mut values);
    let between = segment(&format, b"::1 404\n::3 404\n", 96, &mut values);
    let schema = TableSchema::of_table(&format.record_fields(), false);
    let names = ["status_code", "client"].map(str::to_owned);
    let mut batch = RowBatch::new(schema.select(&names).expect("columns"));
    batch.push("a", &later, &Selection::All(2), &values);
    batch.push("a", &between, &Selection::All(2), &values);
    let rows = parquet_rows(file(&mut [batch]));
    let row = |code: i32, client: &str| {
        vec![("status_code".to_owned(), Cell::Int(code)), ("client".to_owned(), text(client))]
    };
    assert_eq!(rows, [row(404, "::1"), row(200, "::2"), row(404, "::3"), row(200, "::4")]);
}
