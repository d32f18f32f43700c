//! A record: the borrowed fields of one line, and access to them by name.
//!
//! A [`Record`] is the meeting point of two halves of the crate: the programs of the formats fill
//! it, and a block's columns, a predicate or a [`FieldAccessor`] read it. It holds slices of the
//! line and numbers that are already parsed, so it must not outlive the line, and costs no
//! allocation.
//!
//! The known fields are arrays with an element for each [`Field`], the fields that a format adds
//! are a list in the format's order. Setting a field that a line has twice replaces the first
//! value.
//!
//! A reader that stores path and query for each distinct request target asks for the target as a
//! whole (`keeps_target`), and so splits each target once instead of once for each line. Then
//! `target` is set, and the path and the query are not.

mod accessor;
mod fields;

pub use accessor::{FieldAccessor, UnknownField};
pub use fields::RecordFields;

use crate::field::Field;
use crate::value::{RequestLine, Timestamp, split_port, split_target, split_url};

/// The fields of one line, borrowed from its bytes, or decoded from them.
///
/// A record is created once and filled again for every line, so that parsing a line allocates
/// nothing. A field that the line does not have is `None`; a field that is logged as `-` or as an
/// empty string is `Some(b"-")` or `Some(b"")`.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Field, Format, LineParser, Record};
///
/// let format = Format::parse(r#"$remote_addr "$request" $status $http_x_trace"#)?;
/// let mut parser = LineParser::new(Arc::new(format));
/// let mut record = Record::new();
/// parser.parse(b"192.0.2.7 \"GET /a?b HTTP/1.1\" 404 -", &mut record).unwrap();
/// assert_eq!(record.text(Field::Path), Some(&b"/a"[..]));
/// assert_eq!(record.text(Field::Query), Some(&b"b"[..]));
/// assert_eq!(record.text(Field::User), None);
/// assert_eq!(record.extra(0), Some(&b"-"[..]));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Empty and absent
///
/// nginx and Apache write `-` for a field without a value. A text field keeps the `-`, because that
/// may be the value itself. As a number or a time it is absent.
///
/// # Memory
///
/// About 400 bytes on the stack and one allocation for the format's own fields, made when the first
/// line is parsed.
#[derive(Debug, Clone, Default)]
pub struct Record<'a> {
    /// When it was logged; `None` if the line has no time.
    ///
    /// The instant is in nanoseconds since 1970, with the zone offset of the log.
    pub time: Option<Timestamp>,
    /// By [`Field::number_index`], in the unit of the field's kind.
    numbers: [Option<u64>; Field::NUMBERS.len()],
    /// The request target, if it was kept whole instead of being split into path and query.
    pub(crate) target: Option<&'a [u8]>,
    text: [Option<&'a [u8]>; Field::TEXT.len()],
    /// The format's own fields, in the order of [`crate::Format::extra_fields`].
    extra: Vec<Option<&'a [u8]>>,
}

impl<'a> Record<'a> {
    /// An empty record.
    ///
    /// It has no fields until a [`crate::LineParser`] fills it.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty record with room for so many fields of its own, for a program that fills it itself;
    /// see [`crate::RecordLayout`].
    pub fn with_extra_fields(extra_fields: usize) -> Self {
        let mut record = Self::default();
        record.clear(extra_fields);
        record
    }

    /// Empties the record for the next line of a format with `extra_fields` fields of its
    /// own.
    pub(crate) fn clear(&mut self, extra_fields: usize) {
        self.time = None;
        self.numbers = [None; Field::NUMBERS.len()];
        self.target = None;
        self.text = [None; Field::TEXT.len()];
        self.extra.clear();
        self.extra.resize(extra_fields, None);
    }

    /// The value of a number field, in the unit of [`Field::kind`]; `None` if the line has none,
    /// and for fields of another kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Field, Format, LineParser, Record};
    ///
    /// let format = Arc::new(Format::parse("%h %b %D")?);
    /// let mut record = Record::new();
    /// LineParser::new(format).parse(b"::1 - 1500", &mut record).unwrap();
    /// assert_eq!(record.number(Field::Bytes), None);
    /// assert_eq!(record.number(Field::RequestTime), Some(1_500_000)); // nanoseconds
    /// assert_eq!(record.number(Field::Client), None);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    #[inline]
    pub fn number(&self, field: Field) -> Option<u64> {
        field.number_index().and_then(|index| self.numbers[index])
    }

    /// The value of the number field at this position in [`Field::NUMBERS`].
    #[inline]
    pub(crate) fn number_at(&self, index: usize) -> Option<u64> {
        self.numbers[index]
    }

    /// Sets a number field, in the unit of [`Field::kind`].
    #[inline]
    pub fn set_number(&mut self, field: Field, value: Option<u64>) {
        if let Some(index) = field.number_index() {
            self.numbers[index] = value;
        }
    }

