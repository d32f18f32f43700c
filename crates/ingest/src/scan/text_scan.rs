//! Scans a text, a large plain file in several parts at once.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{Format, FormatChoice};

use super::file_ranges::FileRanges;
use super::line_blocks::LineBlocks;
use super::ordered::{OrderedOutput, run_in_order};
use super::record_reader::RecordReader;
use crate::source::{DETECTION_PATIENCE, Input, Text};

/// How texts are scanned.
#[derive(Debug, Clone, Copy)]
pub struct TextScan<'a> {
    /// The number of threads that one text may have.
    pub threads: usize,
    /// Whether parts of a text may be scanned at the same time: nothing that is done with a line
    /// depends on the lines before it.
    pub is_divisible: bool,
    /// Whether lines are read as records.
    pub reads_records: bool,
    /// The format of the records.
    pub format: &'a FormatChoice,
}

/// A part of a text, or all of it: lines, and the reader of their records.
#[derive(Debug)]
pub struct TextPart<R> {
    lines: LineBlocks<R>,
    records: RecordReader,
}

/// What the scan of a text came to.
#[derive(Debug, Default)]
pub struct ScannedText<T> {
    /// The results of the parts, in the order of the text.
    pub parts: Vec<T>,
    /// The number of lines that could not be parsed, if records were read.
    pub unparsed_lines: u64,
    /// The number of lines over 256 MiB, which were skipped.
    pub too_long_lines: u64,
}

impl<R: Read> TextPart<R> {
    /// Returns the next whole lines; see [`LineBlocks::next_block`].
    ///
    /// # Errors
    /// If the text cannot be read further.
    pub fn next_block(&mut self) -> io::Result<Option<&[u8]>> {
        self.lines.next_block()
    }

    /// Returns the next whole lines and the reader that parses them. The first lines of a text
    /// come when its format is found; a live stream is waited for no longer than half a second.
    ///
    /// # Errors
    /// If the text cannot be read further.
    pub fn next_records(&mut self) -> io::Result<Option<(&[u8], &mut RecordReader)>> {
        let block = self.lines.next_block_for(&mut self.records)?;
        Ok(block.map(|block| (block, &mut self.records)))
    }
}

/// The stream of a part.
type PartStream<'a> = Box<dyn Read + 'a>;

impl TextScan<'_> {
    /// Calls `work` for each part of a text, on several threads if there are several parts, and
    /// writes its output in the order of the text.
    ///
    /// # Errors
    /// If `work` fails, which it should only if the output cannot be written. Errors of the text
    /// belong into the results, so that the lines before them count.
    pub fn run<T: Send>(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        output: &mut OrderedOutput<'_>,
        work: impl Fn(&mut TextPart<PartStream<'_>>, &mut OrderedOutput<'_>) -> io::Result<T> + Sync,
    ) -> io::Result<ScannedText<T>> {
        let scan = |stream: PartStream<'_>, records, output: &mut OrderedOutput<'_>| {
            let mut part = TextPart { lines: LineBlocks::new(stream), records };
            let value = work(&mut part, output)?;
            Ok((value, part.records.unparsed_lines(), part.lines.too_long_lines()))
        };
        let scanned = match self.ranges(input, text) {
            Some((ranges, format)) => {
                run_in_order(self.threads, ranges.count(), output, |index, output| {
                    let records = RecordReader::new(&format, None, None);
                    scan(Box::new(ranges.lines(index)), records, output)
                })?
            }
            None => {
                let patience = input.is_live().then_some(DETECTION_PATIENCE);
                let records = RecordReader::new(self.format, text.written(), patience);
                vec![scan(Box::new(text), records, output)?]
            }
        };
        let mut all = ScannedText { parts: Vec::new(), unparsed_lines: 0, too_long_lines: 0 };
        for (value, unparsed, too_long_lines) in scanned {
            all.parts.push(value);
            all.unparsed_lines += unparsed;
            all.too_long_lines += too_long_lines;
        }
        Ok(all)
    }

    /// The ranges of a large plain file, and the format of each if they can be read apart.
    fn ranges(&self, input: &Input, text: &Text<'_>) -> Option<(FileRanges, FormatChoice)> {
        let ranges = FileRanges::of(input, text).filter(|_| self.is_divisible)?;
        if !self.reads_records {
            return Some((ranges, self.format.clone()));
        }
        let format = steady_format(&ranges, self.format, text.written())?;
        Some((ranges, FormatChoice::Forced(format)))
    }
}

/// The format of a file, if its first lines show it and no line can change it.
fn steady_format(
    ranges: &FileRanges,
    choice: &FormatChoice,
    written: Option<SystemTime>,
) -> Option<Arc<Format>> {
    let records = RecordReader::new(choice, written, None);
    let mut first = TextPart { lines: LineBlocks::new(ranges.lines(0)), records };
    // An error is reported when the file is scanned.
    let (_, records) = first.next_records().ok()??;
    records.steady_format()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::time::Duration;

    use weir_core::FormatChoice;

    use super::{LineBlocks, RecordReader, TextPart};

    /// A live stream: one line, then nothing for now.
    struct Pause<'a>(&'a [u8]);

    impl Read for Pause<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::ErrorKind::WouldBlock.into()),
                length => Ok(length),
            }
        }
    }

    #[test]
    fn a_live_stream_is_shown_before_its_window_is_full() {
        let line = b"192.0.2.7 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 10\n";
        let records = RecordReader::new(&FormatChoice::Detect, None, Some(Duration::ZERO));
        let mut part = TextPart { lines: LineBlocks::new(Pause(line)), records };
        let (block, records) = part.next_records().expect("it is read").expect("a block");
        assert_eq!(block, line);
        assert_eq!(records.format().name(), "COMMON");
    }
}
