//! The lines of the records that a query selects.

use serde::{Deserialize, Serialize};
use weir_core::{Field, Record};

use crate::bytes::{hex_if_needed, lossy_text};
use crate::kind::RecordKind;
use crate::number::instant_stamp;

/// The order of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum LineOrder {
    /// By source and by position in the source, as `weir grep` prints them.
    #[default]
    Source,
    /// By time over all sources, the first one first. Lines of equal times are in the order of
    /// [`Self::Source`], and lines without a time come before all others.
    Oldest,
    /// The reverse of [`Self::Oldest`].
    Newest,
}

/// Where a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LineStart {
    /// The number of its source.
    pub source: u32,
    /// The offset of its first byte in the uncompressed source, in bytes.
    pub offset: u64,
}

/// A part of the lines of the records that a query selects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinesAnswer {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The number of lines in the whole selection.
    pub total: u64,
    /// The number of lines before the first of `lines`.
    pub from: u64,
    /// The lines. If lines are long, these are fewer than requested, but at least one.
    pub lines: Vec<SelectedLine>,
    /// The sources of `lines`.
    pub sources: Vec<LineSource>,
    /// The numbers of the first 1,000 sources with lines of the selection.
    pub source_numbers: Vec<u32>,
    /// Whether memory ran out, so that some records may be missing or wrongly included.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub estimated: bool,
}

/// The line of a record: its position, some fields, and its text if the server can read it.
///
/// In all texts, bytes that are not UTF-8 are shown as U+FFFD.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SelectedLine {
    /// The number of its source.
    pub source: u32,
    /// The offset of its first byte in the uncompressed source, in bytes.
    pub offset: u64,
    /// The logged time, as RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub time: Option<String>,
    /// The client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub client: Option<String>,
    /// The method of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub method: Option<String>,
    /// The path of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub path: Option<String>,
    /// The status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub status: Option<String>,
    /// The user agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub user_agent: Option<String>,
    /// The line without its line end. Missing if the server cannot read it, see
    /// [`LineSource::access`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub text: Option<String>,
    /// The bytes of `text` in hexadecimal, if some are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub text_hex: Option<String>,
    /// All fields of the record, if they were requested: those of known fields, then those that only
    /// this log has, then those that follow from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<LineField>>"))]
    pub fields: Vec<LineField>,
    /// Whether `text` is only the beginning of a long line.
    #[serde(rename = "cut", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_cut: bool,
}

/// A field of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LineField {
    /// The name of the field, as in a condition.
    pub name: String,
    /// Its value, of which the first 4 KiB are sent. Sizes are in bytes, durations in seconds, and
    /// times in RFC 3339.
    pub value: String,
    /// The bytes of `value` in hexadecimal, if some are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub value_hex: Option<String>,
    /// Whether `value` is only the beginning of a long value.
    #[serde(rename = "cut", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_cut: bool,
    /// Whether the value does not stand in the line, but follows from it.
    #[serde(rename = "derived", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_derived: bool,
}

impl LineField {
    /// The most bytes of a value.
    const BYTES_MAX: usize = 4 << 10;

    /// Creates a field with a value that stands in the line, or follows from it.
    pub fn new(name: String, value: &[u8], is_derived: bool) -> Self {
        let is_cut = value.len() > Self::BYTES_MAX;
        let shown = if is_cut { before_character(value, Self::BYTES_MAX) } else { value };
        Self { name, value: lossy_text(shown), value_hex: hex_if_needed(shown), is_cut, is_derived }
    }
}

/// Returns up to `length` bytes of a text, not ending within a character of UTF-8.
fn before_character(text: &[u8], length: usize) -> &[u8] {
    let is_start = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    let end = (length.saturating_sub(3)..=length).rev().find(is_start).unwrap_or(length);
    &text[..end.min(text.len())]
}

impl SelectedLine {
    /// The fields that [`Self::new`] reads from a record.
    pub const FIELDS: [Field; 5] =
        [Field::Client, Field::Method, Field::Path, Field::Status, Field::UserAgent];

    /// Creates the line of a record at an offset of a source, without its text.
    pub fn new(source: u32, offset: u64, record: &Record<'_>) -> Self {
        let [client, method, path, status, user_agent] =
            Self::FIELDS.map(|field| record.text(field).map(lossy_text));
        let time = record.time.map(|time| instant_stamp(time.unix_ns));
        let place = Self { source, offset, ..Self::default() };
        Self { time, client, method, path, status, user_agent, ..place }
    }

    /// Sets the text of the line from its bytes.
    pub fn set_text(&mut self, bytes: &[u8], is_cut: bool) {
        self.text = Some(lossy_text(bytes));
        self.text_hex = hex_if_needed(bytes);
        self.is_cut = is_cut;
    }
}

/// A source of lines, and who can read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LineSource {
    /// The number of the source.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The page's id of the file; empty if no page uploaded it.
    pub file: String,
    /// Who can read its lines.
    pub access: LineAccess,
    /// Why the server cannot read them, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub message: Option<String>,
}

/// Who can read the lines of a source. A data set does not keep lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum LineAccess {
    /// The server, from the file on its disk.
    Server,
    /// The page that uploaded the file. Offsets are positions in the file.
    Page,
    /// Nobody, because the lines were not kept.
    None,
}

#[cfg(test)]
mod tests {
    use super::{LineField, SelectedLine};

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let field = |value: &[u8]| LineField::new("path".to_owned(), value, false);
        let text = "é".repeat(3_000);
        let cut = field(text.as_bytes());
        assert_eq!((cut.value.len(), cut.is_cut, cut.value_hex), (4_096, true, None));
        let cut = field(&text.as_bytes()[1..]);
        assert_eq!(cut.value_hex.map(|hex| hex.len()), Some(2 * 4_095), "the first half is a byte");
        let whole = field(b"/\xff");
        assert_eq!((whole.is_cut, whole.value_hex.as_deref()), (false, Some("2fff")));
    }

    #[test]
    fn bytes_that_are_not_text_are_also_hexadecimal() {
        let mut line = SelectedLine::default();
        line.set_text(b"GET /\xff", false);
        assert_eq!(line.text.as_deref(), Some("GET /\u{fffd}"));
        assert_eq!(line.text_hex.as_deref(), Some("474554202fff"));
        line.set_text(b"GET /", true);
        assert_eq!((line.text_hex, line.is_cut), (None, true));
    }
}