    /// The bytes of a text field; `None` if the line has none, and for fields of another kind.
    ///
    /// The slice borrows from the line or the decoded values, not from the record, so it may be
    /// used after the record is filled again.
    pub fn text(&self, field: Field) -> Option<&'a [u8]> {
        field.text_index().and_then(|index| self.text[index])
    }

    /// The bytes of the text column `index`, the format's own fields after the known ones.
    ///
    /// # Panics
    /// If the format has fewer columns.
    pub(crate) fn text_at(&self, index: usize) -> Option<&'a [u8]> {
        match index.checked_sub(Field::TEXT.len()) {
            None => self.text[index],
            Some(extra) => self.extra[extra],
        }
    }

    /// The bytes of the format's own field `index`.
    ///
    /// By the position in [`crate::Format::extra_fields`]; `None` if the line lacks the field or
    /// the format has fewer.
    pub fn extra(&self, index: usize) -> Option<&'a [u8]> {
        self.extra.get(index).copied().flatten()
    }

    /// Sets a text field. Fields of another kind are ignored.
    pub(crate) fn set_text(&mut self, field: Field, value: &'a [u8]) {
        if let Some(index) = field.text_index() {
            self.text[index] = Some(value);
        }
    }

    /// Sets a text field, or makes it absent. Fields of another kind are ignored.
    #[inline]
    pub fn put_text(&mut self, field: Field, value: Option<&'a [u8]>) {
        if let Some(index) = field.text_index() {
            self.text[index] = value;
        }
    }

    /// Sets all fields of a request line. A text that is not a valid request line becomes the field
    /// `request`, unchanged.
    ///
    /// The text is method, target and protocol, separated by spaces; see [`RequestLine`].
    #[inline]
    pub(crate) fn set_request_line(&mut self, value: &'a [u8], keeps_target: bool) {
        match RequestLine::parse(value) {
            Some(line) => self.put_request_line(line, keeps_target),
            None => self.set_unusual_request_line(value, keeps_target),
        }
    }

    #[inline]
    fn put_request_line(&mut self, line: RequestLine<'a>, keeps_target: bool) {
        self.put_text(Field::Method, Some(line.method));
        let has_protocol = !line.protocol.is_empty();
        self.put_text(Field::Protocol, if has_protocol { Some(line.protocol) } else { None });
        self.put_text(Field::Request, None);
        self.set_target(line.target, keeps_target);
    }

    /// Reads a request line that has colours around it. Any other text is a malformed request.
    #[cold]
    fn set_unusual_request_line(&mut self, value: &'a [u8], keeps_target: bool) {
        if let Some(line) = uncoloured(value).and_then(RequestLine::parse) {
            return self.put_request_line(line, keeps_target);
        }
        self.put_text(Field::Method, None);
        self.put_text(Field::Protocol, None);
        self.put_text(Field::Request, Some(value));
        self.target = None;
    }

    /// Makes the parts of the request line absent.
    pub(crate) fn clear_request(&mut self) {
        for field in [Field::Method, Field::Path, Field::Query, Field::Protocol, Field::Request] {
            self.put_text(field, None);
        }
        self.target = None;
    }

    /// Sets path and query, or keeps the target whole.
    #[inline]
    pub(crate) fn set_target(&mut self, value: &'a [u8], keeps_target: bool) {
        if keeps_target {
            self.target = Some(value);
            return;
        }
        let (path, query) = split_target(value);
        self.set_text(Field::Path, path);
        if let Some(query) = query {
            self.set_text(Field::Query, query);
        }
    }

    /// As [`Self::set_request_line`], for a target that may be a URL, or the host and port of
    /// `CONNECT`.
    pub(crate) fn set_url_request_line(&mut self, value: &'a [u8], keeps_target: bool) {
        self.set_request_line(value, keeps_target);
        match RequestLine::parse(value) {
            Some(line) if line.method == b"CONNECT" => {
                self.set_text(Field::Host, split_port(line.target).0);
            }
            Some(line) => self.set_url(line.target, keeps_target),
            None => {}
        }
    }

    /// Sets path and query, and the host if the target is a URL.
    pub(crate) fn set_url(&mut self, value: &'a [u8], keeps_target: bool) {
        match split_url(value) {
            Some((host, target)) => {
                self.set_text(Field::Host, host);
                self.set_target(target, keeps_target);
            }
            None => self.set_target(value, keeps_target),
        }
    }

    /// Replaces every text of the record.
    pub(crate) fn replace_texts(&mut self, mut replace: impl FnMut(&'a [u8]) -> Option<&'a [u8]>) {
        let texts = self.text.iter_mut().chain(&mut self.extra);
        for text in texts.chain(std::iter::once(&mut self.target)) {
            *text = text.and_then(&mut replace);
        }
    }

    /// Sets the format's own field `index`, or makes it absent.
    pub(crate) fn put_extra(&mut self, index: usize, value: Option<&'a [u8]>) {
        if let Some(extra) = self.extra.get_mut(index) {
            *extra = value;
        }
    }

    /// Sets the format's own field `index`. An index beyond the format's fields is ignored.
    pub fn set_extra(&mut self, index: usize, value: &'a [u8]) {
        if let Some(extra) = self.extra.get_mut(index) {
            *extra = Some(value);
        }
    }
}
/// The text between the colours of a terminal, with which Werkzeug marks requests by their status.
#[cold]
fn uncoloured(value: &[u8]) -> Option<&[u8]> {
    let start = memchr::memchr(b'm', value.strip_prefix(b"\x1b[")?)? + 3;
    value.get(start..)?.strip_suffix(b"\x1b[0m")
}
