//! The lines of the records that a query selects.

use serde::{Deserialize, Serialize};
use weir_core::{Field, Record};

use crate::bytes::{hex_if_needed, shown};
use crate::kind::RecordKind;
use crate::question::instant_stamp;

/// A part of the lines of the records that a query selects.
///
/// The lines are in the order of the sources, and of each source in the order of its lines: as
/// `weir grep` prints them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinesAnswer {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The number of lines of the whole selection.
    pub total: u64,
    /// The number of lines before the first one of `lines`.
    pub from: u64,
    /// The lines. If they are long, these are fewer than were asked for, but at least one.
    pub lines: Vec<SelectedLine>,
    /// The sources of `lines`.
    pub sources: Vec<LineSource>,
    /// The numbers of all sources with lines of the selection, the first 1,000 of them.
    pub source_numbers: Vec<u32>,
    /// Whether some records may be missing or too many, because memory ran out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub estimated: bool,
}

/// The line of a record: its place, what it says, and its text if the server can read it.
///
/// Bytes that are not UTF-8 are shown as U+FFFD in all texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SelectedLine {
    /// The number of its source.
    pub source: u32,
    /// The offset of its first byte in its source, unpacked, in bytes.
    pub offset: u64,
    /// When it was logged, as RFC 3339 in UTC.
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
    /// The line without its end. Missing if the server cannot read it, see [`LineSource::access`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub text: Option<String>,
    /// The bytes of `text` in hexadecimal, if it had to replace some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub text_hex: Option<String>,
    /// Whether `text` is only the begin of a long line.
    #[serde(rename = "cut", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_cut: bool,
}

impl SelectedLine {
    /// The fields by whose names [`Self::new`] reads a record.
    pub const FIELDS: [Field; 5] =
        [Field::Client, Field::Method, Field::Path, Field::Status, Field::UserAgent];

    /// The line of a record at an offset of a source, without its text.
    pub fn new(source: u32, offset: u64, record: &Record<'_>) -> Self {
        let [client, method, path, status, user_agent] =
            Self::FIELDS.map(|field| record.text(field).map(shown));
        let time = record.time.map(|time| instant_stamp(time.unix_ns));
        let place = Self { source, offset, ..Self::default() };
        Self { time, client, method, path, status, user_agent, ..place }
    }

    /// Adds the text of the line, given as its bytes.
    pub fn set_text(&mut self, bytes: &[u8], is_cut: bool) {
        self.text = Some(shown(bytes));
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

/// Who can read the lines of a source. A data set keeps none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum LineAccess {
    /// The server, from the file on its disk.
    Server,
    /// The page that uploaded the file: offsets are those of the file.
    Page,
    /// Neither: they were not kept.
    None,
}

#[cfg(test)]
mod tests {
    use super::SelectedLine;

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
