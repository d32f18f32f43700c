//! Packed records become the same rows as the fields that were packed.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, Field, Record, RecordKind, RecordLayout, RowReader, Segment,
    Timestamp, Values,
};

/// The fields of one record, owned.
#[derive(Debug, Clone)]
struct Fields {
    time_ns: Option<i64>,
    client: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    query: Option<Vec<u8>>,
    bytes: Option<u64>,
    backend: Option<Vec<u8>>,
}

fn layout() -> RecordLayout {
    let fields = vec![Field::Client, Field::Path, Field::Query, Field::Bytes, Field::Time];
    RecordLayout::new("TEST", fields, vec!["backend".to_owned()])
}

#[test]
fn layouts_are_the_same_only_if_they_read_alike() {
    let fields = || vec![Field::Client, Field::Status];
    let of_table = |fields, columns: &[&str], kind, is_arrival| {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        RecordLayout::of_table("TEST", fields, columns, kind, is_arrival).format()
    };
    let request = RecordKind::Request;
    let formats = [
        of_table(fields(), &[], request, false),
        of_table(vec![Field::Client], &[], request, false),
        of_table(fields(), &["a"], request, false),
        of_table(fields(), &["b"], request, false),
        of_table(fields(), &["a", "b"], request, false),
        of_table(fields(), &["a, b"], request, false),
        of_table(fields(), &[], RecordKind::FirewallEvent, false),
        of_table(fields(), &[], request, true),
        RecordLayout::new("TEST", fields(), Vec::new()).format(),
    ];
    for (index, one) in formats.iter().enumerate() {
        for (other_index, other) in formats.iter().enumerate() {
            assert_eq!(one.is_same_as(other), index == other_index, "{index}, {other_index}");
        }
    }
    assert!(of_table(fields(), &["a"], request, false).is_same_as(&formats[2]));
}

fn pack(layout: &RecordLayout, records: &[Fields]) -> Vec<u8> {
    let mut packed = Vec::new();
    for fields in records {
        let mut record = Record::with_extra_fields(1);
        record.time = fields.time_ns.map(|unix_ns| Timestamp { unix_ns, offset_s: 0 });
        record.put_text(Field::Client, fields.client.as_deref());
        record.put_text(Field::Path, fields.path.as_deref());
        record.put_text(Field::Query, fields.query.as_deref());
        record.set_number(Field::Bytes, fields.bytes);
        if let Some(backend) = &fields.backend {
            record.set_extra(0, backend);
        }
        layout.pack(&record, &mut packed);
    }
    packed
}

fn read(layout: &RecordLayout, packed: Vec<u8>) -> (Segment, Values, RowReader) {
    let mut values = Values::new(1 << 20);
    let format = Arc::new(layout.format());
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let segment = reader.read_segment(&Block::new(packed), 0, &mut values);
    let rows = RowReader::new(&[format], &values, RecordKind::Request);
    (segment, values, rows)
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    // Line feeds and quotes separate nothing here.
    vec(prop_oneof![Just(b'\n'), Just(b'"'), Just(0), any::<u8>()], 0..12)
}

fn fields() -> impl Strategy<Value = Fields> {
    let path = of(text()).prop_map(|path| {
        path.map(|path| path.into_iter().filter(|byte| *byte != b'?').collect::<Vec<u8>>())
    });
    let number = of(0..u64::MAX - 1);
    (of(-1_000_000_000..i64::MAX / 2), of(text()), path, of(text()), number, of(text())).prop_map(
        |(time_ns, client, path, query, bytes, backend)| {
            // A target without a path has no query either.
            let query = query.filter(|_| path.is_some());
            Fields { time_ns, client, path, query, bytes, backend }
        },
    )
}

proptest! {
    #[test]
    fn rows_have_the_fields_that_were_packed(records in vec(fields(), 0..40)) {
        let layout = layout();
        let (segment, values, rows) = read(&layout, pack(&layout, &records));
        prop_assert_eq!(segment.rows(), records.len());
        let mut record = Record::new();
        for (row, fields) in records.iter().enumerate() {
            prop_assert!(rows.read(&segment, row, &values, &mut record));
            prop_assert_eq!(record.time.map(|time| time.unix_ns), fields.time_ns);
            prop_assert_eq!(record.text(Field::Client), fields.client.as_deref());
            prop_assert_eq!(record.text(Field::Path), fields.path.as_deref());
            prop_assert_eq!(record.text(Field::Query), fields.query.as_deref());
            prop_assert_eq!(record.number(Field::Bytes), fields.bytes);
            prop_assert_eq!(record.extra(0), fields.backend.as_deref());
        }
    }

    #[test]
    fn damaged_records_are_counted(records in vec(fields(), 1..8), cut in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
        let layout = layout();
        let mut packed = pack(&layout, &records);
        packed.truncate(cut.index(packed.len()) + 1);
        for (at, byte) in changes {
            let at = at.index(packed.len());
            packed[at] = byte;
        }
        let mut values = Values::new(1 << 20);
        let format = Arc::new(layout.format());
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let read = reader.read(&Block::new(packed), 0);
        prop_assert_eq!(read.lines, read.records + read.empty_lines + read.unparsed_lines);
        prop_assert!(read.lines > 0);
    }
}
