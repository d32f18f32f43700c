//! Files of `compress` (`.Z`), decompressed from pushed bytes.
//!
//! The format is that of compress(1), POSIX.1-2024: three header bytes, then LZW codes, lowest bit
//! first, whose width grows from 9 bits to the width that the header names. Codes are written in
//! groups of eight; when the width changes, the rest of a group is left out. The format has no
//! length and no checksum, so a file that is truncated between two codes looks complete.
//!
//! Memory: 256 KiB for a table of 65,536 strings and the longest string.

use std::io;

use super::decode::{Decode, damaged};

/// The first bytes of a file.
const MAGIC: [u8; 2] = [0x1F, 0x9D];

const WIDTH_MIN: u32 = 9;
const WIDTH_MAX: u32 = 16;

/// Set if code 256 clears the table.
const HAS_CLEAR_CODE: u8 = 0x80;
const CLEAR_CODE: usize = 256;

/// Bits of the third byte that no version has used.
const RESERVED_BITS: u8 = 0x60;

/// Whether a stream with these first bytes was written by `compress`.
pub(super) fn is_lzw(first_bytes: &[u8]) -> bool {
    let [first, second, flags, ..] = first_bytes else { return false };
    [*first, *second] == MAGIC && width_max(*flags).is_some()
}

/// The greatest width of a code, in bits, by the third byte.
fn width_max(flags: u8) -> Option<u32> {
    let width = u32::from(flags & 0x1F);
    let is_valid = (WIDTH_MIN..=WIDTH_MAX).contains(&width) && flags & RESERVED_BITS == 0;
    is_valid.then_some(width)
}

/// Decompresses a file of `compress`.
pub(super) struct LzwDecoder {
    /// The header bytes that were taken, three at most.
    header: Vec<u8>,
    width_max: u32,
    has_clear_code: bool,
    bits: BitBuffer,
    width: u32,
    /// The codes of the current width so far, modulo 8.
    codes_in_group: u32,
    /// Bits at the end of a group that are not a code.
    bits_to_skip: u32,
    /// The string of entry n is that of `prefixes[n]`, followed by `suffixes[n]`.
    prefixes: Vec<u16>,
    suffixes: Vec<u8>,
    /// The number of entries in use, including the 256 single bytes and the clear code.
    entries: usize,
    /// The previous code, and the first byte of its string.
    last: Option<(usize, u8)>,
    /// The string of a code, in reverse.
    string: Vec<u8>,
}

/// Bits that were taken and are not used yet, the first one lowest.
#[derive(Default)]
struct BitBuffer {
    bits: u64,
    length: u32,
}

impl BitBuffer {
    /// Takes as many bytes as there is room for. Returns their number.
    fn fill(&mut self, bytes: &[u8]) -> usize {
        let room = ((u64::BITS - self.length) / 8) as usize;
        let taken = room.min(bytes.len());
        for byte in &bytes[..taken] {
            self.bits |= u64::from(*byte) << self.length;
            self.length += 8;
        }
        taken
    }

    /// Removes and returns the next `width` bits. At least that many must be buffered.
    fn take(&mut self, width: u32) -> usize {
        let value = self.bits & ((1 << width) - 1);
        self.bits >>= width;
        self.length -= width;
        value as usize
    }
}

impl LzwDecoder {
    pub(super) fn new() -> Self {
        Self {
            header: Vec::new(),
            width_max: WIDTH_MIN,
            has_clear_code: false,
            bits: BitBuffer::default(),
            width: WIDTH_MIN,
            codes_in_group: 0,
            bits_to_skip: 0,
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            entries: CLEAR_CODE,
            last: None,
            string: Vec::new(),
        }
    }

    /// Takes the header. Returns the number of bytes.
    fn read_header(&mut self, piece: &[u8]) -> io::Result<usize> {
        let taken = piece.len().min(MAGIC.len() + 1 - self.header.len());
        self.header.extend_from_slice(&piece[..taken]);
        if let [first, second, flags] = self.header[..] {
            let width = width_max(flags).filter(|_| [first, second] == MAGIC);
            self.width_max = width.ok_or_else(|| damaged("the header is not valid"))?;
            self.has_clear_code = flags & HAS_CLEAR_CODE != 0;
            self.prefixes = vec![0; 1 << self.width_max];
            self.suffixes = vec![0; 1 << self.width_max];
            self.entries = self.entries_min();
        }
        Ok(taken)
    }

