//! The schema of a data set: which columns its records have, and of which kind they are.
//!
//! A column has a number ([`ColumnId`]) by which everything refers to it: segments, dictionaries,
//! clauses and aggregates are arrays or sorted lists by that number. Names are looked up once, when
//! a question is asked, and never for each record.
//!
//! The numbers of three groups of columns follow each other:
//!
//! | columns | number | in every data set |
//! |---|---|---|
//! | known fields ([`Field`]) | the field's discriminant | the same |
//! | `level` and `action` | after the known fields | the same |
//! | fields that formats add | in the order of first use | differ |
//!
//! So code about a known field needs no schema, and a column of an added field means nothing
//! outside its data set.

use crate::field::{ColumnKind, Field};

/// The number of a column in a [`Schema`].
///
/// The columns of the known fields come first and have the same number in every data set, see
/// [`Field::column`]. The columns that formats add follow in the order in which they were added.
///
/// An id is two bytes; there are at most [`Schema::TEXT_COLUMNS_MAX`] text columns and a few
/// others.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, Schema};
///
/// let mut schema = Schema::new();
/// assert_eq!(Field::Client.column().index(), 0);
/// let added = schema.add_text_column("ssl_protocol");
/// assert_eq!(added.index() + 1, schema.columns().len());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(u16);

impl ColumnId {
    /// The id of the column at this position. Positions are below 2^16, see
    /// [`Schema::TEXT_COLUMNS_MAX`].
    pub(crate) const fn new(index: usize) -> Self {
        Self(index as u16)
    }

    /// The position of the column in [`Schema::columns`], from 0.
    ///
    /// Arrays with an element for each column use it as their index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Field {
    /// The field's column, the same in every data set.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, Schema};
    ///
    /// let column = Field::Path.column();
    /// assert_eq!(Schema::new().column(column).unwrap().field, Some(Field::Path));
    /// ```
    pub const fn column(self) -> ColumnId {
        ColumnId::new(self as usize)
    }
}

/// A column of a data set.
///
/// # Examples
///
/// ```
/// use weir_core::{ColumnKind, Schema};
///
/// let mut schema = Schema::new();
/// let id = schema.add_text_column("ssl_protocol");
/// let column = schema.column(id).unwrap();
/// assert_eq!((column.kind, column.field), (ColumnKind::Text, None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in JSON, in conditions and on the page.
    ///
    /// Unique in its schema. For an added column it is as in the format's definition, for instance
    /// the name of an nginx variable without `$`.
    pub name: String,
    /// The type of its values.
    ///
    /// Added columns are text.
    pub kind: ColumnKind,
    /// The known field that the column holds; `None` if a format added the column.
    pub field: Option<Field>,
}

/// The kind of a record. A format reads records of one kind, and so a segment holds one kind.
///
/// Kinds are counted apart: a line of an error log is often about a request that the access log
/// has as well, and a packet that a firewall dropped is no request.
///
/// The kind belongs to the format: see [`crate::Format::kind`]. A filter may be about one kind
/// ([`crate::Filter`]), and [`crate::EvaluationByKind`] answers for each.
///
/// # Examples
///
/// ```
/// use weir_core::{Format, RecordKind, format_by_name};
///
/// assert_eq!(Format::parse("%h %>s")?.kind(), RecordKind::Request);
/// assert_eq!(format_by_name("nginxerror").unwrap().kind(), RecordKind::ErrorLogLine);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// A request that a server answered.
    #[default]
    Request,
    /// A line of an error log.
    ErrorLogLine,
    /// A packet or connection that a firewall logged.
    FirewallEvent,
}

impl RecordKind {
    /// All kinds, the one that a log is usually about first.
    ///
    /// The index of a kind is its discriminant.
    pub const ALL: [Self; 3] = [Self::Request, Self::ErrorLogLine, Self::FirewallEvent];

    /// The column by which a histogram of such records is stacked if nothing else is asked for:
    /// the level of an error-log line, the action of a firewall. `None` for requests, which are
    /// stacked by the class of their status.
    ///
    /// The column exists in every data set, so a question about a kind can be made before a log of
    /// it is read.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{RecordKind, Schema};
    ///
    /// let schema = Schema::new();
    /// let level = RecordKind::ErrorLogLine.leading_column().unwrap();
    /// assert_eq!(schema.column(level).unwrap().name, "level");
    /// assert_eq!(RecordKind::Request.leading_column(), None);
    /// ```
    pub const fn leading_column(self) -> Option<ColumnId> {
        match self {
            Self::Request => None,
            Self::ErrorLogLine => Some(ColumnId::new(Field::ALL.len())),
            Self::FirewallEvent => Some(ColumnId::new(Field::ALL.len() + 1)),
        }
    }
}

