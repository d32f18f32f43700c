//! Where a value of a line ends.

use std::sync::Arc;

use memchr::{memchr, memmem};

use super::needs::ByteSet;
use super::request_end::RequestEnd;
use super::sink::Sink;
use crate::line::short_memchr;
use crate::value::{CLF_LENGTH, Strftime, TimeKind, parse_clf_variant};

/// How to find the end of a value, and the text after it, which is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) enum End {
    /// At the first such byte.
    Byte(u8),
    /// At the first such text, which has two bytes or more.
    Text(Box<[u8]>),
    /// At the first space, where this text must begin.
    Word(Box<[u8]>),
    /// At the first such text that is not the separator of a list, `, ` or nginx's ` : `. The text
    /// begins with a space or a comma.
    List(Box<[u8]>),
    /// At the first such text that a status follows, a number of three digits.
    TextBeforeStatus(Box<[u8]>),
    /// At the last such text that a whole number and a space follow.
    TextBeforeNumber(Box<[u8]>),
    /// At the first such text that a common log format time follows. A user name may contain the
    /// text: the client chooses it, and must not be able to make the line unreadable.
    TextBeforeTime(Box<[u8]>),
    /// After a request line without quotes.
    Request(RequestEnd),
    /// At the first unescaped quote, where this text, which begins with the quote, must begin.
    Quote(Box<[u8]>),
    /// After a time of the common log format, followed by this text.
    ClfTime(Box<[u8]>),
    /// After a time of this pattern, followed by this text.
    Strftime(Arc<Strftime>, Box<[u8]>),
    /// After this many bytes.
    Length(usize),
    /// Before the byte, which belongs to the next value, or before the text that ends a run of
    /// values without text between them, whichever is first.
    Before(u8, Box<[u8]>),
    /// At the first space, or at the end of the line if there is none; the next value begins there.
    FirstWord,
    /// After all spaces that follow, of which there may be none.
    Spaces,
    /// After a `?`, or at once if there is none.
    QuestionMark,
    /// At the end of the line.
    Line,
}

impl End {
    /// The end of the value that starts at `start`, and the start of the next one. The error is
    /// the offset where the line stops matching.
    #[inline]
    pub(super) fn find(&self, line: &[u8], start: usize) -> Result<(usize, usize), usize> {
        let rest = &line[start..];
        match self {
            Self::Byte(byte) => {
                let length = short_memchr(*byte, rest).ok_or(start)?;
                Ok((start + length, start + length + 1))
            }
            Self::Text(text) => {
                let end = start + find_text(rest, text).ok_or(start)?;
                Ok((end, end + text.len()))
            }
            Self::Word(text) => {
                let length = short_memchr(b' ', rest).ok_or(start)?;
                expect(line, start + length, text)
            }
            Self::List(text) => {
                expect(line, find_list_end(line, start, text[0]).ok_or(start)?, text)
            }
            Self::TextBeforeStatus(text) => {
                let end = find_text_before_status(line, start, text).ok_or(start)?;
                Ok((end, end + text.len()))
            }
            Self::TextBeforeNumber(text) => {
                let end = find_text_before_number(line, start, text).ok_or(start)?;
                Ok((end, end + text.len()))
            }
            Self::TextBeforeTime(text) => {
                let end = find_text_before_time(line, start, text).ok_or(start)?;
                Ok((end, end + text.len()))
            }
            Self::Request(request) => {
                let end = request.find(line, start).ok_or(start)?;
                Ok((end, end + request.text.len()))
            }
            Self::Quote(text) => {
                let end = find_quote(line, start).ok_or(line.len())?;
                expect(line, end, text)
            }
            Self::ClfTime(text) => {
                if rest.len() < CLF_LENGTH {
                    return clf_variant_end(line, start, text).ok_or(start);
                }
                expect(line, start + CLF_LENGTH, text)
                    .or_else(|at| clf_variant_end(line, start, text).ok_or(at))
            }
            Self::Strftime(pattern, text) => match pattern.length(rest) {
                Some(length) => expect(line, start + length, text),
                // The value is not a time, wherever it ends.
                None => Ok((line.len(), line.len())),
            },
            Self::Length(length) => {
                let end = line.len().min(start + length);
                Ok((end, end))
            }
            Self::Before(byte, text) => {
                let limit = if text.is_empty() {
                    rest.len()
                } else {
                    find_text(rest, text).ok_or(start)?
                };
                let end = start + memchr(*byte, &rest[..limit]).unwrap_or(limit);
                Ok((end, end))
            }
            Self::FirstWord => {
                let end = start + memchr(b' ', rest).unwrap_or(rest.len());
                Ok((end, end))
            }
            Self::Spaces => {
                let end = start + rest.iter().take_while(|byte| **byte == b' ').count();
                Ok((end, end))
            }
            Self::QuestionMark => {
                let end = start + usize::from(rest.first() == Some(&b'?'));
                Ok((end, end))
            }
            Self::Line => Ok((line.len(), line.len())),
        }
    }