    fn has_header(&self) -> bool {
        !self.prefixes.is_empty()
    }

    /// Returns the number of entries of an empty table.
    fn entries_min(&self) -> usize {
        CLEAR_CODE + usize::from(self.has_clear_code)
    }

    /// The next code, if all of its bits were taken.
    fn next_code(&mut self) -> Option<usize> {
        if self.entries >= 1 << self.width && self.width < self.width_max {
            self.change_width(self.width + 1);
        }
        self.skip();
        if self.bits_to_skip > 0 || self.bits.length < self.width {
            return None;
        }
        self.codes_in_group = (self.codes_in_group + 1) % 8;
        Some(self.bits.take(self.width))
    }

    /// Removes the bits at the end of a group, as far as they were taken.
    fn skip(&mut self) {
        let mut skipped = self.bits_to_skip.min(self.bits.length);
        self.bits_to_skip -= skipped;
        while skipped > 0 {
            let part = skipped.min(32);
            self.bits.take(part);
            skipped -= part;
        }
    }

    fn change_width(&mut self, width: u32) {
        self.bits_to_skip += (8 - self.codes_in_group) % 8 * self.width;
        self.codes_in_group = 0;
        self.width = width;
    }

    /// Appends the string of a code.
    fn take_code(&mut self, code: usize, output: &mut Vec<u8>) -> io::Result<()> {
        if code == CLEAR_CODE && self.has_clear_code {
            self.entries = self.entries_min();
            self.change_width(WIDTH_MIN);
            self.last = None;
            return Ok(());
        }
        let first = match self.last {
            None if code < CLEAR_CODE => {
                output.push(code as u8);
                code as u8
            }
            Some((last, last_first)) if code <= self.entries => {
                // A code may refer to the entry that it completes.
                let is_next = code == self.entries;
                let first = self.append_string(if is_next { last } else { code }, output);
                if is_next {
                    output.push(last_first);
                }
                self.add_entry(last, first);
                first
            }
            _ => return Err(damaged("a code is not in the table")),
        };
        self.last = Some((code, first));
        Ok(())
    }

    /// Appends the string of an entry and returns its first byte.
    fn append_string(&mut self, mut code: usize, output: &mut Vec<u8>) -> u8 {
        self.string.clear();
        while code >= CLEAR_CODE {
            self.string.push(self.suffixes[code]);
            code = usize::from(self.prefixes[code]);
        }
        output.push(code as u8);
        output.extend(self.string.iter().rev());
        code as u8
    }

    /// Adds the string of an entry followed by a byte, if the table has room.
    fn add_entry(&mut self, prefix: usize, suffix: u8) {
        if self.entries < self.prefixes.len() {
            self.prefixes[self.entries] = prefix as u16;
            self.suffixes[self.entries] = suffix;
            self.entries += 1;
        }
    }
}

