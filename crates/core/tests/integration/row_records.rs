//! Records from the rows of a data set, compared with those of the lines.

use std::sync::Arc;

use weir_core::{
    Block, BlockLimits, BlockReader, Format, LineParser, Record, RecordKind, RowReader, Values,
};

const LINES: [(&str, &[&str]); 3] = [
    (
        r#"$remote_addr $remote_user [$time_local] "$request" $status $request_time $http_x_key"#,
        &[
            r#"192.0.2.7 - [17/Dec/2025:09:03:01 +0100] "GET /a?b=1 HTTP/1.1" 200 0.250 k1"#,
            r#"192.0.2.8 u [17/Dec/2025:09:03:02 +0100] "GET /a HTTP/1.1" 404 0.001 -"#,
            r#"192.0.2.8 u [17/Dec/2025:09:03:02 +0100] "\x16\x03" 400 0.000 -"#,
        ],
    ),
    ("%h %D %{X-Other}i", &["192.0.2.9 - v1", "::1 17 v2"]),
    ("$remote_addr $http_x_key $ssl_protocol", &["192.0.2.9 k2 TLSv1.3", "192.0.2.9 k1 -"]),
];

/// The values of a record for all fields of a format, by name.
fn fields(
    format: &Format,
    record: &Record<'_>,
    reader: &RowReader,
) -> Vec<(String, Option<Vec<u8>>)> {
    let names = format.accessors().into_iter().map(|(name, _)| name);
    let value = |name: String| {
        let accessor = reader.fields().accessor(&name).expect("a field of the data set");
        (name, accessor.value(record).map(|value| value.to_vec()))
    };
    names.map(value).collect()
}

#[test]
fn rows_are_the_records_of_their_lines() {
    let mut values = Values::new(1 << 20);
    let formats: Vec<Arc<Format>> =
        LINES.iter().map(|(format, _)| Arc::new(Format::parse(format).expect(format))).collect();
    let mut segments = Vec::new();
    for (format, (_, lines)) in formats.iter().zip(LINES) {
        let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
        let block = Block::new((lines.join("\n") + "\n").into_bytes());
        segments.push(reader.read_segment(&block, 0, &mut values));
    }
    let rows = RowReader::new(&formats, &values, RecordKind::Request);
    let (mut of_row, mut compared) = (Record::new(), 0);
    for ((format, (_, lines)), segment) in formats.iter().zip(LINES).zip(&segments) {
        let mut parser = LineParser::new(format.clone());
        for (row, line) in lines.iter().enumerate() {
            let mut of_line = Record::new();
            parser.parse(line.as_bytes(), &mut of_line).expect("it fits");
            assert!(rows.read(segment, row, &values, &mut of_row));
            let expected: Vec<_> = format
                .accessors()
                .into_iter()
                .map(|(name, accessor)| {
                    (name, accessor.value(&of_line).map(|value| value.to_vec()))
                })
                .collect();
            assert_eq!(fields(format, &of_row, &rows), expected, "{line}");
            compared += expected.len();
        }
    }
    assert!(compared > 40);
}

#[test]
fn values_that_were_not_kept_are_told() {
    let mut values = Values::new(0);
    let format = Arc::new(Format::parse("$remote_addr $msec").expect("a format"));
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let segment = reader.read_segment(&Block::new(b"192.0.2.7 1.5\n".to_vec()), 0, &mut values);
    let rows = RowReader::new(&[format], &values, RecordKind::Request);
    let mut record = Record::new();
    assert!(!rows.read(&segment, 0, &values, &mut record));
    assert!(record.time.is_some());
}

#[test]
fn only_the_fields_that_are_asked_for_are_read() {
    let mut values = Values::new(1 << 20);
    let (definition, lines) = LINES[0];
    let format = Arc::new(Format::parse(definition).expect("a format"));
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let segment = reader.read_segment(&Block::new(lines[0].as_bytes().to_vec()), 0, &mut values);
    let rows = RowReader::new(std::slice::from_ref(&format), &values, RecordKind::Request);
    let names = ["uri", "http_x_key", "time"].map(str::to_owned);
    let rows = rows.only(&names);
    let mut record = Record::new();
    assert!(rows.read(&segment, 0, &values, &mut record));
    let read: Vec<String> = fields(&format, &record, &rows)
        .into_iter()
        .filter_map(|(name, value)| value.map(|_| name))
        .collect();
    assert_eq!(read, ["time", "path", "http_x_key"]);
}