/// The text columns that every data set has in addition to the known fields: those of
/// [`RecordKind::leading_column`].
const LEADING_COLUMNS: [&str; 2] = ["level", "action"];

/// The columns of a data set, by [`ColumnId`].
///
/// ```
/// use weir_core::{ColumnKind, Field, Schema, Unit};
///
/// let mut schema = Schema::new();
/// let bytes = schema.column(Field::Bytes.column()).expect("a known field");
/// assert_eq!((bytes.name.as_str(), bytes.kind), ("bytes", ColumnKind::Number(Unit::Bytes)));
///
/// let added = schema.add_text_column("ssl_protocol");
/// assert_eq!(schema.text_column_by_name("ssl_protocol"), Some(added));
/// ```
///
/// A schema only grows: a column is never removed and never changes its id, its name or its kind.
/// Schemas of two data sets agree on the known fields and may differ in everything else.
///
/// A name is found by a search through all columns, which happens once for each format and each
/// question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<Column>,
    text_columns: usize,
    /// The columns whose values no line has.
    derived: Vec<ColumnId>,
}

impl Schema {
    /// The largest number of text columns: far more than servers log, and few enough that
    /// hostile files with ever new field names cost little.
    ///
    /// The limit is on the known, the leading and the added columns together.
    pub const TEXT_COLUMNS_MAX: usize = 1_024;

    /// The name of the column that all further fields share after [`Self::TEXT_COLUMNS_MAX`].
    const FURTHER_FIELDS: &str = "further_fields";

    /// The columns of the known fields and the leading columns of the kinds of records.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, Schema};
    ///
    /// let schema = Schema::new();
    /// let (id, column) = schema.columns().next().unwrap();
    /// assert_eq!((id, column.name.as_str()), (Field::Client.column(), "client"));
    /// ```
    pub fn new() -> Self {
        let column = |field: Field| Column {
            name: field.name().to_owned(),
            kind: field.kind(),
            field: Some(field),
        };
        let mut schema = Self {
            columns: Field::ALL.into_iter().map(column).collect(),
            text_columns: Field::TEXT.len(),
            derived: Vec::new(),
        };
        for name in LEADING_COLUMNS {
            schema.add_text_column(name);
        }
        schema
    }

