//! The beginning of a source, decompressed, to look at before it is read.

use std::fs::File;
use std::io::{self, Read};

use weir_ingest::{PushDecoder, compression_of};

use crate::sources::Input;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// What it takes to tell a compression.
const MAGIC_BYTES: u64 = 4;

/// Compressed bytes to decompress at once: a few bytes of zstd can become 128 KiB, so this is
/// a few megabytes at the most.
const PIECE_BYTES: usize = 256;

/// A head is no longer than this, and than what the last piece became.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The beginning of a source.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// What was read, as it is.
    pub(crate) raw: Vec<u8>,
    /// The text that it holds.
    pub(crate) text: Vec<u8>,
    /// Whether this is all of it.
    pub(crate) is_whole: bool,
}

impl Head {
    /// Reads from the beginning until `is_enough`, or to the end. What is damaged ends there.
    ///
    /// # Errors
    /// Where the source cannot be opened or read.
    pub(crate) fn read(input: &Input, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Self> {
        match input {
            Input::File(path) => {
                let file = File::open(path)?;
                if file.metadata()?.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Self::read_stream(file, is_enough)
            }
            Input::Stdin => Self::read_stream(io::stdin().lock(), is_enough),
        }
    }

    fn read_stream(mut stream: impl Read, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Self> {
        let mut head = Self::default();
        stream.by_ref().take(MAGIC_BYTES).read_to_end(&mut head.raw)?;
        let mut decoder = compression_of(&head.raw).map(PushDecoder::new).transpose()?;
        let mut done = head.decompress(decoder.as_mut(), 0).is_err();
        while !done && !is_enough(&head.text) && head.text.len() < TEXT_BYTES_MAX {
            let start = head.raw.len();
            head.raw.resize(start + READ_BYTES, 0);
            let length = read(&mut stream, &mut head.raw[start..])?;
            head.raw.truncate(start + length);
            head.is_whole = length == 0;
            // What is damaged ends here; it is said when the source is read for good.
            done = head.is_whole || head.decompress(decoder.as_mut(), start).is_err();
        }
        Ok(head)
    }

    /// Adds the text of the raw bytes from `start` on.
    fn decompress(&mut self, decoder: Option<&mut PushDecoder>, start: usize) -> io::Result<()> {
        let Some(decoder) = decoder else {
            self.text.extend_from_slice(&self.raw[start..]);
            return Ok(());
        };
        for piece in self.raw[start..].chunks(PIECE_BYTES) {
            let result = decoder.push(piece);
            self.text.append(decoder.output());
            result?;
            if self.text.len() >= TEXT_BYTES_MAX {
                break;
            }
        }
        Ok(())
    }

    /// The whole lines of the text.
    pub(crate) fn lines(&self) -> &[u8] {
        match self.text.iter().rposition(|byte| *byte == b'\n') {
            Some(at) if !self.is_whole => &self.text[..=at],
            _ => &self.text,
        }
    }
}

/// Reads once, again where it was interrupted.
fn read(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
