//! Splits a stream, which arrives in pieces of any size, into lines.
//!
//! RFC 6587 has two framings of syslog over streams: line feeds (section 3.4.2) and octet counting
//! (section 3.4.1). Counted frames begin with a digit, and so do lines that begin with an IP
//! address. Only in counted frames a space and the `<` of a priority follow the digits.

use std::fmt;

use memchr::{memchr, memrchr};

use super::Framing;

/// Splits a stream into complete lines, each ended by a line feed.
///
/// Memory: the partial line, which takes at most the line limit and one piece. A line over the
/// limit is truncated to one byte more than the limit, so the receiver sees that it was too long.
///
/// ```
/// use weir_feed::{Framer, Framing};
///
/// let mut framer = Framer::new(Framing::Auto, 1 << 20);
/// let (lines, error) = framer.push(b"one\ntw");
/// assert_eq!((lines.first, lines.rest, error), (&b""[..], &b"one\n"[..], None));
/// let (lines, _) = framer.push(b"o\nthree\n");
/// assert_eq!((lines.first, lines.rest), (&b"two\n"[..], &b"three\n"[..]));
/// ```
#[derive(Debug)]
pub struct Framer {
    state: State,
    line_bytes_max: usize,
    /// The partial line or frame.
    partial: Vec<u8>,
    /// Lines that the last piece completed, if they did not lie in that piece alone.
    completed: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first bytes, in `partial`, do not determine the framing yet.
    Undecided,
    Lines,
    /// Skipping the rest of a line over the limit, up to its line feed.
    Skipping,
    /// Inside the count of a frame.
    Count {
        octets: usize,
        digits: usize,
    },
    /// Inside a frame, with this many octets to come.
    Frame {
        octets_left: usize,
    },
}

const COUNT: State = State::Count { octets: 0, digits: 0 };

/// The error in a stream of counted frames, which cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// A frame does not begin with a count, so the count before it was wrong.
    NoCount,
    /// The count of a frame exceeds the line limit.
    TooLong {
        /// The count, as far as it was read.
        octets: usize,
        /// The limit.
        octets_max: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCount => formatter.write_str(
                "a frame does not begin with the count of its octets, so the count before it was \
                 wrong; the lines read before are kept",
            ),
            Self::TooLong { octets, octets_max } => write!(
                formatter,
                "a frame claims {octets} octets or more, and {octets_max} are allowed; the lines \
                 read before are kept"
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// Complete lines in two parts. Those of `first` precede those of `rest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines<'a> {
    /// Lines in the framer's own memory.
    pub first: &'a [u8],
    /// Lines in the piece.
    pub rest: &'a [u8],
}

impl Lines<'_> {
    const NONE: Lines<'static> = Lines { first: &[], rest: &[] };

    /// Whether no line was completed.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.rest.is_empty()
    }
}

impl Framer {
    /// Creates a framer for a new stream, for lines of up to `line_bytes_max` bytes.
    pub fn new(framing: Framing, line_bytes_max: usize) -> Self {
        let state = match framing {
            Framing::Auto => State::Undecided,
            Framing::Newline => State::Lines,
            Framing::Octets => COUNT,
        };
        Self { state, line_bytes_max, partial: Vec::new(), completed: Vec::new() }
    }

