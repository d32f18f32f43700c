//! A line of a log with its fields.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::csv::csv_row;
use crate::json::write_json;

/// A line of a log with its fields, as one JSON object or as a row of CSV.
///
/// In JSON, members without a value are left out. If the line is not UTF-8, `raw` has replacement
/// characters, and `raw_hex` is added. No field has the name of another member
/// ([`weir_core::Format::extra_fields`]).
#[derive(Debug)]
pub struct LogLine<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The number and the text of the line.
    pub text: LineText<'a>,
    /// The members in their order.
    pub members: Vec<LineMember<'a>>,
}

/// A member of the object of a line, or a cell of its row.
#[derive(Debug)]
pub enum LineMember<'a> {
    /// The name of the file, `file`.
    File,
    /// The number of the line, `line`.
    Line,
    /// A field by its name, with its value if the record has one.
    Field(&'a str, Option<FieldValue<'a>>),
    /// Several fields in an object under this name.
    Fields(&'a str, Vec<(&'a str, FieldValue<'a>)>),
    /// The text of the line, `raw`.
    Raw,
}

/// A line as logged.
#[derive(Debug, Clone, Copy)]
pub struct LineText<'a> {
    /// The number of the line, from 1.
    pub number: u64,
    /// The bytes, without the line end.
    pub bytes: &'a [u8],
}

/// The value of a field.
#[derive(Debug)]
pub enum FieldValue<'a> {
    /// The log's own bytes.
    Text(Cow<'a, [u8]>),
    /// A decimal number. Its digits are kept, because a binary fraction would round durations.
    Number(Cow<'a, [u8]>),
}

impl LogLine<'_> {
    /// Writes the line as a JSON object, followed by a line feed.
    ///
    /// # Errors
    /// Fails if `output` cannot be written.
    pub fn write_json(&self, output: &mut impl Write) -> io::Result<()> {
        write_json(output, self)?;
        output.write_all(b"\n")
    }

    /// Returns the line as a row of CSV. Members without a value are empty cells.
    pub fn csv_row(&self) -> String {
        let cells: Vec<Cow<'_, [u8]>> = self.members.iter().map(|it| self.cell(it)).collect();
        csv_row(cells.iter().map(AsRef::as_ref))
    }

    fn cell<'a>(&'a self, member: &'a LineMember<'_>) -> Cow<'a, [u8]> {
        match member {
            LineMember::File => self.file.as_bytes().into(),
            LineMember::Line => self.text.number.to_string().into_bytes().into(),
            LineMember::Field(_, value) => value.as_ref().map_or(&b""[..], FieldValue::text).into(),
            LineMember::Fields(_, fields) if fields.is_empty() => b"".as_slice().into(),
            LineMember::Fields(_, fields) => {
                let mut object = Vec::new();
                // Writing to memory cannot fail.
                let _ = write_json(&mut object, &Fields(fields));
                object.into()
            }
            LineMember::Raw => self.text.bytes.into(),
        }
    }
}

/// Returns the header of rows with these members.
pub fn csv_header<'a>(names: impl Iterator<Item = &'a str>) -> String {
    csv_row(names.map(str::as_bytes))
}

impl Serialize for LogLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let LineText { number, bytes } = self.text;
        for member in &self.members {
            match member {
                LineMember::File => object.serialize_entry("file", self.file)?,
                LineMember::Line => object.serialize_entry("line", &number)?,
                LineMember::Field(_, None) => {}
                LineMember::Field(name, Some(value)) => object.serialize_entry(name, value)?,
                LineMember::Fields(_, fields) if fields.is_empty() => {}
                LineMember::Fields(name, fields) => {
                    object.serialize_entry(name, &Fields(fields))?;
                }
                LineMember::Raw => {
                    object.serialize_entry("raw", &String::from_utf8_lossy(bytes))?;
                    if std::str::from_utf8(bytes).is_err() {
                        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                        object.serialize_entry("raw_hex", &hex)?;
                    }
                }
            }
        }
        object.end()
    }
}

/// Fields in an object of their own.
struct Fields<'a>(&'a [(&'a str, FieldValue<'a>)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl FieldValue<'_> {
    fn text(&self) -> &[u8] {
        match self {
            Self::Text(text) | Self::Number(text) => text,
        }
    }
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Checking a whole text is faster than searching its first byte that is not UTF-8.
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.serialize(serializer),
                Err(_) => String::from_utf8_lossy(bytes).serialize(serializer),
            },
            Self::Number(digits) => {
                let digits = String::from_utf8_lossy(digits).into_owned();
                let number = RawValue::from_string(digits).map_err(S::Error::custom)?;
                number.serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{FieldValue, LineMember, LineText, LogLine};

    #[test]
    fn digits_are_kept_and_bytes_shown() {
        let text = |text: &'static str| FieldValue::Text(Cow::Borrowed(text.as_bytes()));
        let number = |text: &'static str| FieldValue::Number(Cow::Borrowed(text.as_bytes()));
        let line = LogLine {
            file: "a.log",
            text: LineText { number: 7, bytes: b"a\xff" },
            members: vec![
                LineMember::File,
                LineMember::Line,
                LineMember::Field("path", Some(text("/\"x"))),
                LineMember::Field("user", None),
                LineMember::Field("request_time", Some(number("1.000000001"))),
                LineMember::Fields("other_fields", vec![("a", text("b"))]),
                LineMember::Raw,
            ],
        };
        let mut json = Vec::new();
        line.write_json(&mut json).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&json),
            "{\"file\":\"a.log\",\"line\":7,\"path\":\"/\\\"x\",\"request_time\":1.000000001,\
             \"other_fields\":{\"a\":\"b\"},\"raw\":\"a\u{fffd}\",\"raw_hex\":\"61ff\"}\n"
        );
        assert_eq!(
            line.csv_row(),
            "a.log,7,\"/\"\"x\",,1.000000001,\"{\"\"a\"\":\"\"b\"\"}\",a\u{fffd}\r\n"
        );
    }
}
