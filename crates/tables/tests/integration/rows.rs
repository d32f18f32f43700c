//! Reads the records of a table, and computes the rows of the files in `tests/files`.

use std::io::{Cursor, Read, Seek};
use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::{Field, LineParser, Record, RecordLayout};
use weir_tables::{TableError, TableFile};

/// A record, owned: the time, the number fields, the text fields, and the others by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) time: Option<(i64, i32)>,
    pub(crate) numbers: Vec<(Field, u64)>,
    pub(crate) texts: Vec<(Field, Vec<u8>)>,
    pub(crate) extra: Vec<(String, Vec<u8>)>,
}

/// The number of rows in each file, and the first time.
const ROWS: u64 = 200;
const START_NS: i64 = 1_774_745_940_000_000_000;

/// The rows of the files.
pub(crate) fn expected() -> Vec<Row> {
    (0..ROWS).map(expected_row).collect()
}

fn expected_row(i: u64) -> Row {
    let status = ["200", "404", "500"][i as usize % 3];
    let path = format!("/{}/{}", "x".repeat(i as usize % 13), i % 50);
    let size = (!i.is_multiple_of(5)).then_some((Field::Bytes, i * i * 100_003));
    let note = i.is_multiple_of(4).then(|| ("note".to_owned(), format!("n{i}é").into_bytes()));
    let is_cached = (i % 3 == 1).to_string().into_bytes();
    Row {
        time: Some((START_NS + i as i64 * 750_000_000, 0)),
        numbers: size.into_iter().chain([(Field::RequestTime, i * 1_000_000)]).collect(),
        texts: vec![
            (Field::Client, format!("192.0.2.{}", i % 7).into_bytes()),
            (Field::Path, path.into_bytes()),
            (Field::Status, status.into()),
        ],
        extra: note.into_iter().chain([("is_cached".to_owned(), is_cached)]).collect(),
    }
}

/// Reads all rows of a table, up to the first error.
pub(crate) fn read(file: Vec<u8>) -> (Vec<Row>, Result<(), TableError>) {
    let (rows, _, result) = read_from(Cursor::new(file));
    (rows, result)
}

/// [`read`] from anything, with the note on what is left out.
pub(crate) fn read_from(
    file: impl Read + Seek,
) -> (Vec<Row>, Option<String>, Result<(), TableError>) {
    let table = match TableFile::open(file) {
        Ok(table) => table,
        Err(error) => return (Vec::new(), None, Err(error)),
    };
    let mut rows = Vec::new();
    let result = table.read(&mut Vec::new, &mut |block| {
        rows.extend(unpacked(table.layout(), &block.packed));
        ControlFlow::Continue(())
    });
    (rows, table.note(), result)
}

fn unpacked(layout: &RecordLayout, packed: &[u8]) -> Vec<Row> {
    let mut parser = LineParser::new(Arc::new(layout.format()));
    let row = |line: weir_core::Line<'_>| {
        let mut record = Record::new();
        parser.parse(line.bytes, &mut record).expect("a packed record");
        let text = |field| record.text(field).map(|text| (field, text.to_vec()));
        let extra = layout.extra_fields().iter().enumerate();
        Row {
            time: record.time.map(|time| (time.unix_ns, time.offset_s)),
            numbers: Field::NUMBERS
                .into_iter()
                .filter_map(|field| Some((field, record.number(field)?)))
                .collect(),
            texts: Field::TEXT.into_iter().filter_map(text).collect(),
            extra: extra
                .filter_map(|(index, name)| Some((name.clone(), record.extra(index)?.to_vec())))
                .collect(),
        }
    };
    RecordLayout::records(packed).map(row).collect()
}