    /// Returns the memory that the partial line takes between pieces, in bytes.
    pub fn partial_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Whether a line has begun and not ended.
    pub fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Reads the next piece of the stream. Returns the lines that it completes, and the error
    /// after them, if any.
    pub fn push<'a>(&'a mut self, piece: &'a [u8]) -> (Lines<'a>, Option<FrameError>) {
        self.release();
        if self.state == State::Undecided {
            match self.decide(piece) {
                Ok(true) => {}
                undecided => return (Lines::NONE, undecided.err()),
            }
        }
        match self.state {
            State::Count { .. } | State::Frame { .. } => {
                let error = self.push_frames(piece).err();
                (Lines { first: &self.completed, rest: &[] }, error)
            }
            _ => (self.push_lines(piece), None),
        }
    }

    /// Frees the memory of the lines returned last.
    pub fn release(&mut self) {
        self.completed = Vec::new();
    }

    /// Ends the stream and returns the partial line with a line feed; empty if there is none.
    pub fn finish(&mut self) -> &[u8] {
        self.release();
        if self.state != State::Skipping && !self.partial.is_empty() {
            let partial = std::mem::take(&mut self.partial);
            match self.state {
                State::Frame { .. } => push_message(&partial, &mut self.completed),
                _ => {
                    self.completed = partial;
                    self.completed.push(b'\n');
                }
            }
        }
        self.state = State::Lines;
        &self.completed
    }

    /// Detects the framing from the first bytes. Returns false if it needs more; the bytes are then
    /// kept as a part of the first line.
    fn decide(&mut self, piece: &[u8]) -> Result<bool, FrameError> {
        let start_bytes = piece.len().min(START_BYTES_MAX);
        self.partial.extend_from_slice(&piece[..start_bytes]);
        let is_counted = begins_counted(&self.partial);
        let kept = self.partial.len() - start_bytes;
        match is_counted {
            None => return Ok(false),
            Some(false) => {
                self.partial.truncate(kept);
                self.state = State::Lines;
            }
            Some(true) => {
                let start = std::mem::take(&mut self.partial);
                self.state = COUNT;
                self.push_frames(&start[..kept])?;
            }
        }
        Ok(true)
    }

    fn push_lines<'a>(&'a mut self, mut piece: &'a [u8]) -> Lines<'a> {
        if self.state == State::Skipping {
            let Some(end) = memchr(b'\n', piece) else { return Lines::NONE };
            piece = &piece[end + 1..];
            self.state = State::Lines;
        }
        let Some(last) = memrchr(b'\n', piece) else {
            self.partial.extend_from_slice(piece);
            if self.partial.len() > self.line_bytes_max {
                self.completed = std::mem::take(&mut self.partial);
                self.completed.truncate(self.line_bytes_max + 1);
                self.completed.push(b'\n');
                self.state = State::Skipping;
            }
            return Lines { first: &self.completed, rest: &[] };
        };
        let (lines, tail) = piece.split_at(last + 1);
        let mut rest = lines;
        if !self.partial.is_empty() {
            let first = memchr(b'\n', lines).map_or(lines.len(), |end| end + 1);
            self.completed = std::mem::take(&mut self.partial);
            self.completed.extend_from_slice(&lines[..first]);
            rest = &lines[first..];
        }
        self.partial.extend_from_slice(tail);
        Lines { first: &self.completed, rest }
    }

    fn push_frames(&mut self, mut piece: &[u8]) -> Result<(), FrameError> {
        while !piece.is_empty() {
            match self.state {
                State::Frame { octets_left } => {
                    let (part, rest) = piece.split_at(octets_left.min(piece.len()));
                    piece = rest;
                    self.push_frame(part, octets_left);
                }
                _ => piece = self.push_count(piece)?,
            }
        }
        Ok(())
    }

    /// Reads a part of a frame. `octets_left` counts the octets still to come, this part included.
    fn push_frame(&mut self, part: &[u8], octets_left: usize) {
        let octets_left = octets_left - part.len();
        if octets_left > 0 {
            self.partial.extend_from_slice(part);
            self.state = State::Frame { octets_left };
            return;
        }
        if self.partial.is_empty() {
            push_message(part, &mut self.completed);
        } else {
            let mut frame = std::mem::take(&mut self.partial);
            frame.extend_from_slice(part);
            push_message(&frame, &mut self.completed);
        }
        self.state = COUNT;
    }

    /// Reads the count, or a part of it, at the start of `piece`. Returns the rest.
    fn push_count<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], FrameError> {
        let State::Count { mut octets, mut digits } = self.state else { return Ok(piece) };
        for (index, byte) in piece.iter().enumerate() {
            match byte {
                b'0'..=b'9' if digits > 0 || *byte > b'0' => {
                    octets = octets.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
                    digits += 1;
                }
                b' ' if digits > 0 => {
                    self.state = State::Frame { octets_left: octets };
                    return Ok(&piece[index + 1..]);
                }
                _ => return Err(FrameError::NoCount),
            }
            if octets > self.line_bytes_max {
                return Err(FrameError::TooLong { octets, octets_max: self.line_bytes_max });
            }
        }
        self.state = State::Count { octets, digits };
        Ok(&[])
    }
}

/// The maximum number of digits of the first count of a stream.
const DIGITS_MAX: usize = 10;

/// The number of bytes that always suffice to detect the framing.
const START_BYTES_MAX: usize = DIGITS_MAX + 2;

/// Whether a stream with this start has counted frames; `None` if more bytes are needed.
fn begins_counted(start: &[u8]) -> Option<bool> {
    let digits = start.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if start.first().is_some_and(|byte| !(b'1'..=b'9').contains(byte)) || digits > DIGITS_MAX {
        return Some(false);
    }
    match &start[digits..] {
        [] | [b' '] => None,
        [b' ', b'<', ..] => Some(true),
        _ => Some(false),
    }
}

