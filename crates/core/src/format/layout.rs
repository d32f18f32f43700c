//! The layout of records that a program makes itself, without writing them as text.

use super::compiled::Format;
use super::own_names::unique_name;
use super::program::Program;
use super::program::packed::{PackedProgram, PackedRecords};
use crate::field::Field;
use crate::line::Line;
use crate::record::Record;
use crate::schema::RecordKind;

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

    /// A layout for the rows of a table, which were records of some log. Path and query are columns of
    /// their own, a text `-` is a value, and `has_arrival_times` says whether times are those at which
    /// requests arrived. A name that fields or outputs have is changed, as in the formats of logs.
    ///
    /// ```
    /// use weir_core::{Field, RecordKind, RecordLayout};
    ///
    /// let columns = vec!["tenant".to_owned(), "file".to_owned()];
    /// let layout = RecordLayout::of_table("PARQUET", vec![Field::Path], columns, RecordKind::Request, false);
    /// assert_eq!(layout.extra_fields(), ["tenant", "log_file"]);
    /// assert!(!layout.format().has_arrival_times());
    /// ```
    pub fn of_table(
        name: &str,
        mut fields: Vec<Field>,
        columns: Vec<String>,
        kind: RecordKind,
        has_arrival_times: bool,
    ) -> Self {
        fields.sort_unstable();
        fields.dedup();
        let mut extra_fields = Vec::with_capacity(columns.len());
        for column in columns {
            let name = unique_name(&column, &extra_fields);
            extra_fields.push(name);
        }
        let program = PackedProgram::of_table(&fields, extra_fields.len(), kind, has_arrival_times);
        Self { name: name.to_owned(), fields, extra_fields, program }
    }

    /// The packed records of a block, each without its length, as the lines of the format.
    pub fn records(block: &[u8]) -> impl Iterator<Item = Line<'_>> {
        PackedRecords::new(block)
    }

    /// The names of the fields that are not a [`Field`].
    pub fn extra_fields(&self) -> &[String] {
        &self.extra_fields
    }

    /// The format of blocks of packed records. Their times are those at which requests arrived.
    pub fn format(&self) -> Format {
        let program = Program::Packed(self.program.clone());
        let (fields, extra) = (self.fields.clone(), self.extra_fields.clone());
        Format::new(&self.definition(), fields, extra, program).with_name(&self.name)
    }

    /// What is packed, and how: formats with the same definition read records alike.
    fn definition(&self) -> String {
        let names = self.fields.iter().map(|field| field.name().to_owned());
        let extra = self.extra_fields.iter().map(|name| format!("{name:?}"));
        let names: Vec<String> = names.chain(extra).collect();
        format!("packed records ({}): {}", self.program.summary(), names.join(", "))
    }

    /// [`Self::pack`], unless the record has more than so many bytes of text. Returns false then, and
    /// packs nothing.
    pub fn pack_up_to(&self, record: &Record<'_>, bytes_max: usize, packed: &mut Vec<u8>) -> bool {
        let texts = self.program.text_bytes(record);
        if texts > bytes_max {
            return false;
        }
        self.pack(record, packed);
        true
    }

    /// Packs a record behind the others in `packed`. Fields that the layout lacks are left out.
    pub fn pack(&self, record: &Record<'_>, packed: &mut Vec<u8>) {
        self.program.pack(record, packed);
    }
}
