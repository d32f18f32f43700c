//! Compressed streams and archives.

use std::io::{self, Read};

use weir_ingest::{DataSet, FormatChoice, Head, Pipeline, PipelineOptions, Retention, read_stream};

/// The most output of an input that is compared, less than a [`Head`] has at most.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// A compressed stream, possibly nested in another one. The output, up to a damage, may not depend
/// on the pieces in which the stream arrives.
pub(crate) fn packed(bytes: &[u8]) {
    let Some((length, bytes)) = bytes.split_first() else { return };
    let pieces = Slow(bytes, usize::from(*length).max(1));
    assert!(unpack(bytes) == unpack(pieces), "pieces of {length} bytes");
}

/// The beginning of the output.
fn unpack(stream: impl Read) -> Vec<u8> {
    let mut text = Head::of_stream(stream, |_| false).map(|head| head.text).unwrap_or_default();
    text.truncate(OUTPUT_BYTES_MAX);
    text
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