/// Appends a message as one line. Line feeds inside it become spaces. Many senders add a line feed
/// or a NUL at the end, for receivers of the other framing; these are dropped.
fn push_message(message: &[u8], lines: &mut Vec<u8>) {
    let end = message.iter().rposition(|byte| !b"\n\r\0".contains(byte)).map_or(0, |at| at + 1);
    let start = lines.len();
    lines.extend_from_slice(&message[..end]);
    lines[start..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    lines.push(b'\n');
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{FrameError, Framer, begins_counted};
    use crate::framing::Framing;

    const LINE_BYTES_MAX: usize = 40;

    /// The lines of a stream in these pieces, and its error.
    fn frame<'a>(
        framing: Framing,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<u8>, Option<FrameError>) {
        let mut framer = Framer::new(framing, LINE_BYTES_MAX);
        let mut all = Vec::new();
        for piece in pieces {
            let (lines, error) = framer.push(piece);
            all.extend_from_slice(lines.first);
            all.extend_from_slice(lines.rest);
            if error.is_some() {
                return (all, error);
            }
        }
        all.extend_from_slice(framer.finish());
        (all, None)
    }

    /// One line for each line feed, and the rest.
    fn oracle_lines(stream: &[u8]) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        let mut all = Vec::new();
        for line in lines {
            all.extend_from_slice(line);
            all.push(b'\n');
        }
        all
    }

    #[test]
    fn every_framing_at_every_chunking() {
        let lines = b"192.0.2.1 - - a\n\n12 x\r\nlast".to_vec();
        let frames = b"5 <1>ab3 <2>12 <3>abc\ndefg\n7 <4>torn".to_vec();
        let framed = b"<1>ab\n<2>\n<3>abc defg\n<4>torn\n".to_vec();
        for (stream, expected) in [(&lines, oracle_lines(&lines)), (&frames, framed)] {
            for size in 1..=stream.len() {
                let found = frame(Framing::Auto, stream.chunks(size));
                assert_eq!(found, (expected.clone(), None), "pieces of {size}");
            }
            for cut in 0..stream.len() {
                let (one, other) = stream.split_at(cut);
                assert_eq!(frame(Framing::Auto, [one, other]).0, expected, "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_line_over_the_limit_is_returned_once_and_skipped() {
        let stream = [&[b'x'; 500][..], b"\nnext\n"].concat();
        let cut = [&[b'x'; LINE_BYTES_MAX + 1][..], b"\nnext\n"].concat();
        for size in 1..LINE_BYTES_MAX {
            let mut framer = Framer::new(Framing::Auto, LINE_BYTES_MAX);
            let mut all = Vec::new();
            for piece in stream.chunks(size) {
                let (lines, _) = framer.push(piece);
                all.extend([lines.first, lines.rest].concat());
                assert!(framer.partial_bytes() <= 4 * LINE_BYTES_MAX);
            }
            assert_eq!(all, cut, "pieces of {size}");
        }
    }

    #[test]
    fn wrong_counts_are_detected() {
        let too_long = FrameError::TooLong { octets: 41, octets_max: LINE_BYTES_MAX };
        for (stream, lines, error) in [
            (&b"5 <1>ab4 <2>abc3 <3>"[..], &b"<1>ab\n<2>a\n"[..], FrameError::NoCount),
            (b"5 <1>ab41 <", b"<1>ab\n", too_long),
            (b"5 <1>ab0 ", b"<1>ab\n", FrameError::NoCount),
            (b"5 <1>ab 5", b"<1>ab\n", FrameError::NoCount),
            (b"41 <1>", b"", too_long),
        ] {
            for size in 1..=stream.len() {
                let found = frame(Framing::Auto, stream.chunks(size));
                assert_eq!(found, (lines.to_vec(), Some(error)), "{stream:?} by {size}");
            }
        }
        let huge = [&b"9"[..]; 100].concat();
        assert!(frame(Framing::Octets, [&huge[..]]).1.is_some());
        assert_eq!(frame(Framing::Auto, [&huge[..]]).1, None);
    }

    #[test]
    fn framings_are_detected() {
        for (start, is_counted) in [
            (&b""[..], None),
            (b"12", None),
            (b"12 ", None),
            (b"12 <", Some(true)),
            (b"12 x", Some(false)),
            (b"192.0.2.1 - -", Some(false)),
            (b"012 <", Some(false)),
            (b"<34>", Some(false)),
            (b"12345678901", Some(false)),
        ] {
            assert_eq!(begins_counted(start), is_counted, "{start:?}");
        }
    }

    proptest! {
        #[test]
        fn lines_agree_with_the_oracle(
            stream in vec(prop_oneof![Just(b'\n'), Just(b'1'), Just(b' '), any::<u8>()], 0..400),
            size in 1usize..60,
        ) {
            // All lines are within the limit; longer ones have a test of their own.
            let stream: Vec<u8> = stream
                .chunks(LINE_BYTES_MAX - 1)
                .flat_map(|line| line.iter().copied().chain([b'\n']))
                .collect();
            let found = frame(Framing::Newline, stream.chunks(size));
            prop_assert_eq!(found, (oracle_lines(&stream), None));
        }

        #[test]
        fn frames_are_what_was_counted(
            messages in vec(vec(any::<u8>(), 1..LINE_BYTES_MAX), 0..20),
            size in 1usize..60,
        ) {
            let (mut stream, mut expected) = (Vec::new(), Vec::new());
            for message in &messages {
                stream.extend(format!("{} ", message.len()).bytes());
                stream.extend(message);
                let text = message.iter().rposition(|byte| !b"\n\r\0".contains(byte));
                let text = &message[..text.map_or(0, |at| at + 1)];
                expected.extend(text.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
                expected.push(b'\n');
            }
            let found = frame(Framing::Octets, stream.chunks(size));
            prop_assert_eq!(found, (expected, None));
        }
    }
}
