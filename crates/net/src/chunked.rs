//! Finds the end of a chunked body (RFC 9112 section 7.1), where hyper finds it.
//!
//! hyper decodes the body. Bytes that it refuses end the connection, so it does not matter what
//! follows them here. Of all bytes that it accepts, the end must be the same.

/// A place in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkedPlace {
    /// The hexadecimal digits of the size of a chunk, with their value so far.
    Size(u64),
    /// The rest of the line of that size.
    Extension(u64),
    /// This many bytes of a chunk, with the end of its line.
    Data(u64),
    /// A line after the last chunk, with the bytes that it has so far.
    Trailer(TrailerLine),
    /// The body is complete.
    End,
}

/// The bytes of a line of a trailer so far. It ends with both a carriage return and a line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrailerLine {
    Empty,
    EmptyAndCarriageReturn,
    Text,
    TextAndCarriageReturn,
}

impl ChunkedPlace {
    /// The beginning of a body.
    pub(crate) const BEGIN: Self = Self::Size(0);

    /// Moves over bytes up to the end of the body. Returns how many of them belong to it.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> usize {
        let mut position = 0;
        while let Some(byte) = bytes.get(position).filter(|_| *self != Self::End) {
            let mut passed = 1;
            *self = match *self {
                Self::Data(left) => {
                    let here = (bytes.len() - position) as u64;
                    passed = left.min(here) as usize;
                    match left - passed as u64 {
                        0 => Self::BEGIN,
                        left => Self::Data(left),
                    }
                }
                Self::Size(0) | Self::Extension(0) if *byte == b'\n' => {
                    Self::Trailer(TrailerLine::Empty)
                }
                Self::Size(size) | Self::Extension(size) if *byte == b'\n' => {
                    Self::Data(size.saturating_add(LINE_END_BYTES))
                }
                Self::Size(size) => match char::from(*byte).to_digit(16) {
                    Some(digit) => Self::Size(size.saturating_mul(16).saturating_add(digit.into())),
                    None => Self::Extension(size),
                },
                Self::Extension(size) => Self::Extension(size),
                Self::Trailer(line) => line.with(*byte).map_or(Self::End, Self::Trailer),
                Self::End => Self::End,
            };
            position += passed;
        }
        position
    }
}

/// The length of the line end after the data of a chunk.
const LINE_END_BYTES: u64 = 2;

impl TrailerLine {
    /// The line after one more byte, or the next line; `None` after an empty line.
    fn with(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::EmptyAndCarriageReturn, b'\n') => return None,
            (Self::TextAndCarriageReturn, b'\n') => Self::Empty,
            (Self::Empty, b'\r') => Self::EmptyAndCarriageReturn,
            (_, b'\r') => Self::TextAndCarriageReturn,
            _ => Self::Text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ChunkedPlace;

    #[test]
    fn the_end_is_found_at_every_cut() {
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "1A ;a=\"b\"\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n\r\n\r\n000\r\na: b\r\n\r\n",
            "2\r\n\r\n\r\n0;x\r\na: b\r\nc: d\r\n\r\n",
            "0\r\na: b\n\nc: d\r\n\r\n",
        ] {
            let whole = format!("{body}GET / HTTP/1.1\r\n\r\n");
            for cut in 0..whole.len() {
                let mut place = ChunkedPlace::BEGIN;
                let (first, rest) = whole.as_bytes().split_at(cut);
                let before = place.advance(first);
                let bytes = before + if before < cut { 0 } else { place.advance(rest) };
                assert_eq!((bytes, place), (body.len(), ChunkedPlace::End), "{body} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_size_that_is_too_large_does_not_overflow() {
        let mut place = ChunkedPlace::BEGIN;
        assert_eq!(place.advance(b"fffffffffffffffffffffff\r\nab"), 27);
        assert_eq!(place, ChunkedPlace::Data(u64::MAX - 2));
    }
}
