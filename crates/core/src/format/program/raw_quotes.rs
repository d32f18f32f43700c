//! Lines of servers that do not escape quotes in the request and in texts.
//!
//! ```text
//! ... "GET /a?t=<script>alert("x")</script> HTTP/1.0" 404 1164 "-" "an "agent" with quotes"
//!     `- request: up to the quote before status and size ---'
//! ```
//!
//! Old versions of Apache, IIS ARR and some CDNs write such lines. A client chooses the request and
//! the texts, so it can also send what looks like the end of a value. A line is read only if there is
//! one way to read it; otherwise it stays unparsed, which is better than a wrong value:
//!
//! - The request ends at a quote that a status and a size follow. There may be only one such place.
//! - The texts after the size are separated by `" "` at as many places as the definition has. If they
//!   are well-formed as more values than that, they belong to another format.
//! - A line with `\"` is from a server that escapes. One with a second `HTTP/`, or with the junction
//!   of a time and a request inside a value, consists of torn lines.
//!
//! The work is linear in the length of the line.

use memchr::memmem;

use super::line_program::{End, LineProgram};
use super::sink::{LineState, Sink};
use super::tail::{Quote, TailValues};
use crate::record::Record;
use crate::value::RequestLine;

/// How lines with raw quotes are read, if the values of a program end with a request line in quotes,
/// a status, a size, and texts in quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawQuotes {
    /// The index of the request among the values.
    request: usize,
    /// The number of texts after the size.
    texts: usize,
}

impl RawQuotes {
    /// `None` if the values are others.
    pub(super) fn of(program: &LineProgram) -> Option<Self> {
        let values = &program.values;
        let request = values.iter().position(|value| value.sink == Sink::RequestLine)?;
        let [line, status, bytes, texts @ ..] = &values[request..] else { return None };
        let ends_at = |end: &End, text: &[u8]| match end {
            End::Quote(end) | End::Text(end) | End::Word(end) => **end == *text,
            End::Byte(byte) => text == [*byte],
            End::Line => text.is_empty(),
            _ => false,
        };
        let last = texts.len().saturating_sub(1);
        let are_texts = texts.iter().enumerate().all(|(index, value)| {
            let end: &[u8] = if index == last { b"\"" } else { b"\" \"" };
            matches!(value.sink, Sink::Text(_) | Sink::Extra(_)) && ends_at(&value.end, end)
        });
        let has_parts = values[..request].iter().any(|value| {
            matches!(value.sink, Sink::RequestTimePart { .. } | Sink::UpstreamTimePart { .. })
        });
        let is_usual = line.end == End::Quote((*b"\" ").into())
            && status.sink == Sink::Status
            && ends_at(&status.end, b" ")
            && bytes.sink == Sink::Bytes
            && ends_at(&bytes.end, if texts.is_empty() { b"" } else { b" \"" });
        (is_usual && are_texts && !has_parts).then_some(Self { request, texts: texts.len() })
    }

    /// Reads a line that `program` does not match, and that has begun to fill the record.
    #[cold]
    pub(super) fn read<'a>(
        self,
        program: &LineProgram,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Option<()> {
        let usual = 2 + 2 * self.texts;
        if memchr::memchr_iter(b'"', line).count() <= usual || memmem::find(line, b"\\\"").is_some()
        {
            return None;
        }
        let start = program.read_up_to(self.request, line, record, state).ok()?;
        let (end, size) = self.request_end(line, start)?;
        let texts = self.texts(line, size)?;
        record.clear_request();
        let rest = &line[end + 2..size];
        let (status, bytes) = (rest.get(..3)?, rest.get(4..)?);
        let values = [&line[start..end], status, bytes].into_iter().chain(texts);
        for (value, text) in program.values[self.request..].iter().zip(values) {
            value.sink.store(text, record, state)?;
        }
        Some(())
    }

    /// The end of the request that begins at `start`, and that of the size after it, if only one place
    /// can be the end.
    fn request_end(self, line: &[u8], start: usize) -> Option<(usize, usize)> {
        let places = memmem::find_iter(&line[start..], b"\" ").map(|length| start + length);
        let mut ends = places.filter_map(|end| Some((end, size_end(line, end + 2)?)));
        let (end, size) = ends.next().filter(|_| ends.next().is_none())?;
        let request = &line[start..end];
        let is_request = match RequestLine::parse(request) {
            Some(request) => is_one_value(request.target),
            None => {
                is_one_value(request)
                    && memmem::find(request, b"\" ").is_none()
                    && memmem::find(request, b" \"").is_none()
            }
        };
        is_request.then_some((end, size))
    }

    /// The texts after the size, which ends at `at`, without their outer quotes.
    fn texts(self, line: &[u8], at: usize) -> Option<Vec<&[u8]>> {
        let rest = &line[at..];
        if self.texts == 0 {
            return rest.is_empty().then(Vec::new);
        }
        let inside = rest.strip_prefix(b" \"")?.strip_suffix(b"\"")?;
        let is_open = |quote, text: &[u8]| quote == Quote::None && text.contains(&b'"');
        let values: Vec<_> = TailValues::new(line, at)?.take(self.texts + 1).collect();
        let are_more = values.len() > self.texts
            && !TailValues::new(line, at)?.any(|value| is_open(value.quote, value.text));
        // Separators that overlap can be read in two ways: one text more than the definition has.
        let separators = inside.windows(3).enumerate().filter(|(_, text)| *text == b"\" \"");
        let mut texts = Vec::with_capacity(self.texts);
        let mut from = 0;
        for (separator, _) in separators.take(self.texts) {
            texts.push(inside.get(from..separator)?);
            from = separator + 3;
        }
        texts.push(inside.get(from..)?);
        let are_whole = texts.iter().all(|text| is_one_value(text));
        (texts.len() == self.texts && !are_more && are_whole).then_some(texts)
    }
}

/// The end of the size after a status at `at`, at a blank or the end of the line.
fn size_end(line: &[u8], at: usize) -> Option<usize> {
    let [a, b, c, b' ', size @ ..] = &line[at..] else { return None };
    let digits = size.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = if size.first() == Some(&b'-') { 1 } else { digits };
    let is_status = [a, b, c].into_iter().all(u8::is_ascii_digit);
    let is_end = size.get(length).is_none_or(|byte| *byte == b' ');
    (is_status && length > 0 && is_end).then_some(at + 4 + length)
}

/// Whether a text can be one value, and not the rest of a torn line and another line.
fn is_one_value(text: &[u8]) -> bool {
    memmem::find(text, b"] \"").is_none() && memmem::find(text, b" HTTP/").is_none()
}
