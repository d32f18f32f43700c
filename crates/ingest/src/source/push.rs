//! Decompression of pushed bytes, with a bound on the output of each step.

use std::io;

use super::bzip2::Bzip2Decoder;
use super::compression::Compression;
use super::cri::CriDecoder;
use super::decode::Decode;
use super::flate::FlateDecoder;
use super::lz4::Lz4Decoder;
use super::lzw::LzwDecoder;
use super::packing::Packing;
use super::utf16::Utf16Decoder;
use super::xz::XzDecoder;
use super::zstd::ZstdDecoder;

/// Decompresses bytes that are pushed to it, as long as there is room for the output: a few bytes
/// can expand to gigabytes.
///
/// ```
/// # use weir_ingest::{Compression, PushDecoder};
/// # fn decompress(packed: &[u8]) -> std::io::Result<Vec<u8>> {
/// let mut decoder = PushDecoder::new(Compression::Zstd)?;
/// let (mut rest, mut whole) = (packed, Vec::new());
/// while !rest.is_empty() || decoder.has_more() {
///     rest = &rest[decoder.push_some(rest)?..];
///     whole.append(decoder.output());
/// }
/// decoder.finish()?;
/// whole.append(decoder.output());
/// # Ok(whole)
/// # }
/// ```
pub struct PushDecoder {
    packing: Packing,
    decoder: Box<dyn Decode + Send + Sync>,
    output: Vec<u8>,
    /// Set after an error. A damaged decoder is not called again.
    failure: Option<(io::ErrorKind, String)>,
}

impl PushDecoder {
    /// The most bytes taken at once. For gzip, their output is at most about 1,000 times as long.
    const PIECE_BYTES: usize = 4 << 10;

    /// Decompression pauses while [`Self::output`] holds this many bytes.
    const OUTPUT_BYTES: usize = 1 << 20;

    /// A decoder at the start of a source.
    ///
    /// # Errors
    /// If the decompression library cannot be set up.
    pub fn new(compression: Compression) -> io::Result<Self> {
        Self::of(Packing::Compression(compression))
    }

    /// A decoder of one layer.
    pub(super) fn of(packing: Packing) -> io::Result<Self> {
        let decoder: Box<dyn Decode + Send + Sync> = match packing {
            Packing::Compression(Compression::Gzip) => Box::new(FlateDecoder::gzip()),
            Packing::Compression(Compression::Zstd) => Box::new(ZstdDecoder::new()?),
            Packing::Compression(Compression::Bzip2) => Box::new(Bzip2Decoder::new()),
            Packing::Compression(Compression::Xz) => Box::new(XzDecoder::new()?),
            Packing::Compression(Compression::Lz4) => Box::new(Lz4Decoder::new()),
            Packing::Compression(Compression::Lzw) => Box::new(LzwDecoder::new()),
            Packing::Utf16(order) => Box::new(Utf16Decoder::new(order)),
            Packing::Cri => Box::<CriDecoder>::default(),
        };
        Ok(Self { packing, decoder, output: Vec::new(), failure: None })
    }

    /// Whether the output is lines of text, which contain no further layer.
    pub(super) fn is_text(&self) -> bool {
        self.packing.is_text()
    }

    /// The name of the layer, for messages.
    pub(super) fn name(&self) -> &'static str {
        self.packing.name()
    }

    /// Decompresses all of a piece, which should be small: the output can be 32,000 times as long.
    /// [`Self::push_some`] bounds the output.
    ///
    /// # Errors
    /// If the data is damaged. The output from before the damage is kept.
    pub fn push(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() || self.has_more() {
            piece = &piece[self.push_within(piece, usize::MAX)?..];
        }
        Ok(())
    }

    /// Decompresses the beginning of `bytes` and returns its length. Appends to [`Self::output`],
    /// which never exceeds a few MiB if it is emptied after each call.
    ///
    /// # Errors
    /// If the data is damaged. The output from before the damage is kept.
    pub fn push_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push_within(bytes, Self::OUTPUT_BYTES)
    }

    fn push_within(&mut self, bytes: &[u8], output_bytes: usize) -> io::Result<usize> {
        self.check()?;
        let piece = &bytes[..bytes.len().min(Self::PIECE_BYTES)];
        let result = self.decoder.push(piece, &mut self.output, output_bytes);
        self.remember(result)
    }

    /// Whether the bytes taken so far have more output. If so, empty the output and push again, if
    /// necessary an empty slice.
    pub fn has_more(&self) -> bool {
        self.failure.is_none() && self.decoder.has_more()
    }

    /// Ends the source.
    ///
    /// # Errors
    /// If the data is truncated.
    pub fn finish(&mut self) -> io::Result<()> {
        self.check()?;
        let result = self.decoder.finish(&mut self.output);
        self.remember(result)
    }

    /// The length of [`Self::output`].
    pub(super) fn output_bytes(&self) -> usize {
        self.output.len()
    }

    /// The output that has not been taken yet. The caller empties it.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn check(&self) -> io::Result<()> {
        match &self.failure {
            None => Ok(()),
            Some((kind, why)) => Err(io::Error::new(*kind, why.clone())),
        }
    }

    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.failure = Some((error.kind(), error.to_string()));
        }
        result
    }
}

impl std::fmt::Debug for PushDecoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("PushDecoder").field(&self.packing).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{Compression, PushDecoder};

    #[test]
    fn a_decompression_bomb_is_unpacked_in_bounded_steps() {
        let bytes = 200 << 20;
        let zeros = || std::io::repeat(0).take(bytes);
        let zstd = zstd::encode_all(zeros(), 19).expect("memory");
        let mut bzip2 = Vec::new();
        let best = bzip2::Compression::best();
        bzip2::read::BzEncoder::new(zeros(), best).read_to_end(&mut bzip2).expect("memory");
        let mut xz = Vec::new();
        liblzma::read::XzEncoder::new(zeros(), 1).read_to_end(&mut xz).expect("memory");
        for (compression, bomb) in
            [(Compression::Zstd, zstd), (Compression::Bzip2, bzip2), (Compression::Xz, xz)]
        {
            assert!(bomb.len() < 100_000, "{compression:?}: {}", bomb.len());
            let mut decoder = PushDecoder::new(compression).expect("a decoder");
            let (mut rest, mut length) = (&bomb[..], 0);
            while !rest.is_empty() || decoder.has_more() {
                rest = &rest[decoder.push_some(rest).expect("it is sound")..];
                assert!(decoder.output().len() <= 2 << 20);
                length += decoder.output().len() as u64;
                decoder.output().clear();
            }
            decoder.finish().expect("it is whole");
            length += decoder.output().len() as u64;
            assert_eq!(length, bytes, "{compression:?}");
        }
    }
}
