//! Compressed streams and archives.

use std::io::{self, Read};

use weir_ingest::{
    DataSet, FormatChoice, LayeredDecoder, Pipeline, PipelineOptions, Retention, read_stream,
};

/// The most output of an input that is compared: more would test nothing new.
const OUTPUT_BYTES_MAX: usize = 4 << 20;

/// The most that an input may leave in the decoder's output, which is emptied after each call.
const OUTPUT_BYTES_AT_ONCE: usize = 8 << 20;

/// A compressed stream, possibly nested in another one. The output may not depend on the pieces in
/// which it arrives.
pub(crate) fn packed(bytes: &[u8]) {
    let Some((length, bytes)) = bytes.split_first() else { return };
    let whole = unpack(bytes, bytes.len().max(1));
    let pieces = unpack(bytes, usize::from(*length).max(1));
    match (&whole, &pieces) {
        (Some(whole), Some(pieces)) => assert!(whole == pieces, "pieces of {length} bytes"),
        _ => assert_eq!(whole.is_some(), pieces.is_some(), "pieces of {length} bytes"),
    }
}

/// The beginning of the output; `None` if the input is not packed, not decided yet, or damaged
/// before that much output.
fn unpack(bytes: &[u8], piece_bytes: usize) -> Option<Vec<u8>> {
    let mut decoder = LayeredDecoder::of(bytes).ok()??;
    let mut output = Vec::new();
    let is_whole = push_all(&mut decoder, bytes.chunks(piece_bytes), &mut output).is_ok();
    // The output from before a damage. How much of it is left depends on the pieces.
    output.append(decoder.output());
    let has_enough = output.len() >= OUTPUT_BYTES_MAX;
    output.truncate(OUTPUT_BYTES_MAX);
    (is_whole || has_enough).then_some(output)
}

/// Decodes the pieces, until `output` has the most that is compared.
fn push_all<'a>(
    decoder: &mut LayeredDecoder,
    pieces: impl Iterator<Item = &'a [u8]>,
    output: &mut Vec<u8>,
) -> io::Result<()> {
    for mut piece in pieces {
        while !piece.is_empty() || decoder.has_more() {
            let consumed = decoder.push_some(piece)?;
            let made = decoder.output().len();
            assert!(made <= OUTPUT_BYTES_AT_ONCE, "{made} bytes at once");
            output.append(decoder.output());
            if output.len() >= OUTPUT_BYTES_MAX {
                return Ok(());
            }
            piece = &piece[consumed..];
        }
    }
    decoder.finish()
}

/// A stream that returns few bytes at a time.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(buffer.len());
        self.0.read(&mut buffer[..length])
    }
}

/// A file of any kind, read into a data set: no line is counted twice.
pub(crate) fn archives(bytes: &[u8]) {
    let Some((length, bytes)) = bytes.split_first() else { return };
    let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
    let options = PipelineOptions::new(1, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let stream = Slow(bytes, usize::from(*length).max(1));
    let _ = read_stream(&pipeline, "a", None, stream, FormatChoice::Detect);
    pipeline.finish();
    for source in data.snapshot().sources {
        // The others are directives.
        let counted = source.records + source.unparsed_lines + source.too_long_lines;
        assert!(source.lines >= counted, "{source:?}");
    }
}
