//! Decompresses a stream while it is read.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::compression::{Compression, ZSTD_WINDOW_LOG_MAX};
use super::packing::Packing;
use super::push::{PushDecoder, named_zstd_error};

/// The bytes of a stream without its outermost layer.
///
/// # Errors
/// If the decompression library cannot be set up.
pub(super) fn unpacked<'a>(
    packing: Packing,
    stream: impl BufRead + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Compression(Compression::Gzip) => {
            Box::new(GzipMembers { member: Some(GzDecoder::new(stream)) })
        }
        Packing::Compression(Compression::Zstd) => {
            let mut decoder = zstd::Decoder::with_buffer(stream)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(ZstdReader(decoder))
        }
        other => {
            let decoder = PushDecoder::of(other)?;
            Box::new(DecoderReader { stream, decoder, given: 0, is_finished: false })
        }
    })
}

/// Reads the members of a gzip file (RFC 1952). Zeros after a member, which fill a block of a tape,
/// are ignored, as gzip(1) does.
struct GzipMembers<R> {
    /// `None` after the last member, and after an error.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let stream = self.member.take().map(GzDecoder::into_inner);
            self.member = stream.map(next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// The member that follows zeros, if there is one.
fn next_member<R: BufRead>(mut stream: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let piece = match stream.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if piece.is_empty() {
            return Ok(None);
        }
        let zeros = piece.iter().take_while(|byte| **byte == 0).count();
        if zeros == 0 {
            return Ok(Some(GzDecoder::new(stream)));
        }
        stream.consume(zeros);
    }
}

/// Names the errors of zstd.
struct ZstdReader<R>(R);

impl<R: Read> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(named_zstd_error)
    }
}

/// Reads the output of a push decoder that is fed from a stream.
struct DecoderReader<R> {
    stream: R,
    decoder: PushDecoder,
    /// Bytes of the decoder's output that were already returned.
    given: usize,
    is_finished: bool,
}

impl<R: BufRead> DecoderReader<R> {
    /// Pushes until there is output. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.decoder.output().clear();
        self.given = 0;
        while self.decoder.output().is_empty() {
            if self.is_finished {
                return Ok(false);
            }
            let piece = self.stream.fill_buf()?;
            if piece.is_empty() && !self.decoder.has_more() {
                self.is_finished = true;
                // Output from before the error is returned first.
                if let Err(error) = self.decoder.finish() {
                    self.is_finished = false;
                    return Err(error);
                }
                continue;
            }
            let length = self.decoder.push_some(piece)?;
            self.stream.consume(length);
        }
        Ok(true)
    }
}

impl<R: BufRead> Read for DecoderReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.decoder.output().len() && !self.fill_or_keep()? {
            return Ok(0);
        }
        let output = &self.decoder.output()[self.given..];
        let length = output.len().min(buffer.len());
        buffer[..length].copy_from_slice(&output[..length]);
        self.given += length;
        Ok(length)
    }
}

impl<R: BufRead> DecoderReader<R> {
    /// The same as [`Self::fill`], but output from before an error is returned first. The next
    /// read returns the error again, because a damaged decoder stays damaged.
    fn fill_or_keep(&mut self) -> io::Result<bool> {
        match self.fill() {
            Err(_) if !self.decoder.output().is_empty() => Ok(true),
            result => result,
        }
    }
}
