//! The lines of a stream, in whatever pieces it comes.
//!
//! RFC 6587 has two framings of syslog over streams: line feeds (section 3.4.2) and counted
//! octets (section 3.4.1). Counted frames begin with a digit, and so does a log whose lines begin
//! with an address; only the former go on with a space and the `<` of a priority.

use std::fmt;

use memchr::{memchr, memrchr};

use crate::options::Framing;

/// Takes a stream in pieces and gives its whole lines, each with a line feed behind it.
///
/// It holds the line that has begun, at most [`Self::new`]'s limit and a piece. Lines over the
/// limit are given out cut to one byte more than it, so that whoever counts lines knows of them.
#[derive(Debug)]
pub struct Framer {
    state: State,
    line_bytes_max: usize,
    /// The line or frame that has begun.
    begun: Vec<u8>,
    /// What the last piece has completed and is no part of it.
    complete: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first bytes, in `begun`, do not tell yet.
    Undecided,
    Lines,
    /// Inside a line over the limit, up to its line feed.
    Skipping,
    /// Inside a frame's count.
    Count {
        octets: usize,
        digits: usize,
    },
    /// Inside a frame; so many octets are to come.
    Frame {
        octets_left: usize,
    },
}

const COUNT: State = State::Count { octets: 0, digits: 0 };

/// Why a stream of counted frames cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// Where a count should be there is none, so that a count before it was wrong.
    NoCount,
    /// A frame claims more octets than a line may have.
    TooLong {
        /// What it claims.
        octets: usize,
        /// What is allowed.
        octets_max: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCount => formatter.write_str(
                "a frame does not begin with the count of its octets, so the count before it was \
                 wrong; what was read before stands",
            ),
            Self::TooLong { octets, octets_max } => write!(
                formatter,
                "a frame claims {octets} octets or more, and {octets_max} are allowed; what was \
                 read before stands"
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// Whole lines: those of `first` come before those of `rest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines<'a> {
    /// What needed the framer's own memory.
    pub first: &'a [u8],
    /// A part of the piece.
    pub rest: &'a [u8],
}

impl Lines<'_> {
    /// True where no line was completed.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.rest.is_empty()
    }
}

impl Framer {
    /// A framer at the start of a stream.
    pub fn new(framing: Framing, line_bytes_max: usize) -> Self {
        let state = match framing {
            Framing::Auto => State::Undecided,
            Framing::Newline => State::Lines,
            Framing::Octets => COUNT,
        };
        Self { state, line_bytes_max, begun: Vec::new(), complete: Vec::new() }
    }

