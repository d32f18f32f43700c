//! Requests that the server refuses before its handler sees them: their heads are malformed, too
//! large, or late.
//!
//! hyper answers most of them itself, with a status and no text. The connection replaces that answer
//! when hyper writes it, and reports the refusal, so that no client is refused without a trace.

use std::fmt;
use std::io::{self, IoSlice};
use std::sync::Arc;

use hyper::{Request, StatusCode};

use crate::refusal::LATE_HEAD_TEXT;
use crate::socket::{ConnectionEnd, Peer};

/// Why the head of a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadProblem {
    /// It is not HTTP, or its first line or one of its fields is malformed.
    Malformed,
    /// It is larger than [`header_bytes_max`](crate::ServeOptions::header_bytes_max), or has more
    /// fields than [`headers_max`](crate::ServeOptions::headers_max).
    TooLarge,
    /// Its target is longer than a `Uri` can be.
    TargetTooLong,
    /// It has a transfer coding other than a single `chunked`.
    UnknownCoding,
    /// It did not arrive in time.
    Late,
}

impl HeadProblem {
    /// Returns the name for programs, which never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_head",
            Self::TooLarge => "head_too_large",
            Self::TargetTooLong => "target_too_long",
            Self::UnknownCoding => "unknown_coding",
            Self::Late => "late_head",
        }
    }

    /// Returns the status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
            Self::Late => StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// The reason for which the connection ends, if it ends for this one.
    pub(crate) fn connection_end(self) -> Option<ConnectionEnd> {
        match self {
            Self::Malformed => Some(ConnectionEnd::MalformedHead),
            Self::TooLarge => Some(ConnectionEnd::HeadTooLarge),
            Self::TargetTooLong => Some(ConnectionEnd::TargetTooLong),
            // A late head is counted as `NoRequest`.
            Self::UnknownCoding | Self::Late => None,
        }
    }

    /// The text of the answer over HTTP/1.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Malformed => {
                "the request is not valid HTTP/1.1: its first line or one of its header fields is \
                 malformed\n"
            }
            Self::TooLarge => {
                "the head of the request is too large: it has too many bytes or too many header \
                 fields; send fewer or shorter fields, for instance cookies\n"
            }
            Self::TargetTooLong => {
                "the target of the request is too long; send long data in a body\n"
            }
            Self::UnknownCoding => {
                "the request has a transfer coding other than a single `chunked`; send the body \
                 with `chunked`, or with `Content-Length`\n"
            }
            Self::Late => LATE_HEAD_TEXT,
        }
    }

    /// The problem for which hyper writes an answer of its own.
    fn of_answer(head: &[u8]) -> Option<Self> {
        match head.strip_prefix(b"HTTP/1.1 ")?.get(..4)? {
            b"400 " => Some(Self::Malformed),
            b"414 " => Some(Self::TargetTooLong),
            b"431 " => Some(Self::TooLarge),
            _ => None,
        }
    }
}

/// The refusal of a request that the handler of a server does not see.
#[derive(Clone, Copy, Debug)]
pub struct HeadRefusal<'a> {
    /// The other end of the connection.
    pub peer: Peer,
    /// Why the request was refused.
    pub problem: HeadProblem,
    /// The size of the answer's body in bytes.
    pub bytes: usize,
    /// The request, if its head could be read.
    pub request: Option<&'a Request<()>>,
}

