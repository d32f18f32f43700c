//! Encodes Arrow messages: metadata according to
//! [Message.fbs](https://github.com/apache/arrow/blob/main/format/Message.fbs) and
//! [Schema.fbs](https://github.com/apache/arrow/blob/main/format/Schema.fbs), and a body.

use super::body::Body;
use super::dictionary::Dictionary;
use super::flat_buffer::{FlatBuffer, Position, Value};
use crate::schema::{CellKind, TableColumn, TableSchema};

/// The start of a message, before the length of its metadata.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// Values of enumerations and unions in the schemas.
const VERSION_5: i16 = 4;
const LITTLE_ENDIAN: i16 = 0;
const DICTIONARY_REPLACEMENT: i64 = 1;
const MICROSECOND: i16 = 2;
const DOUBLE: i16 = 2;

/// The kind of a message, in the union `MessageHeader`.
#[derive(Debug, Clone, Copy)]
enum Header {
    Schema = 1,
    DictionaryBatch = 2,
    RecordBatch = 3,
}

/// The type of a column, in the union `Type`.
#[derive(Debug, Clone, Copy)]
enum Type {
    Int = 2,
    FloatingPoint = 3,
    Timestamp = 10,
    LargeUtf8 = 20,
}

/// Returns the message that describes the columns.
pub(super) fn schema(schema: &TableSchema) -> Vec<u8> {
    let mut buffer = FlatBuffer::default();
    let columns = schema.columns().iter().enumerate();
    let fields: Vec<Position> =
        columns.map(|(number, column)| field(&mut buffer, number, column)).collect();
    let units: Vec<Position> = schema
        .columns()
        .iter()
        .filter_map(|column| column.unit_entry())
        .map(|(key, value)| {
            let (key, value) = (buffer.text(&key), buffer.text(value));
            buffer.table(&[(0, Value::Reference(key)), (1, Value::Reference(value))])
        })
        .collect();
    let fields = buffer.references(&fields);
    let units = buffer.references(&units);
    let features = buffer.longs(&[DICTIONARY_REPLACEMENT]);
    let schema = buffer.table(&[
        (0, Value::Short(LITTLE_ENDIAN)),
        (1, Value::Reference(fields)),
        (2, Value::Reference(units)),
        (3, Value::Reference(features)),
    ]);
    let mut output = Vec::new();
    push_message(&mut output, buffer, Header::Schema, schema, &[]);
    output
}

/// Adds the message with the distinct texts of a column.
pub(super) fn push_dictionary(output: &mut Vec<u8>, column: usize, dictionary: &Dictionary<'_>) {
    let mut body = Body::default();
    body.push_texts(dictionary.texts());
    let mut buffer = FlatBuffer::default();
    let texts = record_batch(&mut buffer, dictionary.len(), &body);
    let header = buffer.table(&[(0, Value::Long(column as i64)), (1, Value::Reference(texts))]);
    push_message(output, buffer, Header::DictionaryBatch, header, &body.bytes);
}

/// Adds the message with the cells of some rows.
pub(super) fn push_rows(output: &mut Vec<u8>, rows: usize, body: &Body) {
    let mut buffer = FlatBuffer::default();
    let header = record_batch(&mut buffer, rows, body);
    push_message(output, buffer, Header::RecordBatch, header, &body.bytes);
}

/// Adds the end of the stream.
pub(super) fn push_end(output: &mut Vec<u8>) {
    output.extend(CONTINUATION);
    output.extend([0; 4]);
}

fn push_message(
    output: &mut Vec<u8>,
    mut buffer: FlatBuffer,
    kind: Header,
    header: Position,
    body: &[u8],
) {
    let root = buffer.table(&[
        (0, Value::Short(VERSION_5)),
        (1, Value::Byte(kind as u8)),
        (2, Value::Reference(header)),
        (3, Value::Long(body.len() as i64)),
    ]);
    let metadata = buffer.finish(root);
    output.reserve(metadata.len() + body.len() + 8);
    output.extend(CONTINUATION);
    output.extend((metadata.len() as i32).to_le_bytes());
    output.extend(metadata);
    output.extend(body);
}

fn record_batch(buffer: &mut FlatBuffer, rows: usize, body: &Body) -> Position {
    let columns = buffer.pairs(&body.columns);
    let buffers = buffer.pairs(&body.buffers);
    buffer.table(&[
        (0, Value::Long(rows as i64)),
        (1, Value::Reference(columns)),
        (2, Value::Reference(buffers)),
    ])
}

/// Adds the description of a column. The column's number is also the id of its dictionary.
fn field(buffer: &mut FlatBuffer, number: usize, column: &TableColumn) -> Position {
    let (kind, value) = type_of(buffer, column.kind);
    let name = buffer.text(&column.name);
    let children = buffer.references(&[]);
    let mut fields = vec![
        (0, Value::Reference(name)),
        (1, Value::Byte(1)),
        (2, Value::Byte(kind as u8)),
        (3, Value::Reference(value)),
        (5, Value::Reference(children)),
    ];
    if column.kind == CellKind::Text {
        let index = int(buffer, 32);
        let encoding =
            buffer.table(&[(0, Value::Long(number as i64)), (1, Value::Reference(index))]);
        fields.push((4, Value::Reference(encoding)));
    }
    buffer.table(&fields)
}

fn type_of(buffer: &mut FlatBuffer, kind: CellKind) -> (Type, Position) {
    match kind {
        CellKind::Text => (Type::LargeUtf8, buffer.table(&[])),
        CellKind::Number(_) | CellKind::InstantNanoseconds => (Type::Int, int(buffer, 64)),
        CellKind::Seconds => (Type::FloatingPoint, buffer.table(&[(0, Value::Short(DOUBLE))])),
        CellKind::Status | CellKind::ZoneOffset => (Type::Int, int(buffer, 32)),
        CellKind::Instant => {
            let zone = buffer.text("UTC");
            let fields = [(0, Value::Short(MICROSECOND)), (1, Value::Reference(zone))];
            (Type::Timestamp, buffer.table(&fields))
        }
    }
}

/// Adds the type of signed integers.
fn int(buffer: &mut FlatBuffer, bits: i32) -> Position {
    buffer.table(&[(0, Value::Int(bits)), (1, Value::Byte(1))])
}
