//! Delivers the heads of HTTP/1 requests to hyper, each on its own, and percent-encodes the bytes of
//! their queries that hyper refuses.
//!
//! `"`, `<` and `>` must be percent-encoded in a query (RFC 3986 section 3.4), but `curl
//! 'http://host/query?query=up{job="x"}'` sends them as they are, and nginx passes them on. hyper
//! answers 400. So they are encoded before hyper sees them, which changes the bytes of a request,
//! and with them its length. This is safe only in a head: a body whose length changes would end at
//! another place than its sender says. Therefore:
//!
//! - A head is scanned only if it is certain that hyper expects one: at the beginning of a
//!   connection, and after a request whose body has ended.
//! - Where a head ends is decided as httparse does, by its first empty line. What follows is held
//!   back until hyper has parsed the head, so hyper itself says whether a body follows, and how long
//!   it is. If hyper expects more of a head that seems complete, nothing is changed any more.
//! - A chunked body ends where [`ChunkedPlace`] finds its end, as hyper does.
//! - hyper gets a head only after the answer to the request before it is written. It would write the
//!   refusal of a head into an answer that waits in its buffer: one to a request whose body ends after
//!   its answer has begun (`Conn::on_parse_error` of hyper 1.12 looks at its state, not at its buffer).
//! - Only bytes between `?` and the next space of the request line are changed, to three bytes that
//!   the client could have sent itself. Paths stay as they are, because routes depend on them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};

use crate::chunked::ChunkedPlace;
use crate::framing::Framing;
use crate::idle::Activity;

/// The part of a request to which the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The request line, or an empty line before it.
    RequestLine(Place),
    /// The header fields.
    Fields,
    /// The head is complete, and hyper decides what follows.
    Decision,
    /// This many bytes of a body.
    Body(u64),
    /// A chunked body.
    Chunked(ChunkedPlace),
    /// Nothing is scanned any more.
    Unknown,
}

/// A place in a request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Method,
    Path,
    Query,
    AfterQuery,
}

/// The bytes of the current line so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Empty,
    CarriageReturn,
    Text,
}

impl Line {
    /// The line after more bytes, without a line feed.
    fn with(self, bytes: &[u8]) -> Self {
        match (self, bytes) {
            (line, []) => line,
            (Self::Empty, [b'\r']) => Self::CarriageReturn,
            _ => Self::Text,
        }
    }
}

/// Cuts the bytes of a connection into heads and bodies.
#[derive(Debug)]
pub(crate) struct HeadCutter {
    part: Part,
    line: Line,
    /// Whether hyper waits for a head that is held back.
    is_blocked: bool,
    /// Bytes that hyper does not have yet. Few connections have any.
    held: Option<Box<HeldBytes>>,
}

/// Bytes that were received, but not delivered.
#[derive(Debug, Default)]
struct HeldBytes {
    /// The first ones, which are scanned.
    scanned: BytesMut,
    /// Those after them, as they were received.
    received: BytesMut,
}

/// The result of scanning some bytes up to the end of a part.
struct Scan {
    bytes: usize,
    /// What hyper gets in place of these bytes, if it is not the same.
    replacement: Option<BytesMut>,
}

impl Default for HeadCutter {
    fn default() -> Self {
        let part = Part::RequestLine(Place::Method);
        Self { part, line: Line::Empty, is_blocked: false, held: None }
    }
}

impl HeadCutter {
    /// A cutter that changes nothing, for other protocols.
    pub(crate) fn off() -> Self {
        Self { part: Part::Unknown, ..Self::default() }
    }

    /// Whether the bytes that were read last are those of a body.
    pub(crate) fn is_in_body(&self) -> bool {
        matches!(self.part, Part::Body(_) | Part::Chunked(_))
    }

    /// Whether the next byte is the first of a head.
    fn is_before_head(&self) -> bool {
        (self.part, self.line) == (Part::RequestLine(Place::Method), Line::Empty)
    }