    /// Memory that a begun line takes between pieces, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.begun.capacity()
    }

    /// Takes a piece; gives the lines that it completes, and what is wrong behind them.
    pub fn take<'a>(&'a mut self, piece: &'a [u8]) -> (Lines<'a>, Option<FrameError>) {
        self.release();
        if self.state == State::Undecided {
            match self.decide(piece) {
                Ok(true) => {}
                undecided => return (Lines { first: &[], rest: &[] }, undecided.err()),
            }
        }
        match self.state {
            State::Count { .. } | State::Frame { .. } => {
                let error = self.take_frames(piece).err();
                (Lines { first: &self.complete, rest: &[] }, error)
            }
            _ => (self.take_lines(piece), None),
        }
    }

    /// Frees the memory of the lines that were given out last.
    pub fn release(&mut self) {
        self.complete = Vec::new();
    }

    /// Ends the stream: the line that has begun is one, with a line feed behind it.
    pub fn finish(&mut self) -> &[u8] {
        self.release();
        if self.state != State::Skipping && !self.begun.is_empty() {
            let begun = std::mem::take(&mut self.begun);
            match self.state {
                State::Frame { .. } => push_message(&begun, &mut self.complete),
                _ => {
                    self.complete = begun;
                    self.complete.push(b'\n');
                }
            }
        }
        self.state = State::Lines;
        &self.complete
    }

    /// Tells the framing by the first bytes; false where they do not tell yet. They are then
    /// kept, and a part of the line that they begin.
    fn decide(&mut self, piece: &[u8]) -> Result<bool, FrameError> {
        let start_bytes = piece.len().min(START_BYTES_MAX);
        self.begun.extend_from_slice(&piece[..start_bytes]);
        let is_counted = begins_counted(&self.begun);
        let kept = self.begun.len() - start_bytes;
        match is_counted {
            None => return Ok(false),
            Some(false) => {
                self.begun.truncate(kept);
                self.state = State::Lines;
            }
            Some(true) => {
                let start = std::mem::take(&mut self.begun);
                self.state = COUNT;
                self.take_frames(&start[..kept])?;
            }
        }
        Ok(true)
    }

    fn take_lines<'a>(&'a mut self, mut piece: &'a [u8]) -> Lines<'a> {
        if self.state == State::Skipping {
            let Some(end) = memchr(b'\n', piece) else { return Lines { first: &[], rest: &[] } };
            piece = &piece[end + 1..];
            self.state = State::Lines;
        }
        let Some(last) = memrchr(b'\n', piece) else {
            self.begun.extend_from_slice(piece);
            if self.begun.len() > self.line_bytes_max {
                self.complete = std::mem::take(&mut self.begun);
                self.complete.truncate(self.line_bytes_max + 1);
                self.complete.push(b'\n');
                self.state = State::Skipping;
            }
            return Lines { first: &self.complete, rest: &[] };
        };
        let (lines, tail) = piece.split_at(last + 1);
        let mut rest = lines;
        if !self.begun.is_empty() {
            let first = memchr(b'\n', lines).map_or(lines.len(), |end| end + 1);
            self.complete = std::mem::take(&mut self.begun);
            self.complete.extend_from_slice(&lines[..first]);
            rest = &lines[first..];
        }
        self.begun.extend_from_slice(tail);
        Lines { first: &self.complete, rest }
    }

    fn take_frames(&mut self, mut piece: &[u8]) -> Result<(), FrameError> {
        while !piece.is_empty() {
            match self.state {
                State::Frame { octets_left } => {
                    let (part, rest) = piece.split_at(octets_left.min(piece.len()));
                    piece = rest;
                    self.take_frame(part, octets_left);
                }
                _ => piece = self.take_count(piece)?,
            }
        }
        Ok(())
    }

    /// Takes a part of a frame.
    fn take_frame(&mut self, part: &[u8], octets_left: usize) {
        let octets_left = octets_left - part.len();
        if octets_left > 0 {
            self.begun.extend_from_slice(part);
            self.state = State::Frame { octets_left };
            return;
        }
        if self.begun.is_empty() {
            push_message(part, &mut self.complete);
        } else {
            let mut frame = std::mem::take(&mut self.begun);
            frame.extend_from_slice(part);
            push_message(&frame, &mut self.complete);
        }
        self.state = COUNT;
    }

    /// Takes what there is of a count; gives what is behind it.
    fn take_count<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], FrameError> {
        let State::Count { mut octets, mut digits } = self.state else { return Ok(piece) };
        for (at, byte) in piece.iter().enumerate() {
            match byte {
                b'0'..=b'9' if digits > 0 || *byte > b'0' => {
                    octets = octets.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
                    digits += 1;
                }
                b' ' if digits > 0 => {
                    self.state = State::Frame { octets_left: octets };
                    return Ok(&piece[at + 1..]);
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

/// Digits of the longest count that a stream may begin with.
const DIGITS_MAX: usize = 10;

/// Bytes by which the framing is told in any case.
const START_BYTES_MAX: usize = DIGITS_MAX + 2;

/// Whether a stream that begins so is one of counted frames; `None` where more has to come.
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

/// Appends a message as one line. A line feed inside of it becomes a space, as it is no line
/// end; at the end many senders put one, or a NUL, for receivers of the other framing.
pub(crate) fn push_message(message: &[u8], lines: &mut Vec<u8>) {
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
    use crate::options::Framing;

    const LINE_BYTES_MAX: usize = 40;

    /// The lines of a stream that comes in these pieces, and what is wrong with it.
    fn frame<'a>(
        framing: Framing,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<u8>, Option<FrameError>) {
        let mut framer = Framer::new(framing, LINE_BYTES_MAX);
        let mut all = Vec::new();
        for piece in pieces {
            let (lines, error) = framer.take(piece);
            all.extend_from_slice(lines.first);
            all.extend_from_slice(lines.rest);
            if error.is_some() {
                return (all, error);
            }
        }
        all.extend_from_slice(framer.finish());
        (all, None)
    }

    /// A line a line feed, and a line over the limit cut behind it.
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
    fn a_line_without_an_end_is_given_once_and_skipped() {
        let stream = [&[b'x'; 500][..], b"\nnext\n"].concat();
        let cut = [&[b'x'; LINE_BYTES_MAX + 1][..], b"\nnext\n"].concat();
        for size in 1..LINE_BYTES_MAX {
            let mut framer = Framer::new(Framing::Auto, LINE_BYTES_MAX);
            let mut all = Vec::new();
            for piece in stream.chunks(size) {
                let (lines, _) = framer.take(piece);
                all.extend([lines.first, lines.rest].concat());
                assert!(framer.held_bytes() <= 4 * LINE_BYTES_MAX);
            }
            assert_eq!(all, cut, "pieces of {size}");
        }
    }

    #[test]
    fn counts_that_lie_are_found() {
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
    fn framings_are_told_apart() {
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
        fn lines_are_those_of_the_oracle(
            stream in vec(prop_oneof![Just(b'\n'), Just(b'1'), Just(b' '), any::<u8>()], 0..400),
            size in 1usize..60,
        ) {
            // Lines within the limit; the others have a test of their own.
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

        #[test]
        fn nothing_makes_it_fail(
            pieces in vec(vec(any::<u8>(), 0..50), 0..20),
            counted in any::<bool>(),
        ) {
            let framing = if counted { Framing::Octets } else { Framing::Auto };
            let _ = frame(framing, pieces.iter().map(Vec::as_slice));
        }
    }
}
