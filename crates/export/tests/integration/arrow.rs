//! Arrow streams, read back by the reader of the testkit.

use std::sync::Arc;

use weir_core::{Format, Selection, Values};
use weir_export::{ArrowWriter, RowBatch, TableSchema};
use weir_testkit::arrow::{ArrowCell, ArrowStream, ArrowType};

use super::{segment, stream};

fn text(text: &str) -> ArrowCell {
    ArrowCell::Text(text.to_owned())
}

#[test]
fn columns_have_types_and_units() {
    let format = Format::parse("$status $ssl_cipher").expect("a format");
    let schema = TableSchema::of_table(&format.record_fields(), true);
    let further = ["*".to_owned(), "request_time_ns".to_owned()];
    let schema = schema.select(&further).expect("columns");
    let table = ArrowStream::read(&ArrowWriter::new(&schema).finish());
    assert_eq!(table.rows.len(), 0);
    let kind = |name: &str| table.columns.iter().find(|it| it.name == name).map(|it| it.kind);
    for (name, expected) in [
        ("file", ArrowType::Text),
        ("line_offset", ArrowType::Long),
        ("time", ArrowType::Instant),
        ("time_ns", ArrowType::Long),
        ("utc_offset_s", ArrowType::Int),
        ("status", ArrowType::Text),
        ("status_code", ArrowType::Int),
        ("request_time", ArrowType::Double),
        ("request_time_ns", ArrowType::Long),
        ("ssl_cipher", ArrowType::Text),
    ] {
        assert_eq!(kind(name), Some(expected), "{name}");
    }
    let names: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, schema.columns().iter().map(|it| it.name.as_str()).collect::<Vec<_>>());
    for (key, unit) in [
        ("weir.unit.bytes", "bytes"),
        ("weir.unit.request_time", "seconds"),
        ("weir.unit.request_time_ns", "nanoseconds"),
        ("weir.unit.time_ns", "nanoseconds since 1970"),
        ("weir.unit.utc_offset_s", "seconds east of UTC"),
    ] {
        assert!(table.metadata.contains(&(key.to_owned(), unit.to_owned())), "{key}");
    }
}

#[test]
fn each_batch_has_the_texts_of_its_rows() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$remote_addr $status").expect("a format"));
    let mut batches = Vec::new();
    for log in [&b"::1 200\n::2 404\n::1 200\n"[..], b"", b"::3 -\n::1 200\n", b"- -\n"] {
        let rows = log.iter().filter(|byte| **byte == b'\n').count();
        let segment = segment(&format, log, 0, &mut values);
        let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
        batch.push("a", &segment, &Selection::All(rows), &values);
        batches.push(batch);
    }
    let table = ArrowStream::read(&stream(&mut batches));
    assert_eq!(table.batches, [3, 2, 1], "one without rows is left out");
    let column = table.columns.iter().position(|it| it.name == "client").expect("a column");
    let of_column = table.dictionaries.iter().filter(|(number, _)| *number == column);
    let dictionaries: Vec<_> = of_column.map(|(_, texts)| texts.join(" ")).collect();
    assert_eq!(dictionaries, ["::1 ::2", "::3 ::1"], "the last batch needs no other");
    let clients = ["::1", "::2", "::1", "::3", "::1"].map(text);
    for (row, client) in clients.iter().enumerate() {
        assert_eq!(table.cell(row, "client"), client);
    }
    assert_eq!(table.cell(5, "client"), &ArrowCell::Null);
    assert_eq!(table.cell(5, "file"), &text("a"));
}

#[test]
fn a_dictionary_has_no_text_twice() {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(Format::parse("$remote_addr \"$http_user_agent\"").expect("a format"));
    // The escaped form of the first value is the second one.
    let log = b"::1 \"a\xFF\"\n::2 \"a\\xFF\"\n";
    let segment = segment(&format, log, 0, &mut values);
    let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
    batch.push("a", &segment, &Selection::All(2), &values);
    let table = ArrowStream::read(&stream(&mut [batch]));
    let column = table.columns.iter().position(|it| it.name == "user_agent").expect("a column");
    let dictionary = table.dictionaries.iter().find(|(number, _)| *number == column);
    assert_eq!(dictionary.map(|(_, texts)| texts.as_slice()), Some(&["a\\xFF".to_owned()][..]));
    for (row, escaped) in [text("user_agent"), ArrowCell::Null].iter().enumerate() {
        assert_eq!(table.cell(row, "user_agent"), &text("a\\xFF"));
        assert_eq!(table.cell(row, "escaped_columns"), escaped);
    }
}