    /// Whether hyper has to ask once more, because all answers are written. It is told so once.
    pub(crate) fn take_unblocked(&mut self, activity: &Activity) -> bool {
        let is_unblocked = self.is_blocked && !activity.has_unwritten_response();
        self.is_blocked &= !is_unblocked;
        is_unblocked
    }

    /// Reads from a stream into the buffer of hyper.
    pub(crate) fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut S,
        activity: &Activity,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.held.as_ref().is_none_or(|held| held.scanned.is_empty()) {
            self.settle(activity);
            self.is_blocked = self.is_before_head() && activity.has_unwritten_response();
            if self.is_blocked {
                return Poll::Pending;
            }
        }
        if let Some(held) = self.held.take() {
            self.deliver(held, buffer);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(stream).poll_read(context, buffer))?;
        let received = buffer.filled().get(before..).unwrap_or_default();
        let Scan { bytes, replacement } = self.scan(received);
        if bytes == received.len() && replacement.is_none() {
            return Poll::Ready(Ok(()));
        }
        let is_changed = replacement.is_some();
        let scanned = replacement.unwrap_or_default();
        let held = HeldBytes { scanned, received: BytesMut::from(&received[bytes..]) };
        match is_changed {
            false => {
                buffer.set_filled(before + bytes);
                self.held = Some(Box::new(held));
            }
            true => {
                buffer.set_filled(before);
                self.deliver(Box::new(held), buffer);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Decides what the next bytes are, before hyper gets them.
    fn settle(&mut self, activity: &Activity) {
        if self.part != Part::Unknown && activity.is_upgraded() {
            self.part = Part::Unknown;
        }
        let is_head_next = match self.part {
            Part::Decision => match activity.take_framing() {
                Some(Framing::Empty | Framing::Length(0)) => true,
                Some(Framing::Length(bytes)) => return self.part = Part::Body(bytes),
                Some(Framing::Chunked) => return self.part = Part::Chunked(ChunkedPlace::BEGIN),
                None => return self.part = Part::Unknown,
            },
            Part::Body(0) | Part::Chunked(ChunkedPlace::End) => true,
            _ => false,
        };
        if is_head_next {
            (self.part, self.line) = (Part::RequestLine(Place::Method), Line::Empty);
        }
    }

    /// Moves held bytes into the buffer of hyper, as many as have room.
    fn deliver(&mut self, mut held: Box<HeldBytes>, buffer: &mut ReadBuf<'_>) {
        if held.scanned.is_empty() {
            let scan = self.scan(&held.received);
            let scanned = held.received.split_to(scan.bytes);
            held.scanned = scan.replacement.unwrap_or(scanned);
        }
        let bytes = held.scanned.len().min(buffer.remaining());
        buffer.put_slice(&held.scanned.split_to(bytes));
        self.held = Some(held).filter(|it| !it.scanned.is_empty() || !it.received.is_empty());
    }

    /// Scans the next bytes, up to the end of the part that may be delivered.
    fn scan(&mut self, bytes: &[u8]) -> Scan {
        let all = Scan { bytes: bytes.len(), replacement: None };
        match &mut self.part {
            Part::Body(left) => {
                let bytes = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= bytes as u64;
                Scan { bytes, ..all }
            }
            Part::Chunked(place) => Scan { bytes: place.advance(bytes), ..all },
            Part::Decision | Part::Unknown => all,
            Part::RequestLine(_) | Part::Fields => self.scan_head(bytes),
        }
    }

    fn scan_head(&mut self, bytes: &[u8]) -> Scan {
        let (mut position, mut replacement) = (0, None::<(BytesMut, usize)>);
        while let Some(rest) = bytes.get(position..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest);
            let text = &rest[..end.unwrap_or(rest.len())];
            if let Part::RequestLine(place) = self.part {
                let (place, encoded) = encode_query(place, text, end.is_some());
                self.part = Part::RequestLine(place);
                if let Some(encoded) = encoded {
                    // There is one request line, so what came before it are empty lines.
                    let mut changed = BytesMut::from(&bytes[..position]);
                    changed.extend_from_slice(&encoded);
                    replacement = Some((changed, position + text.len()));
                }
            }
            self.line = self.line.with(text);
            position += text.len();
            if end.is_none() {
                break;
            }
            position += 1;
            let is_empty = std::mem::replace(&mut self.line, Line::Empty) != Line::Text;
            match self.part {
                Part::RequestLine(_) if !is_empty => self.part = Part::Fields,
                Part::Fields if is_empty => {
                    self.part = Part::Decision;
                    break;
                }
                _ => {}
            }
        }
        let replacement = replacement.map(|(mut changed, from)| {
            changed.extend_from_slice(&bytes[from..position]);
            changed
        });
        Scan { bytes: position, replacement }
    }
}

/// Percent-encodes the bytes of a query that hyper refuses. `text` is a part of a request line that
/// begins at `place`; `is_whole` says that the line ends with it. Returns the place after it, and the
/// text if it has changed.
fn encode_query(mut place: Place, text: &[u8], is_whole: bool) -> (Place, Option<Vec<u8>>) {
    let first = memchr::memchr3(b'"', b'<', b'>', text);
    if first.is_none() && is_whole && place == Place::Method {
        return (place, None);
    }
    let mut encoded = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        place = match (place, byte) {
            (Place::Method, b' ') => Place::Path,
            (Place::Path, b'?') => Place::Query,
            (Place::Path | Place::Query, b' ' | b'#') => Place::AfterQuery,
            _ => place,
        };
        let code = match byte {
            b'"' => "%22",
            b'<' => "%3C",
            b'>' => "%3E",
            _ => "",
        };
        if place == Place::Query && !code.is_empty() {
            if encoded.is_empty() {
                encoded.extend_from_slice(&text[..index]);
            }
            encoded.extend_from_slice(code.as_bytes());
        } else if !encoded.is_empty() {
            encoded.push(*byte);
        }
    }
    (place, Some(encoded).filter(|encoded| !encoded.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::{Place, encode_query};

    #[test]
    fn only_the_query_of_a_request_line_is_encoded() {
        for (line, expected) in [
            ("GET / HTTP/1.1\r", None),
            ("GET /?a=b HTTP/1.1\r", None),
            ("GET /?a=\"b\" HTTP/1.1\r", Some("GET /?a=%22b%22 HTTP/1.1\r")),
            ("GET /?<\"> HTTP/1.1\r", Some("GET /?%3C%22%3E HTTP/1.1\r")),
            ("GET /?\"?\" HTTP/1.1", Some("GET /?%22?%22 HTTP/1.1")),
            ("GET http://a/?\" HTTP/1.1", Some("GET http://a/?%22 HTTP/1.1")),
            ("GET /\"<> HTTP/1.1", None),
            ("GET /<?a HTTP/1.1", None),
            ("GET /<?> HTTP/1.1", Some("GET /<?%3E HTTP/1.1")),
            ("GET /#?\" HTTP/1.1", None),
            ("GET /?a#\" HTTP/1.1", None),
            ("GET /?a \" HTTP/1.1", None),
            ("GET?\" /?a HTTP/1.1", None),
            ("\"?\"", None),
            ("\r", None),
        ] {
            let whole = encode_query(Place::Method, line.as_bytes(), true).1;
            assert_eq!(whole.as_deref(), expected.map(str::as_bytes), "{line}");
            for cut in 0..line.len() {
                let (first, rest) = line.as_bytes().split_at(cut);
                let (place, before) = encode_query(Place::Method, first, false);
                let after = encode_query(place, rest, true).1;
                let mut joined = before.unwrap_or_else(|| first.to_vec());
                joined.extend(after.unwrap_or_else(|| rest.to_vec()));
                let joined = String::from_utf8(joined).unwrap();
                assert_eq!(joined, expected.unwrap_or(line), "{line} cut at {cut}");
            }
        }
    }
}
