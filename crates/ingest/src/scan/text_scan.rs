//! Scans a text, a large plain file in several parts at once.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{Format, FormatChoice};

use super::file_ranges::FileRanges;
use super::late_search::{LateSearch, PartOrder};
use super::line_blocks::LineBlocks;
use super::ordered::{OrderedOutput, run_in_order};
use super::record_reader::RecordReader;
use super::text_formats::TextFormats;
use crate::clock::seconds_since_1970;
use crate::source::{DETECTION_PATIENCE, Input, Text};

/// The options of a scan.
#[derive(Clone, Copy)]
pub struct TextScan<'a> {
    /// The number of threads that one text may have.
    pub threads: usize,
    /// Whether parts of a text may be scanned at the same time, because the work on a line does not
    /// depend on earlier lines.
    pub is_divisible: bool,
    /// Whether lines are read as records.
    pub reads_records: bool,
    /// The format of the records.
    pub format: &'a FormatChoice,
    /// Whether a format has the requested fields. A text whose own format lacks them is not
    /// divided, because only its end shows whether lines in another format had them.
    pub has_fields: &'a (dyn Fn(&Format) -> bool + Sync),
}

/// A part of a text or the whole text: its lines, and the reader of their records.
#[derive(Debug)]
pub struct TextPart<R> {
    index: usize,
    lines: LineBlocks<R>,
    records: RecordReader,
    /// The end of the last lines that were returned as records, in their block.
    records_end: usize,
}

/// The result of scanning a text.
#[derive(Debug, Default)]
pub struct ScannedText<T> {
    /// The results of the parts, in the order of the text.
    pub parts: Vec<T>,
    /// The number of lines that could not be parsed, if records were read.
    pub unparsed_lines: u64,
    /// The number of lines that were skipped for their length: over 1 MiB if records were read,
    /// over 256 MiB if whole lines were.
    pub too_long_lines: u64,
    /// Whether the format was found, or the command line named it, if records were read.
    pub is_format_known: bool,
}

impl<R: Read> TextPart<R> {
    fn new(index: usize, stream: R, records: RecordReader, reads_records: bool) -> Self {
        let lines = match reads_records {
            true => LineBlocks::of_records(stream),
            false => LineBlocks::new(stream),
        };
        Self { index, lines, records, records_end: 0 }
    }

    /// Returns the number of the part, from 0 in the order of the text.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the next whole lines; see [`LineBlocks::next_block`].
    ///
    /// # Errors
    /// If the text cannot be read further.
    pub fn next_block(&mut self) -> io::Result<Option<&[u8]>> {
        self.lines.next_block()
    }

    /// Returns the next whole lines and the reader that parses them. The first lines are returned
    /// once the format of the text is detected, for a live stream after half a second at most. A
    /// live stream is also split where its format changes.
    ///
    /// # Errors
    /// If the text cannot be read further.
    pub fn next_records(&mut self) -> io::Result<Option<(&[u8], &mut RecordReader)>> {
        if self.records_end == self.lines.block().len() {
            let Some(block) = self.lines.next_block_for(&mut self.records)? else {
                return Ok(None);
            };
            self.records.examine_block(block);
            self.records_end = 0;
        }
        let (start, block) = (self.records_end, self.lines.block());
        self.records_end = self.records.begin_part(start, block.len());
        Ok(Some((&block[start..self.records_end], &mut self.records)))
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
    /// belong in the results, so that the lines before them count.
    pub fn run<T: Send>(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        output: &mut OrderedOutput<'_>,
        work: impl Fn(&mut TextPart<PartStream<'_>>, &mut OrderedOutput<'_>) -> io::Result<T> + Sync,
    ) -> io::Result<ScannedText<T>> {
        let scan = |index, stream: PartStream<'_>, records, output: &mut OrderedOutput<'_>| {
            let mut part = TextPart::new(index, stream, records, self.reads_records);
            let value = work(&mut part, output)?;
            let too_long = match self.reads_records {
                true => part.records.too_long_lines(),
                false => part.lines.too_long_lines(),
            };
            let is_format_known = part.records.is_format_known();
            Ok((value, part.records.unparsed_lines(), too_long, is_format_known))
        };
        let scanned = match self.ranges(input, text) {
            Some((ranges, formats)) => {
                let written_s = text.written().map(seconds_since_1970);
                let order = Arc::new(PartOrder::new(written_s));
                let is_forced = matches!(self.format, FormatChoice::Forced(_));
                let late = |index| (!is_forced).then(|| LateSearch::of_part(&order, index));
                run_in_order(self.threads, ranges.count(), output, |index, output| {
                    let records = match &formats {
                        Some(formats) => RecordReader::of_part(formats, late(index)),
                        None => RecordReader::new(self.format, None, None),
                    };
                    scan(index, Box::new(ranges.lines(index)), records, output)
                })?
            }
            None => {
                let patience = input.is_live().then_some(DETECTION_PATIENCE);
                let records = RecordReader::new(self.format, text.written(), patience);
                vec![scan(0, Box::new(text), records, output)?]
            }
        };
        let mut all = ScannedText {
            parts: Vec::new(),
            unparsed_lines: 0,
            too_long_lines: 0,
            is_format_known: false,
        };
        for (value, unparsed, too_long_lines, is_format_known) in scanned {
            all.is_format_known |= is_format_known;
            all.parts.push(value);
            all.unparsed_lines += unparsed;
            all.too_long_lines += too_long_lines;
        }
        Ok(all)
    }

    /// Returns the ranges of a large plain file, if they can be read independently, and the formats
    /// of each if records are read.
    fn ranges(&self, input: &Input, text: &Text<'_>) -> Option<(FileRanges, Option<TextFormats>)> {
        let ranges = FileRanges::of(input, text).filter(|_| self.is_divisible)?;
        if !self.reads_records {
            return Some((ranges, None));
        }
        let formats = steady_formats(&ranges, self.format, text.written())?;
        (self.has_fields)(&formats.own).then_some((ranges, Some(formats)))
    }
}

/// Returns the formats of a file, if its first lines show them and no line can change them.
fn steady_formats(
    ranges: &FileRanges,
    choice: &FormatChoice,
    written: Option<SystemTime>,
) -> Option<TextFormats> {
    let records = RecordReader::new(choice, written, None);
    let mut first = TextPart::new(0, ranges.lines(0), records, true);
    // An error is reported when the file is scanned.
    let (_, records) = first.next_records().ok()??;
    records.steady_formats()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::time::Duration;

    use weir_core::FormatChoice;
    use weir_testkit::lines::{caddy, combined, many};

    use super::{RecordReader, TextPart};

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
        let mut part = TextPart::new(0, Pause(line), records, true);
        let (block, records) = part.next_records().expect("it is read").expect("a block");
        assert_eq!(block, line);
        assert_eq!(records.format().name(), "COMMON");
    }