    /// The end of a value whose length does not depend on the text after it.
    pub(in crate::format) fn of_known_length(sink: &Sink) -> Option<Self> {
        let nothing: Box<[u8]> = Box::default();
        Some(match sink {
            Sink::Time(TimeKind::Clf) => Self::ClfTime(nothing),
            Sink::Strftime(pattern) => Self::Strftime(Arc::clone(pattern), nothing),
            // These lengths hold from September 2001 to the year 2286.
            Sink::Time(TimeKind::UnixSeconds) => Self::Length(10),
            Sink::Time(TimeKind::UnixMilliseconds) => Self::Length(13),
            Sink::Time(TimeKind::UnixMicroseconds) => Self::Length(16),
            Sink::Time(TimeKind::FractionMilliseconds) => Self::Length(3),
            Sink::Time(TimeKind::FractionMicroseconds) => Self::Length(6),
            _ => return None,
        })
    }

    /// The characters that a line has after the value.
    pub(super) fn needed_bytes(&self) -> ByteSet {
        match self {
            Self::Byte(byte) => ByteSet::of(&[*byte]),
            Self::Text(text)
            | Self::Word(text)
            | Self::List(text)
            | Self::TextBeforeStatus(text)
            | Self::TextBeforeNumber(text)
            | Self::TextBeforeTime(text)
            | Self::Quote(text)
            | Self::ClfTime(text)
            | Self::Strftime(_, text)
            | Self::Before(_, text) => ByteSet::of(text),
            Self::Request(request) => ByteSet::of(&request.text),
            Self::Length(_) | Self::FirstWord | Self::Spaces | Self::QuestionMark | Self::Line => {
                ByteSet::default()
            }
        }
    }

    /// The text after the value, for messages.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Byte(byte) => char::from(*byte).to_string(),
            Self::Text(text)
            | Self::Word(text)
            | Self::List(text)
            | Self::TextBeforeStatus(text)
            | Self::TextBeforeNumber(text)
            | Self::TextBeforeTime(text)
            | Self::Quote(text)
            | Self::ClfTime(text)
            | Self::Strftime(_, text) => String::from_utf8_lossy(text).into_owned(),
            Self::Before(byte, _) => char::from(*byte).to_string(),
            Self::Request(request) => String::from_utf8_lossy(&request.text).into_owned(),
            Self::QuestionMark => "?".to_owned(),
            Self::Line | Self::Length(_) | Self::Spaces | Self::FirstWord => String::new(),
        }
    }
}

/// Checks that `text` is at `end`, perhaps with more blanks after one of its blanks. Returns `end` and the
/// offset after the text, or the offset of the first byte that differs.
#[inline]
pub(super) fn expect(line: &[u8], end: usize, text: &[u8]) -> Result<(usize, usize), usize> {
    if starts_with(&line[end..], text) {
        return Ok((end, end + text.len()));
    }
    expect_wide(line, end, text)
}

/// Does what [`expect`] does for a text that is not there as it is.
#[cold]
fn expect_wide(line: &[u8], end: usize, text: &[u8]) -> Result<(usize, usize), usize> {
    let (mut at, mut before) = (end, None);
    for byte in text {
        if before == Some(&b' ') && *byte != b' ' {
            at += line[at..].iter().take_while(|blank| **blank == b' ').count();
        }
        if line.get(at) != Some(byte) {
            return Err(at);
        }
        (at, before) = (at + 1, Some(byte));
    }
    Ok((end, at))
}

