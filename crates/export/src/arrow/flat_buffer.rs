//! FlatBuffers, the encoding of the metadata in Arrow messages.

/// Writes a [flat buffer](https://flatbuffers.dev/internals/) from its end to its beginning,
/// because references point forward to objects that must already be written.
///
/// It supports only what Arrow messages need: tables, texts, and vectors of references, of numbers
/// and of pairs.
#[derive(Debug, Default)]
pub(super) struct FlatBuffer {
    /// The bytes from the last to the first. The final length is a multiple of 8, so alignment from
    /// the end is also alignment from the start.
    reversed: Vec<u8>,
}

/// The position of an object, as its distance in bytes from the end of the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position(usize);

/// The value of a field of a table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    /// A reference to a table, a text or a vector.
    Reference(Position),
}

impl FlatBuffer {
    /// Adds a table. Each field has its number in the table's schema.
    pub(super) fn table(&mut self, fields: &[(usize, Value)]) -> Position {
        let end = self.reversed.len();
        let count = fields.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
        let mut positions = vec![None; count];
        for (number, value) in fields {
            positions[*number] = Some(self.push_value(*value));
        }
        // A table begins with its distance to the positions of its fields, which come before it.
        let positions_bytes = 2 * (count + 2);
        let table = self.push_value(Value::Int(positions_bytes as i32));
        for field in positions.iter().rev() {
            let position = field.map_or(0, |Position(field)| table.0 - field);
            self.push(&(position as u16).to_le_bytes());
        }
        self.push(&((table.0 - end) as u16).to_le_bytes());
        self.push(&(positions_bytes as u16).to_le_bytes());
        table
    }

    /// Adds a text.
    pub(super) fn text(&mut self, text: &str) -> Position {
        self.align(4, text.len() + 1);
        self.push(&[0]);
        self.push(text.as_bytes());
        self.push_count(text.len())
    }

    /// Adds a vector of references.
    pub(super) fn references(&mut self, positions: &[Position]) -> Position {
        self.align(4, 0);
        for position in positions.iter().rev() {
            self.push_value(Value::Reference(*position));
        }
        self.push_count(positions.len())
    }

    /// Adds a vector of numbers.
    pub(super) fn longs(&mut self, numbers: &[i64]) -> Position {
        self.align(8, 0);
        for number in numbers.iter().rev() {
            self.push_value(Value::Long(*number));
        }
        self.push_count(numbers.len())
    }

    /// Adds a vector of structs with two numbers each.
    pub(super) fn pairs(&mut self, pairs: &[(i64, i64)]) -> Position {
        self.align(8, 0);
        for (first, second) in pairs.iter().rev() {
            self.push_value(Value::Long(*second));
            self.push_value(Value::Long(*first));
        }
        self.push_count(pairs.len())
    }

    /// Returns the buffer, with this table as its root. Its length is a multiple of 8.
    pub(super) fn finish(mut self, root: Position) -> Vec<u8> {
        self.align(8, 4);
        self.push_value(Value::Reference(root));
        self.reversed.reverse();
        self.reversed
    }

    /// Adds a value, aligned to its own size.
    fn push_value(&mut self, value: Value) -> Position {
        match value {
            Value::Byte(byte) => self.push(&[byte]),
            Value::Short(number) => self.push_aligned(number.to_le_bytes()),
            Value::Int(number) => self.push_aligned(number.to_le_bytes()),
            Value::Long(number) => self.push_aligned(number.to_le_bytes()),
            Value::Reference(Position(position)) => {
                self.align(4, 0);
                let distance = self.reversed.len() + 4 - position;
                self.push_aligned((distance as u32).to_le_bytes());
            }
        }
        Position(self.reversed.len())
    }

    /// Adds the number of elements, which precedes a vector.
    fn push_count(&mut self, count: usize) -> Position {
        self.push_aligned((count as u32).to_le_bytes());
        Position(self.reversed.len())
    }

    fn push_aligned<const N: usize>(&mut self, bytes: [u8; N]) {
        self.align(N, 0);
        self.push(&bytes);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    /// Adds zeros until the length will be a multiple of `size` after `next_bytes` more bytes.
    fn align(&mut self, size: usize, next_bytes: usize) {
        let length = (self.reversed.len() + next_bytes).next_multiple_of(size) - next_bytes;
        self.reversed.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::{FlatBuffer, Value};

    /// Written by hand from the description of the format.
    #[test]
    fn a_table_has_its_fields_at_the_positions_before_it() {
        let mut buffer = FlatBuffer::default();
        let name = buffer.text("ab");
        let root =
            buffer.table(&[(0, Value::Reference(name)), (2, Value::Short(7)), (3, Value::Byte(9))]);
        let expected: [&[u8]; 10] = [
            &[20, 0, 0, 0],            // the root
            &[0, 0, 0, 0],             // so that the length is a multiple of 8
            &[12, 0, 12, 0],           // the bytes of the positions, and those of the table
            &[8, 0, 0, 0, 6, 0, 5, 0], // the positions of fields 0 to 3 in the table
            &[12, 0, 0, 0],            // the table: back to the positions
            &[0, 9],                   // field 3
            &[7, 0],                   // field 2
            &[4, 0, 0, 0],             // field 0, to the text
            &[2, 0, 0, 0, b'a', b'b'], // its length, and its bytes
            &[0, 0],                   // its end
        ];
        assert_eq!(buffer.finish(root), expected.concat());
    }
}
