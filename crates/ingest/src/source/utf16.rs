//! Text in UTF-16 (RFC 2781), with a byte order mark or without, converted to UTF-8 while it is read.

use std::io;

use super::decode::{Decode, check_end};

/// The order of the two bytes of a code unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Returns the byte order of the mark at the start of a stream, or of letters without a mark. `None`
    /// for the mark of UTF-32, which begins like that of UTF-16.
    pub(super) fn of(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(Self::Little),
            [0xFE, 0xFF, ..] => Some(Self::Big),
            _ => Self::of_letters(first_bytes),
        }
    }

    /// Returns the byte order of a text without a mark that begins with some characters of ASCII.
    fn of_letters(first_bytes: &[u8]) -> Option<Self> {
        let (units, _) = first_bytes.as_chunks::<2>();
        let units = units.get(..UNMARKED_UNITS)?;
        let is_letter = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
        if units.iter().all(|[low, high]| is_letter(*low) && *high == 0) {
            return Some(Self::Little);
        }
        units.iter().all(|[high, low]| is_letter(*low) && *high == 0).then_some(Self::Big)
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// The characters of ASCII with which a text without a mark has to begin.
const UNMARKED_UNITS: usize = 16;

/// The byte order mark, which is not part of the text.
const MARK: u16 = 0xFEFF;

/// Converts UTF-16 to UTF-8. Units that are not valid become U+FFFD.
pub(super) struct Utf16Decoder {
    order: ByteOrder,
    /// The first byte of a unit whose second one has not arrived.
    half: Option<u8>,
    /// A high surrogate whose low one has not arrived.
    high: Option<u16>,
    is_at_start: bool,
}

impl Utf16Decoder {
    pub(super) fn new(order: ByteOrder) -> Self {
        Self { order, half: None, high: None, is_at_start: true }
    }

    fn take_unit(&mut self, unit: u16, output: &mut Vec<u8>) {
        let is_mark = std::mem::take(&mut self.is_at_start) && unit == MARK;
        let high = self.high.take();
        if let Ok(byte @ 0..=0x7F) = u8::try_from(unit)
            && high.is_none()
        {
            output.push(byte);
        } else if (0xD800..0xDC00).contains(&unit) {
            // A second high surrogate shows that the first one has no partner.
            if high.is_some() {
                push_char(char::REPLACEMENT_CHARACTER, output);
            }
            self.high = Some(unit);
        } else if !is_mark {
            let units = high.into_iter().chain([unit]);
            for char in char::decode_utf16(units) {
                push_char(char.unwrap_or(char::REPLACEMENT_CHARACTER), output);
            }
        }
    }
}

impl Decode for Utf16Decoder {
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        let mut rest = input;
        if let (Some(first), Some((second, after))) = (self.half, rest.split_first()) {
            self.half = None;
            self.take_unit(self.order.unit([first, *second]), output);
            rest = after;
        }
        let (units, half) = rest.as_chunks::<2>();
        for unit in units {
            self.take_unit(self.order.unit(*unit), output);
        }
        self.half = half.first().copied().or(self.half);
        Ok(input.len())
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        if self.high.take().is_some() {
            push_char(char::REPLACEMENT_CHARACTER, output);
        }
        check_end(self.half.is_none())
    }
}

fn push_char(char: char, output: &mut Vec<u8>) {
    output.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ByteOrder, Utf16Decoder};
    use crate::source::decode::Decode;

    fn decode(order: ByteOrder, bytes: &[u8], piece: usize) -> std::io::Result<Vec<u8>> {
        let (mut decoder, mut output) = (Utf16Decoder::new(order), Vec::new());
        for piece in bytes.chunks(piece) {
            assert_eq!(decoder.push(piece, &mut output)?, piece.len());
        }
        decoder.finish(&mut output)?;
        Ok(output)
    }

    #[test]
    fn the_order_of_a_text_without_a_mark_is_that_of_its_letters() {
        let text = "192.0.2.1 - - [17/Dec/2025";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(ByteOrder::of(&little), Some(ByteOrder::Little));
        assert_eq!(ByteOrder::of(&big), Some(ByteOrder::Big));
        assert_eq!(decode(ByteOrder::Big, &big, 3).expect("whole units"), text.as_bytes());
        for other in [text.as_bytes(), &little[..30], &[0; 64], &[&[0; 32], &little[..]].concat()] {
            assert_eq!(ByteOrder::of(other), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn units_are_converted_like_those_of_the_standard_library(
            units in prop::collection::vec(
                prop_oneof![0_u16..0x80, any::<u16>(), 0xD700_u16..0xE100],
                0..60,
            ),
            piece in 1_usize..7,
        ) {
            let units: Vec<u16> = [0xFEFF].into_iter().chain(units).collect();
            let expected = String::from_utf16_lossy(&units[1..]).into_bytes();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            for (order, bytes) in [(ByteOrder::Little, &little), (ByteOrder::Big, &big)] {
                let decoded = decode(order, bytes, piece).expect("whole units");
                prop_assert_eq!(&decoded, &expected);
                prop_assert!(decode(order, &bytes[..bytes.len() - 1], piece).is_err());
            }
        }
    }

    #[test]
    fn only_marks_show_an_order() {
        assert_eq!(ByteOrder::of(b"\xFF\xFE1\0"), Some(ByteOrder::Little));
        assert_eq!(ByteOrder::of(b"\xFE\xFF\x001"), Some(ByteOrder::Big));
        for other in [&b"\xFF\xFE\0\0"[..], b"\xEF\xBB\xBF1", b"1\0", b""] {
            assert_eq!(ByteOrder::of(other), None, "{other:?}");
        }
    }
}