type ObserveFn = dyn Fn(HeadRefusal<'_>) + Send + Sync;

/// What happens when a server refuses a request that its handler does not see; by default nothing.
#[derive(Clone, Default)]
pub struct RefusalObserver(Option<Arc<ObserveFn>>);

impl RefusalObserver {
    /// Creates an observer that calls a function. The connection waits for it, so it must be fast.
    pub fn new(observe: impl Fn(HeadRefusal<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(crate) fn observe(&self, refusal: HeadRefusal<'_>) {
        if let Some(observe) = &self.0 {
            observe(refusal);
        }
    }
}

impl fmt::Debug for RefusalObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RefusalObserver").field(&self.0.is_some()).finish()
    }
}

/// An answer of hyper's own, which is sent with a text.
#[derive(Debug)]
pub(crate) struct TextedAnswer {
    pub(crate) problem: HeadProblem,
    bytes: Vec<u8>,
    sent: usize,
    /// The size of hyper's answer, which hyper expects to be written.
    replaced_bytes: usize,
}

impl TextedAnswer {
    /// Adds a text to an answer of hyper's. Returns `None` if the bytes are not a whole answer of
    /// this kind. Call it only if no request is in progress, because a handler may send such a head
    /// too.
    pub(crate) fn new(slices: &[IoSlice<'_>]) -> Option<Self> {
        let problem = HeadProblem::of_answer(slices.iter().find(|slice| !slice.is_empty())?)?;
        let answer = slices.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<_>>();
        let head = std::str::from_utf8(&answer).ok()?.strip_suffix("\r\n\r\n")?;
        let text = problem.text();
        let mut bytes = Vec::with_capacity(head.len() + text.len() + 128);
        for line in head.split("\r\n").filter(|line| !line.starts_with("content-length:")) {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        let fields = format!(
            "content-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        bytes.extend_from_slice(fields.as_bytes());
        Some(Self { problem, bytes, sent: 0, replaced_bytes: answer.len() })
    }

    /// The bytes that are not sent yet.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// Notes that bytes were sent. When all are, returns the size of the answer that they replace.
    pub(crate) fn advance(&mut self, bytes: usize) -> io::Result<Option<usize>> {
        if bytes == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.sent += bytes;
        Ok(self.rest().is_empty().then_some(self.replaced_bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::{HeadProblem, TextedAnswer};

    #[test]
    fn only_whole_answers_of_hyper_get_a_text() {
        for (answer, expected) in [
            (
                "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: x\r\n\r\n",
                Some(HeadProblem::Malformed),
            ),
            (
                "HTTP/1.1 414 URI Too Long\r\ncontent-length: 0\r\n\r\n",
                Some(HeadProblem::TargetTooLong),
            ),
            ("HTTP/1.1 431 X\r\ncontent-length: 0\r\n\r\n", Some(HeadProblem::TooLarge)),
            ("HTTP/1.1 404 Not Found\r\n\r\n", None),
            ("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n", None),
            ("HTTP/1.1 100 Continue\r\n\r\n", None),
            ("HTTP/1.1 4", None),
            ("", None),
        ] {
            for cut in 0..answer.len().min(12) {
                let (one, other) = answer.as_bytes().split_at(cut);
                let whole = [IoSlice::new(&[]), IoSlice::new(answer.as_bytes())];
                assert_eq!(TextedAnswer::new(&whole).map(|it| it.problem), expected, "{answer}");
                // hyper writes its head as one slice. Any other form is left as it is.
                let texted = TextedAnswer::new(&[IoSlice::new(one), IoSlice::new(other)]);
                assert!(texted.is_none_or(|it| Some(it.problem) == expected), "{answer}");
            }
        }
    }

    #[test]
    fn the_text_has_its_length_and_the_other_fields_stay() {
        let answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let mut texted = TextedAnswer::new(&[IoSlice::new(answer)]).unwrap();
        let sent = String::from_utf8(texted.rest().to_vec()).unwrap();
        let (head, text) = sent.split_once("\r\n\r\n").unwrap();
        assert_eq!(text, HeadProblem::Malformed.text());
        assert!(head.contains(&format!("\r\ncontent-length: {}", text.len())), "{head}");
        assert!(head.contains("\r\nconnection: close\r\ndate: x\r\n"), "{head}");
        assert_eq!(texted.advance(10).unwrap(), None);
        assert_eq!(texted.advance(texted.rest().len()).unwrap(), Some(answer.len()));
        assert!(texted.advance(0).is_err());
    }
}
