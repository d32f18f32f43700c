//! A line of a log with its fields.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::write_json;

/// A line of a log with its fields, as one JSON object.
///
/// The object has the keys `file` and `line`, the fields by their names, and `raw`. If the line is
/// not UTF-8, `raw` has replacement characters, and `raw_hex` is added. If a field has the name of
/// one of these keys, its key has the prefix `log_`.
#[derive(Debug)]
pub struct LogLine<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The number and the text of the line.
    pub text: LineText<'a>,
    /// The fields that the record has, in their order; empty if the line was not parsed.
    pub fields: Vec<(&'a str, FieldValue<'a>)>,
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

/// The object's own keys, which a format's field may have as its name.
const OWN_KEYS: [&str; 4] = ["file", "line", "raw", "raw_hex"];

/// Returns the key of a field in the object of a line. A name that is one of the object's own keys
/// gets the prefix `log_`, because readers keep only one of two equal keys.
fn field_key(name: &str) -> Cow<'_, str> {
    match OWN_KEYS.contains(&name) {
        true => format!("log_{name}").into(),
        false => name.into(),
    }
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
}

impl Serialize for LogLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("file", self.file)?;
        let LineText { number, bytes } = self.text;
        object.serialize_entry("line", &number)?;
        for (name, value) in &self.fields {
            object.serialize_entry(&field_key(name), value)?;
        }
        object.serialize_entry("raw", &String::from_utf8_lossy(bytes))?;
        if std::str::from_utf8(bytes).is_err() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            object.serialize_entry("raw_hex", &hex)?;
        }
        object.end()
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

    use super::{FieldValue, LineText, LogLine};

    #[test]
    fn keys_are_unique_and_digits_are_kept() {
        let text = |text: &'static str| FieldValue::Text(Cow::Borrowed(text.as_bytes()));
        let number = |text: &'static str| FieldValue::Number(Cow::Borrowed(text.as_bytes()));
        let line = LogLine {
            file: "a.log",
            text: LineText { number: 7, bytes: b"a\xff" },
            fields: vec![
                ("path", text("/\"x")),
                ("raw", text("1")),
                ("time", number("1.000000001")),
            ],
        };
        let mut json = Vec::new();
        line.write_json(&mut json).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&json),
            "{\"file\":\"a.log\",\"line\":7,\"path\":\"/\\\"x\",\"log_raw\":\"1\",\
             \"time\":1.000000001,\"raw\":\"a\u{fffd}\",\"raw_hex\":\"61ff\"}\n"
        );
    }
}