/// The end of a time that is longer or shorter than usual, and the offset after the text that must
/// follow it.
#[cold]
fn clf_variant_end(line: &[u8], start: usize, text: &[u8]) -> Option<(usize, usize)> {
    const LENGTH_MAX: usize = 48;
    let rest = &line[start..line.len().min(start + LENGTH_MAX)];
    let end = start + find_text(rest, text.first().map(|_| text)?)?;
    parse_clf_variant(&line[start..end]).map(|_| (end, end + text.len()))
}

/// Does what the slice's `starts_with` does, without a call: the texts here are two or three
/// bytes long.
#[inline]
fn starts_with(bytes: &[u8], text: &[u8]) -> bool {
    bytes.len() >= text.len() && bytes.iter().zip(text).all(|(a, b)| a == b)
}

/// The first offset of a text of at least one byte.
#[inline]
fn find_text(bytes: &[u8], text: &[u8]) -> Option<usize> {
    // The texts between values are two or three bytes long, and the values are short: a search
    // for the first byte is faster than building a searcher.
    let mut from = 0;
    for _ in 0..4 {
        let at = from + memchr(text[0], &bytes[from..])?;
        if starts_with(&bytes[at..], text) {
            return Some(at);
        }
        from = at + 1;
    }
    memmem::find(&bytes[from..], text).map(|at| from + at)
}

/// The first offset of the text, from `start` on, with a time after it. If there is none, the
/// first offset of the text.
#[inline]
fn find_text_before_time(line: &[u8], start: usize, text: &[u8]) -> Option<usize> {
    let first = start + find_text(&line[start..], text)?;
    let is_before_time = |end: usize| {
        let time = &line[end + text.len()..];
        time.get(2) == Some(&b'/') && time.get(6) == Some(&b'/')
    };
    let mut end = first;
    while !is_before_time(end) {
        match find_text(&line[end + 1..], text) {
            Some(length) => end += 1 + length,
            None => return Some(first),
        }
    }
    Some(end)
}

/// The first offset from `start` on of `byte`, a space or a comma, that is not in the separator of
/// a list. A comma may have several spaces after it.
#[inline]
fn find_list_end(line: &[u8], start: usize, byte: u8) -> Option<usize> {
    let mut at = start + short_memchr(byte, &line[start..])?;
    loop {
        let from = match byte {
            b' ' if at > start && line[at - 1] == b',' => {
                at + line[at..].iter().take_while(|byte| **byte == b' ').count()
            }
            b' ' if line[at..].starts_with(b" : ") => at + 3,
            b',' if line.get(at + 1) == Some(&b' ') => at + 1,
            _ => return Some(at),
        };
        at = from + memchr(byte, &line[from..])?;
    }
}

/// The first offset of the text, from `start` on, with a status after it. If there is none, the
/// first offset of the text.
fn find_text_before_status(line: &[u8], start: usize, text: &[u8]) -> Option<usize> {
    let is_before_status = |at: &usize| match &line[start + at + text.len()..] {
        [a, b, c, rest @ ..] => {
            [a, b, c].into_iter().all(u8::is_ascii_digit)
                && !rest.first().is_some_and(u8::is_ascii_digit)
        }
        _ => false,
    };
    let rest = &line[start..];
    let end = memmem::find_iter(rest, text).find(is_before_status);
    end.or_else(|| memmem::find(rest, text)).map(|at| start + at)
}

/// The last offset of the text, from `start` on, with a whole number and a space after it. If there
/// is none, the first offset of the text.
fn find_text_before_number(line: &[u8], start: usize, text: &[u8]) -> Option<usize> {
    let rest = &line[start..];
    let is_before_number = |at: &usize| {
        let after = &rest[at + text.len()..];
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && after.get(digits) == Some(&b' ')
    };
    let end = memmem::rfind_iter(rest, text).find(is_before_number);
    end.or_else(|| memmem::find(rest, text)).map(|at| start + at)
}

/// The first unescaped quote from `start` on. An escaped one follows an odd number of
/// backslashes.
#[inline]
pub(super) fn find_quote(line: &[u8], start: usize) -> Option<usize> {
    let mut from = start;
    loop {
        let at = from + memchr(b'"', &line[from..])?;
        let backslashes = line[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(at);
        }
        from = at + 1;
    }
}
