//! Access to a field of a record by name.
//!
//! Names are those that a user types: a known field by any of its names ([`Field::by_name`]), a
//! field that only this format has by its own name, or `status_class`. Whether a name exists
//! depends on the format and not on the line, so a misspelt name is an error before the first line
//! is read.

use std::borrow::Cow;
use std::fmt;

use super::Record;
use crate::field::{ColumnKind, Field, Unit};
use crate::similar_name::names_instead;
use crate::value::{
    STATUS_CLASS, STATUS_CLASSES, common_spelling, format_rfc3339, push_decimal, push_seconds,
    status_class,
};

/// Reads one field of the records of one format; made by [`crate::Format::accessor`].
///
/// The name is resolved once for each format, so that reading a value is a match and a copy
/// of a slice.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, LineParser, Record};
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let class = format.accessor("status_class").expect("the format has a status");
///
/// let mut record = Record::new();
/// LineParser::new(format).parse(b"192.0.2.7 404", &mut record).expect("the line is parsed");
/// assert_eq!(class.value(&record).as_deref(), Some(&b"4xx"[..]));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// The indices belong to one format; the records of another format need an accessor of their own.
///
/// # Examples
///
/// Numbers and times have one text form in all formats:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, LineParser, Record};
///
/// let format = Arc::new(Format::parse("%{msec}t %D")?);
/// let (time, duration) = (format.accessor("time").unwrap(), format.accessor("request_time").unwrap());
///
/// let mut record = Record::new();
/// LineParser::new(format).parse(b"1500 2500000", &mut record).expect("the line is parsed");
/// assert_eq!(time.value(&record).as_deref(), Some(&b"1970-01-01T00:00:01.500Z"[..]));
/// assert_eq!(duration.value(&record).as_deref(), Some(&b"2.5"[..]));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldAccessor {
    /// A field that every format may have.
    Field(Field),
    /// One of the format's own fields, by its index in [`crate::Format::extra_fields`].
    Extra(usize),
    /// The class of the status, such as `4xx`; see [`status_class`].
    StatusClass,
}

/// A format has no field of a name.
///
/// Its text is a sentence for a person, with the names that would be accepted.
///
/// # Examples
///
/// ```
/// use weir_core::Format;
///
/// let error = Format::parse("$remote_addr $status")?.accessor("vhost").unwrap_err();
/// assert_eq!(error.name, "vhost");
/// assert!(error.fields.contains(&"client".to_owned()));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The name that was looked up.
    pub name: String,
    /// The names of the fields that the format has.
    ///
    /// In the order in which a listing of the records shows them.
    pub fields: Vec<String>,
}

impl FieldAccessor {
    /// Resolves a name among the known fields that the records have and their extra fields.
    ///
    /// A known field is accepted if the format fills it.
    pub(crate) fn new(
        name: &str,
        fields: &[Field],
        extra_fields: &[String],
    ) -> Result<Self, UnknownField> {
        let accessor = if name == STATUS_CLASS {
            fields.contains(&Field::Status).then_some(Self::StatusClass)
        } else if let Some(field) = Field::by_name(name) {
            fields.contains(&field).then_some(Self::Field(field))
        } else {
            extra_fields.iter().position(|extra| extra == name).map(Self::Extra)
        };
        accessor.ok_or_else(|| {
            let fields = Self::all(fields, extra_fields).into_iter().map(|(name, _)| name);
            UnknownField { name: name.to_owned(), fields: fields.collect() }
        })
    }

    /// All fields with their names: the time, the other known fields in the order of
    /// [`Field::TEXT`] and [`Field::NUMBERS`], then the extra fields.
    pub(crate) fn all(fields: &[Field], extra_fields: &[String]) -> Vec<(String, Self)> {
        let known = [Field::Time].into_iter().chain(Field::TEXT).chain(Field::NUMBERS);
        let known = known
            .filter(|field| fields.contains(field))
            .map(|field| (field.name().to_owned(), Self::Field(field)));
        let extra = extra_fields.iter().enumerate();
        known.chain(extra.map(|(index, name)| (name.clone(), Self::Extra(index)))).collect()
    }

    /// Returns the value as text, or `None` if the record lacks the field.
    ///
    /// Text is the log's own bytes, in JSON without the escapes of strings; an address of a client
    /// has the spelling of [`common_spelling`]. Sizes are in bytes,
    /// durations in seconds with as many decimals as they need, times in RFC 3339.
    ///
    /// Text is borrowed from the line. Numbers and times are formatted, which allocates.
    ///
    /// The bytes are chosen by clients: a program that prints them must remove control characters.
    pub fn value<'a>(self, record: &Record<'a>) -> Option<Cow<'a, [u8]>> {
        Some(match self {
            Self::Extra(index) => Cow::Borrowed(record.extra(index)?),
            Self::StatusClass => {
                let class = status_class(record.text(Field::Status)?);
                Cow::Borrowed(STATUS_CLASSES[class].as_bytes())
            }
            Self::Field(field) => match field.kind() {
                ColumnKind::Text if field == Field::Client => common_spelling(record.text(field)?),
                ColumnKind::Text => Cow::Borrowed(record.text(field)?),
                ColumnKind::Time => Cow::Owned(format_rfc3339(record.time?).into_bytes()),
                ColumnKind::Number(unit) => {
                    let (mut text, number) = (Vec::new(), record.number(field)?);
                    match unit {
                        Unit::Nanoseconds => push_seconds(&mut text, number),
                        Unit::Bytes | Unit::Count => push_decimal(&mut text, number),
                    }
                    Cow::Owned(text)
                }
            },
        })
    }

    /// The bytes of a text field as they were logged; `None` for other kinds.
    pub(crate) fn text<'a>(self, record: &Record<'a>) -> Option<&'a [u8]> {
        match self {
            Self::Field(field) => record.text(field),
            Self::Extra(index) => record.extra(index),
            Self::StatusClass => None,
        }
    }

    /// Whether the values are decimal numbers.
    ///
    /// In the text form of [`Self::value`], so that JSON and CSV can write them without quotes.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Field(field) if Field::NUMBERS.contains(&field))
    }
}

/// The fields that a database of addresses adds.
const PLACES: [&str; 4] = ["country", "city", "asn", "asn_name"];

impl fmt::Display for UnknownField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, fields } = self;
        let instead = names_instead(name, fields, "it has");
        let hint = if PLACES.contains(&name.as_str()) { ", which --geoip FILE adds" } else { "" };
        write!(formatter, "the log has no field `{name}`{hint}; {instead}")
    }
}

impl std::error::Error for UnknownField {}