    /// The formats in which a text is read, with their records, and the number of unparsed lines.
    fn records_by_format(log: &str, patience: Option<Duration>) -> (Vec<(String, usize)>, u64) {
        let records = RecordReader::new(&FormatChoice::Detect, None, patience);
        let mut part = TextPart::new(0, log.as_bytes(), records, true);
        let mut formats: Vec<(String, usize)> = Vec::new();
        let mut bytes = Vec::new();
        while let Some((block, records)) = part.next_records().expect("it is read") {
            bytes.extend_from_slice(block);
            let name = records.format().name().to_owned();
            if formats.last().is_none_or(|(last, _)| *last != name) {
                formats.push((name, 0));
            }
            for line in block.split_inclusive(|byte| *byte == b'\n') {
                let is_record = records.read(line.trim_ascii_end(), |record| record.is_some());
                formats.last_mut().expect("a format").1 += usize::from(is_record);
            }
        }
        assert!(bytes == log.as_bytes(), "every line is returned once");
        (formats, part.records.unparsed_lines())
    }

    #[test]
    fn a_live_stream_may_change_its_format() {
        let log = [many(combined, 4_000), many(caddy, 4_000), many(combined, 9_000)].concat();
        let (formats, unparsed) = records_by_format(&log, Some(Duration::MAX));
        let names: Vec<&str> = formats.iter().map(|(name, _)| &**name).collect();
        // The previous format is kept, so that its lines are still read if they return.
        assert_eq!(names, ["COMBINED", "CADDY"]);
        let records: usize = formats.iter().map(|(_, records)| records).sum();
        assert_eq!(records as u64 + unparsed, 17_000);
        // A change is noticed after a run of lines, of which the first may end a block.
        assert!(unparsed < 16 + 32, "{unparsed}");
    }

    #[test]
    fn lines_of_several_formats_in_the_first_lines_are_all_read() {
        let log = [many(combined, 1_500), many(caddy, 400)].concat();
        let formats = vec![("COMBINED".to_owned(), 1_900)];
        assert_eq!(records_by_format(&log, Some(Duration::MAX)), (formats.clone(), 0));
        assert_eq!(records_by_format(&log, None), (formats, 0));
    }

    #[test]
    fn a_change_within_a_block_costs_no_line() {
        let log = [many(combined, 4_000), many(caddy, 400)].concat();
        let formats = [("COMBINED".to_owned(), 4_000), ("CADDY".to_owned(), 400)].to_vec();
        assert_eq!(records_by_format(&log, Some(Duration::MAX)), (formats, 0));
    }

    #[test]
    fn a_file_keeps_its_format() {
        // The first 256 KiB are in one format.
        let log = [many(combined, 4_000), many(caddy, 4_000)].concat();
        let formats = vec![("COMBINED".to_owned(), 8_000)];
        assert_eq!(records_by_format(&log, None), (formats, 0), "the others are companions");
    }
}
