//! The text formats.

use weir_view::{csv_row, push_csv_value, push_json_string};

use crate::schema::TableSchema;

/// A text format for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// A header and a record for each row (RFC 4180). The cells are safe to open in a spreadsheet,
    /// see [`weir_view::push_csv_value`].
    Csv,
    /// One JSON object per row, each on its own line (RFC 8259).
    JsonLines,
}

impl TextFormat {
    /// Returns the text before the first row.
    pub fn header(self, schema: &TableSchema) -> String {
        match self {
            Self::Csv => csv_row(schema.columns().iter().map(|column| column.name.as_bytes())),
            Self::JsonLines => String::new(),
        }
    }

    /// Returns the bytes before a value of a column: a comma, and in JSON the key.
    pub(super) fn start(self, name: &str) -> Vec<u8> {
        let mut start = b",".to_vec();
        if self == Self::JsonLines {
            push_json_string(&mut start, name.as_bytes());
            start.push(b':');
        }
        start
    }

    pub(super) fn row_start(self) -> &'static [u8] {
        match self {
            Self::Csv => b"",
            Self::JsonLines => b"{",
        }
    }

    /// Adds a JSON object: in CSV as a text.
    pub(super) fn push_object(self, object: &[u8], output: &mut Vec<u8>) {
        match self {
            Self::Csv => push_csv_value(output, object),
            Self::JsonLines => output.extend_from_slice(object),
        }
    }

    /// Adds a value. In CSV an empty text has quotes, because an empty cell is no value.
    pub(super) fn push_text(self, value: &[u8], output: &mut Vec<u8>) {
        match self {
            Self::Csv if value.is_empty() => output.extend_from_slice(b"\"\""),
            Self::Csv => push_csv_value(output, value),
            Self::JsonLines => push_json_string(output, value),
        }
    }

    /// Returns the quotes around a time. CSV needs none, because a time has no reserved characters.
    pub(super) fn time_quote(self) -> &'static [u8] {
        match self {
            Self::Csv => b"",
            Self::JsonLines => b"\"",
        }
    }

    /// Returns the text for a missing value in an own column.
    pub(super) fn absent(self) -> &'static [u8] {
        match self {
            Self::Csv => b",",
            Self::JsonLines => b"",
        }
    }

    pub(super) fn row_end(self) -> &'static [u8] {
        match self {
            Self::Csv => b"\r\n",
            Self::JsonLines => b"}\n",
        }
    }
}
