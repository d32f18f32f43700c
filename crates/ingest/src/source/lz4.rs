//! LZ4 frames.
//!
//! Follows lz4_Frame_format.md 1.6.4. lz4_flex decompresses the blocks. The frames are parsed here,
//! because its frame reader accepts a frame that is truncated between two blocks.

use std::hash::Hasher;
use std::io;

use lz4_flex::block::decompress_into_with_dict;
use twox_hash::XxHash32;

use super::decode::{Decode, check_end, damaged};

/// The longest distance, in bytes, that a block may refer back to.
const WINDOW_BYTES: usize = 64 << 10;

const FRAME_MAGIC: u32 = 0x184D_2204;
/// The magic numbers of skippable frames, without their last four bits.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;

/// The highest bit of a block's length, set if the block is not compressed.
const IS_STORED: u32 = 1 << 31;

pub(super) struct Lz4Decoder {
    state: State,
    /// The bytes of the part that is being read, at most a block and its checksum.
    part: Vec<u8>,
    frame: Frame,
    /// The checksum of the output of this frame.
    hasher: XxHash32,
    /// The last bytes of output, for blocks that refer to them.
    window: Vec<u8>,
    block: Vec<u8>,
}

/// The part that is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The magic number of a frame, or the end.
    Magic,
    SkipLength,
    /// The content of a skippable frame, of n bytes.
    Skip(u32),
    /// Flags and block size.
    Flags,
    /// The rest of a header that has n bytes after its magic number.
    Header(usize),
    BlockLength,
    /// A block, by its length field, which includes the flag for uncompressed data.
    Block(u32),
    /// The checksum of the whole frame.
    Checksum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    block_bytes_max: usize,
    is_linked: bool,
    has_block_checksums: bool,
    has_checksum: bool,
}

impl Lz4Decoder {
    pub(super) fn new() -> Self {
        Self {
            state: State::Magic,
            part: Vec::new(),
            frame: Frame::default(),
            hasher: XxHash32::with_seed(0),
            window: Vec::new(),
            block: Vec::new(),
        }
    }

    /// The length in bytes of the part that is being read.
    fn wanted_bytes(&self) -> usize {
        match self.state {
            State::Magic | State::SkipLength | State::BlockLength | State::Checksum => 4,
            State::Skip(length) => length as usize,
            State::Flags => 2,
            State::Header(length) => length,
            State::Block(length) => {
                let checksum_bytes = if self.frame.has_block_checksums { 4 } else { 0 };
                (length & !IS_STORED) as usize + checksum_bytes
            }
        }
    }

    /// Handles a complete part. Returns the state that follows.
    fn take_part(&mut self, output: &mut Vec<u8>) -> io::Result<State> {
        let number = number(&self.part);
        Ok(match self.state {
            State::Magic if number == FRAME_MAGIC => State::Flags,
            State::Magic if number & !0xF == SKIPPABLE_MAGIC => State::SkipLength,
            State::Magic => return Err(damaged("no frame begins here")),
            State::SkipLength if number == 0 => State::Magic,
            State::SkipLength => State::Skip(number),
            State::Skip(_) => State::Magic,
            State::Flags => return self.take_flags(),
            State::Header(_) => self.take_header()?,
            State::BlockLength if number == 0 && self.frame.has_checksum => State::Checksum,
            State::BlockLength if number == 0 => State::Magic,
            State::BlockLength if (number & !IS_STORED) as usize > self.frame.block_bytes_max => {
                return Err(damaged("a block is longer than its frame allows"));
            }
            State::BlockLength => State::Block(number),
            State::Block(length) => self.take_block(length, output)?,
            State::Checksum if number == self.hasher.finish_32() => State::Magic,
            State::Checksum => return Err(damaged("the checksum does not match")),
        })
    }

    /// Parses the flags. They stay in `part`, because the header's checksum includes them.
    fn take_flags(&mut self) -> io::Result<State> {
        let (flags, block_size) = (self.part[0], self.part[1] >> 4 & 7);
        if flags >> 6 != 1 {
            return Err(damaged("the frame is of an unknown version"));
        }
        if flags & 1 != 0 {
            return Err(damaged("it was compressed with a dictionary"));
        }
        if block_size < 4 {
            return Err(damaged("the block size is not valid"));
        }
        self.frame = Frame {
            block_bytes_max: 1 << (8 + 2 * usize::from(block_size)),
            is_linked: flags & 0x20 == 0,
            has_block_checksums: flags & 0x10 != 0,
            has_checksum: flags & 0x04 != 0,
        };
        let content_size_bytes = if flags & 0x08 != 0 { 8 } else { 0 };
        Ok(State::Header(2 + content_size_bytes + 1))
    }

    fn take_header(&mut self) -> io::Result<State> {
        let (descriptor, checksum) = self.part.split_at(self.part.len() - 1);
        if (XxHash32::oneshot(0, descriptor) >> 8) as u8 != checksum[0] {
            return Err(damaged("the header's checksum does not match"));
        }
        self.hasher = XxHash32::with_seed(0);
        self.window.clear();
        Ok(State::BlockLength)
    }

    fn take_block(&mut self, length: u32, output: &mut Vec<u8>) -> io::Result<State> {
        let (data, checksum) = self.part.split_at((length & !IS_STORED) as usize);
        if self.frame.has_block_checksums && number(checksum) != XxHash32::oneshot(0, data) {
            return Err(damaged("a block's checksum does not match"));
        }
        let fresh = if length & IS_STORED != 0 {
            data
        } else {
            self.block.resize(self.frame.block_bytes_max, 0);
            let size = decompress_into_with_dict(data, &mut self.block, &self.window);
            &self.block[..size.map_err(|error| damaged(&error.to_string()))?]
        };
        output.extend_from_slice(fresh);
        if self.frame.has_checksum {
            self.hasher.write(fresh);
        }
        if self.frame.is_linked {
            let fresh = &fresh[fresh.len().saturating_sub(WINDOW_BYTES)..];
            let known = (self.window.len() + fresh.len()).saturating_sub(WINDOW_BYTES);
            self.window.drain(..known);
            self.window.extend_from_slice(fresh);
        }
        Ok(State::BlockLength)
    }
}

impl Decode for Lz4Decoder {
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        if let State::Skip(left) = self.state {
            let length = (left as usize).min(input.len());
            let left = left - length as u32;
            self.state = if left == 0 { State::Magic } else { State::Skip(left) };
            return Ok(length);
        }
        let wanted = self.wanted_bytes() - self.part.len();
        let length = wanted.min(input.len());
        self.part.extend_from_slice(&input[..length]);
        if length == wanted {
            self.state = self.take_part(output)?;
            if !matches!(self.state, State::Header(_)) {
                self.part.clear();
            }
        }
        Ok(length)
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        check_end(self.state == State::Magic && self.part.is_empty())
    }
}

/// Returns the first four bytes as a little-endian number.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