    /// All columns in the order of their ids.
    ///
    /// Number `n` of the iterator has the id with the index `n`.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (ColumnId, &Column)> {
        self.columns.iter().enumerate().map(|(index, column)| (ColumnId::new(index), column))
    }

    /// The text columns and their names, in the order of their ids.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Schema;
    ///
    /// let schema = Schema::new();
    /// let names: Vec<&str> = schema.text_columns().map(|(_, name)| name).collect();
    /// assert_eq!(names[..3], ["client", "user", "host"]);
    /// assert!(!names.contains(&"bytes"));
    /// ```
    pub fn text_columns(&self) -> impl Iterator<Item = (ColumnId, &str)> {
        let is_text = |(_, column): &(ColumnId, &Column)| column.kind == ColumnKind::Text;
        self.columns().filter(is_text).map(|(id, column)| (id, column.name.as_str()))
    }

    /// The text columns whose values stand in lines: a search through all fields reads these.
    pub(crate) fn logged_text_columns(&self) -> impl Iterator<Item = ColumnId> {
        self.text_columns().map(|(id, _)| id).filter(|id| !self.derived.contains(id))
    }

    /// Whether a column is derived from others.
    pub(crate) fn is_derived(&self, id: ColumnId) -> bool {
        self.derived.contains(&id)
    }

    /// Notes that a column is derived from others.
    pub(crate) fn set_derived(&mut self, id: ColumnId) {
        if !self.derived.contains(&id) {
            self.derived.push(id);
        }
    }

    /// A column; `None` if the data set has no column of that id.
    pub fn column(&self, id: ColumnId) -> Option<&Column> {
        self.columns.get(id.index())
    }

    /// The text column of that name, which may be any name that [`Field::by_name`] accepts.
    ///
    /// `None` if there is no such column, or if it is one of numbers or times.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, Schema};
    ///
    /// let schema = Schema::new();
    /// assert_eq!(schema.text_column_by_name("remote_addr"), Some(Field::Client.column()));
    /// assert_eq!(schema.text_column_by_name("bytes"), None);
    /// assert_eq!(schema.text_column_by_name("ssl_protocol"), None);
    /// ```
    pub fn text_column_by_name(&self, name: &str) -> Option<ColumnId> {
        match Field::by_name(name) {
            Some(field) => (field.kind() == ColumnKind::Text).then(|| field.column()),
            None => self.position(name),
        }
    }

    /// The text column of that name, which is added if there is none. After
    /// [`Self::TEXT_COLUMNS_MAX`] columns all further names share the last one.
    ///
    /// The name is compared with the names of the columns, not with the other names of known
    /// fields: a format has resolved those already. A field that shares the last column loses its
    /// own values there if a record has several such fields: the first of them is kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, Schema};
    ///
    /// let mut schema = Schema::new();
    /// let added = schema.add_text_column("ssl_protocol");
    /// assert_eq!(schema.add_text_column("ssl_protocol"), added);
    /// assert_eq!(schema.add_text_column("client"), Field::Client.column());
    ///
    /// let hostile = (0..10_000).map(|number| format!("field_{number}"));
    /// let last = hostile.map(|name| schema.add_text_column(&name)).last();
    /// assert_eq!(schema.text_columns().count(), Schema::TEXT_COLUMNS_MAX);
    /// assert_eq!(schema.column(last.unwrap()).unwrap().name, "further_fields");
    /// ```
    pub fn add_text_column(&mut self, name: &str) -> ColumnId {
        if let Some(known) = self.position(name) {
            return known;
        }
        let has_room = self.text_columns + 1 < Self::TEXT_COLUMNS_MAX;
        let name = if has_room { name } else { Self::FURTHER_FIELDS };
        self.position(name).unwrap_or_else(|| {
            self.columns.push(Column {
                name: name.to_owned(),
                kind: ColumnKind::Text,
                field: None,
            });
            self.text_columns += 1;
            ColumnId::new(self.columns.len() - 1)
        })
    }

    /// The text column with exactly this name.
    fn position(&self, name: &str) -> Option<ColumnId> {
        self.text_columns().find(|(_, own)| *own == name).map(|(id, _)| id)
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnId, Field, LEADING_COLUMNS, RecordKind, Schema};

    #[test]
    fn the_known_fields_have_fixed_ids() {
        let schema = Schema::new();
        assert_eq!(schema.columns().len(), Field::ALL.len() + LEADING_COLUMNS.len());
        for field in Field::ALL {
            let column = schema.column(field.column()).expect("a known field");
            assert_eq!((column.field, column.kind), (Some(field), field.kind()));
        }
        let leading = RecordKind::ALL.into_iter().filter_map(RecordKind::leading_column);
        let leading = leading.filter_map(|column| schema.column(column));
        assert!(leading.map(|column| column.name.as_str()).eq(LEADING_COLUMNS));
        assert_eq!(schema.column(ColumnId::new(schema.columns().len())), None);
    }

    #[test]
    fn the_number_of_text_columns_is_bounded() {
        let mut schema = Schema::new();
        let ids: Vec<ColumnId> =
            (0..3_000).map(|n| schema.add_text_column(&format!("field_{n}"))).collect();
        assert_eq!(schema.text_columns().count(), Schema::TEXT_COLUMNS_MAX);
        assert_eq!(schema.add_text_column("field_5"), ids[5], "a known column stays");
        assert_eq!(
            schema.text_columns().last(),
            Some((ids[2_999], "further_fields")),
            "the rest share a column"
        );
    }

    #[test]
    fn added_columns_are_shared_by_name() {
        let mut schema = Schema::new();
        let first = schema.add_text_column("ssl_protocol");
        assert_eq!(schema.add_text_column("ssl_protocol"), first);
        assert_eq!(schema.text_column_by_name("ssl_protocol"), Some(first));
        assert_eq!(schema.text_column_by_name("remote_addr"), Some(Field::Client.column()));
        assert_eq!(schema.text_column_by_name("bytes"), None, "a number");
    }
}
