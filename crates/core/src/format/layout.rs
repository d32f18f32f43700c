//! The layout of records that a program makes itself, without writing them as text.

use super::compiled::Format;
use super::program::Program;
use super::program::packed::PackedProgram;
use crate::field::Field;
use crate::record::Record;

/// The fields of records that a program makes, and the form in which they are packed into blocks.
///
/// A gateway has the fields of each request at hand. It packs them one behind the other into a
/// block, and a [`crate::BlockReader`] of the layout's format reads that block as it reads one of
/// lines.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Field, Record, RecordLayout, Values};
///
/// let fields = vec![Field::Path, Field::Query, Field::Status, Field::Bytes];
/// let layout = RecordLayout::new("GATE", fields, vec!["backend".to_owned()]);
///
/// let mut record = Record::with_extra_fields(1);
/// record.put_text(Field::Path, Some(b"/a"));
/// record.put_text(Field::Status, Some(b"404"));
/// record.set_number(Field::Bytes, Some(153));
/// record.set_extra(0, b"one");
/// let mut packed = Vec::new();
/// layout.pack(&record, &mut packed);
///
/// let mut values = Values::new(1 << 20);
/// let format = Arc::new(layout.format());
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let segment = reader.read_segment(&Block::new(packed), 0, &mut values);
/// assert_eq!((segment.rows(), segment.number(Field::Bytes, 0)), (1, Some(153)));
/// ```
#[derive(Debug, Clone)]
pub struct RecordLayout {
    name: String,
    fields: Vec<Field>,
    extra_fields: Vec<String>,
    program: PackedProgram,
}

impl RecordLayout {
    /// A layout with these fields. It has a path and a query, or neither.
    pub fn new(name: &str, mut fields: Vec<Field>, extra_fields: Vec<String>) -> Self {
        if fields.contains(&Field::Path) || fields.contains(&Field::Query) {
            fields.extend([Field::Path, Field::Query]);
        }
        fields.sort_unstable();
        fields.dedup();
        let program = PackedProgram::new(&fields, extra_fields.len());
        Self { name: name.to_owned(), fields, extra_fields, program }
    }

    /// The names of the fields that are not a [`Field`].
    pub fn extra_fields(&self) -> &[String] {
        &self.extra_fields
    }

    /// The format of blocks of packed records. Their times are those at which requests arrived.
    pub fn format(&self) -> Format {
        let program = Program::Packed(self.program.clone());
        let (fields, extra) = (self.fields.clone(), self.extra_fields.clone());
        Format::new("packed records", fields, extra, program).with_name(&self.name)
    }

    /// Packs a record behind the others in `packed`. Fields that the layout lacks are left out.
    pub fn pack(&self, record: &Record<'_>, packed: &mut Vec<u8>) {
        self.program.pack(record, packed);
    }
}