impl Decode for LzwDecoder {
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        if !self.has_header() {
            return self.read_header(bytes);
        }
        let taken = self.bits.fill(bytes);
        if let Some(code) = self.next_code() {
            self.take_code(code, output)?;
        }
        Ok(taken)
    }

    fn has_more(&self) -> bool {
        self.has_header() && self.bits.length >= self.bits_to_skip + self.width
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        self.skip();
        // The bits after the last code are zeros that fill its byte.
        match self.has_header() && self.bits.length < 8 && self.bits.bits == 0 {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::{CLEAR_CODE, LzwDecoder, MAGIC, is_lzw};
    use crate::source::decode::Decode;

    /// Compresses with a table of whole strings, and clears it after some entries.
    fn compress(text: &[u8], width_max: u32, clear_after: usize) -> Vec<u8> {
        let mut writer = CodeWriter { bits: Vec::new(), width: 9, in_group: 0 };
        let (mut table, mut current) = (table(), Vec::new());
        for byte in text {
            let longer = [&current[..], &[*byte]].concat();
            if table.contains_key(&longer) {
                current = longer;
                continue;
            }
            writer.write(table[&current]);
            if table.len() + 1 < 1 << width_max {
                table.insert(longer, table.len() + 1);
                // The decoder adds each entry one code later.
                if table.len() >= 1 << writer.width && writer.width < width_max {
                    writer.change(writer.width + 1);
                }
            }
            if table.len() > clear_after {
                writer.write(CLEAR_CODE);
                writer.change(9);
                table = self::table();
            }
            current = vec![*byte];
        }
        if !current.is_empty() {
            writer.write(table[&current]);
        }
        [&MAGIC[..], &[0x80 | width_max as u8], &writer.bytes()].concat()
    }

    /// The single bytes.
    fn table() -> HashMap<Vec<u8>, usize> {
        (0..=255).map(|byte| (vec![byte as u8], usize::from(byte as u8))).collect()
    }

    struct CodeWriter {
        bits: Vec<bool>,
        width: u32,
        in_group: u32,
    }

    impl CodeWriter {
        fn write(&mut self, code: usize) {
            self.bits.extend((0..self.width).map(|bit| code >> bit & 1 == 1));
            self.in_group = (self.in_group + 1) % 8;
        }

        fn change(&mut self, width: u32) {
            let rest = (8 - self.in_group) % 8 * self.width;
            self.bits.extend((0..rest).map(|_| false));
            (self.width, self.in_group) = (width, 0);
        }

        fn bytes(&self) -> Vec<u8> {
            let byte =
                |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
            self.bits.chunks(8).map(byte).collect()
        }
    }

    /// Decompresses pieces of a size, and at most `output_bytes` and one string at once.
    fn decompress(packed: &[u8], piece: usize, output_bytes: usize) -> std::io::Result<Vec<u8>> {
        let (mut decoder, mut all) = (LzwDecoder::new(), Vec::new());
        for mut piece in packed.chunks(piece) {
            while !piece.is_empty() || decoder.has_more() {
                let mut output = Vec::new();
                piece = &piece[decoder.push(piece, &mut output, output_bytes)?..];
                all.append(&mut output);
            }
        }
        decoder.finish(&mut all)?;
        Ok(all)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn compressed_text_is_restored(
            text in prop::collection::vec(prop::sample::select(&b"aaab\n"[..]), 0..6_000),
            width_max in 9_u32..=16,
            clear_after in 300_usize..2_000,
            piece in 1_usize..50,
            output_bytes in 1_usize..3_000,
        ) {
            let packed = compress(&text, width_max, clear_after);
            prop_assert!(is_lzw(&packed));
            prop_assert_eq!(decompress(&packed, piece, output_bytes).expect("it is whole"), text);
        }

        #[test]
        fn no_input_panics(
            rest in prop::collection::vec(any::<u8>(), 0..3_000),
            width_max in 9_u8..=16,
            flags in prop::sample::select(&[0, 0x80][..]),
        ) {
            let packed = [&MAGIC[..], &[flags | width_max], &rest].concat();
            let _ = decompress(&packed, 100, 1 << 20);
        }
    }

    #[test]
    fn other_files_are_not_recognised() {
        for first in [&b"\x1f\x9d"[..], b"\x1f\x9d\x88", b"\x1f\x9d\xf0", b"\x1f\x8b\x08\0"] {
            assert!(!is_lzw(first), "{first:?}");
        }
    }

    #[test]
    fn the_end_of_a_group_does_not_depend_on_the_pieces() {
        // The last code clears the table, and some bits of its group follow.
        let mut file = [&MAGIC[..], &[0x90]].concat();
        file.extend([0x31, 0x72, 0xC8, 0x70, 0x81, 0x07, 0x1F, 0x8B, 0x08, 0x00, 0xC3, 0xE1]);
        let unpack = |piece_bytes: usize| {
            let (mut decoder, mut output) = (LzwDecoder::new(), Vec::new());
            for piece in file.chunks(piece_bytes) {
                let mut rest = piece;
                while !rest.is_empty() || decoder.has_more() {
                    let taken = decoder.push(rest, &mut output, usize::MAX).expect("sound");
                    rest = &rest[taken..];
                }
            }
            (decoder.finish(&mut output).is_ok(), output)
        };
        for piece_bytes in 2..=file.len() {
            assert_eq!(unpack(piece_bytes), unpack(1), "{piece_bytes}");
        }
    }
}
