//! The text formats.

use weir_core::RowReader;
use weir_view::{csv_fields, field_key, line_csv_header, push_csv_value, push_json_string};

use super::columns::{CellSource, TextColumn};

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
    pub fn header(self) -> String {
        match self {
            Self::Csv => line_csv_header(false),
            Self::JsonLines => String::new(),
        }
    }

    /// Returns the columns of the text for rows of this reader.
    pub(super) fn columns(self, rows: &RowReader) -> Vec<TextColumn> {
        match self {
            Self::Csv => {
                let column = |field| TextColumn {
                    source: CellSource::of_known(field),
                    start: b",".to_vec(),
                };
                csv_fields().map(column).collect()
            }
            Self::JsonLines => {
                let fields = rows.fields().accessors().into_iter();
                let columns = fields.filter_map(|(name, field)| {
                    let mut start = b",".to_vec();
                    push_json_string(&mut start, field_key(&name).as_bytes());
                    start.push(b':');
                    Some(TextColumn { source: CellSource::of(field, rows)?, start })
                });
                columns.collect()
            }
        }
    }

    /// Adds the first cell of a row, the name of the source.
    pub(super) fn push_first(self, file: &str, output: &mut Vec<u8>) {
        match self {
            Self::Csv => push_csv_value(output, file.as_bytes()),
            Self::JsonLines => {
                output.extend_from_slice(b"{\"file\":");
                push_json_string(output, file.as_bytes());
            }
        }
    }

    /// Adds a value.
    pub(super) fn push_text(self, value: &[u8], output: &mut Vec<u8>) {
        match self {
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

    /// Returns the text for a missing value, including the separator before it.
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
