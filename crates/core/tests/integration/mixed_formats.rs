//! Blocks whose lines are in several formats, compared with a reader of one line at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::prop_assert_eq;
use weir_core::{
    Block, BlockLimits, BlockReader, Format, FormatChoice, FormatTracker, LineParser, Record,
    TrackerOptions, UnparsedLine, Values, format_by_name, known_formats,
};

/// Lines of three formats, of none, and empty ones.
const LINES: [&str; 6] = [
    "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"curl/8.5\"",
    "192.0.2.8 - - [17/Dec/2025:09:03:01 +0000] \"GET /b HTTP/1.1\" 404 6",
    "2025/12/17 09:03:01 [error] 7#7: *1 open() \"/var/www/b\" failed (2: No such file or directory)",
    "not a record",
    "192.0.2.9 - - [17/Dec/2025:09:03:01 +0000] \"GET /torn",
    "",
];

/// The outcome of a line: the name of its format and its offset, or where and why it does not
/// match.
type Outcome = Result<(String, u64), (u64, usize, String)>;

/// Each line is tried with each format in turn.
fn naive(formats: &[Arc<Format>], blocks: &[Block]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for block in blocks {
        let mut start = 0;
        for (number, line) in block.bytes().split_inclusive(|byte| *byte == b'\n').enumerate() {
            let bytes = line.strip_suffix(b"\n").unwrap_or(line);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let mut parsers = formats.iter().map(|format| LineParser::new(format.clone()));
            let name = parsers.find_map(|mut parser| {
                let is_match = parser.parse(bytes, &mut Record::new()).is_ok();
                is_match.then(|| parser.format().name().to_owned())
            });
            outcomes.push(name.map(|name| (name, block.offset + start)).ok_or_else(|| {
                let mut own = LineParser::new(formats[0].clone());
                let mismatch = own.parse(bytes, &mut Record::new()).unwrap_err();
                let reason = format!("{}: {}", formats[0].name(), own.explain(mismatch));
                (number as u64, mismatch.at, reason)
            }));
            start += line.len() as u64;
        }
    }
    outcomes
}

/// The blocks, read as a pipeline does: the records' offsets by format, and the samples by block.
fn read(
    formats: &[Arc<Format>],
    blocks: &[Block],
) -> (BTreeMap<String, Vec<u64>>, Vec<Vec<UnparsedLine>>, u64) {
    let mut values = Values::new(1 << 20);
    let mut readers: Vec<BlockReader> = (formats.iter())
        .map(|format| BlockReader::new(format.clone(), BlockLimits::default(), &mut values))
        .collect();
    let (mut offsets, mut samples, mut unparsed) = (BTreeMap::new(), Vec::new(), 0);
    for block in blocks {
        let (mut own, mut left) = readers[0].read_leaving(block, 0);
        let mut reads = Vec::new();
        for (index, companion) in formats.iter().enumerate().skip(1) {
            let lines = left.take_matching(block, &mut LineParser::new(companion.clone()));
            reads.push((index, readers[index].read_left(block, 0, &lines)));
        }
        readers[0].count_unparsed(&mut own, block, &left);
        unparsed += own.unparsed_lines;
        let records: u64 = reads.iter().map(|(_, read)| read.records).sum();
        assert_eq!(own.lines, own.records + records + own.empty_lines + own.unparsed_lines);
        samples.push(own.samples.clone());
        reads.insert(0, (0, own));
        for (index, read) in reads {
            let resolved = readers[index].resolve(read, || &mut values);
            let segment = readers[index].seal(resolved).into_segment();
            let starts = (0..segment.rows()).map(|row| segment.line_offset(row));
            let name = formats[index].name().to_owned();
            offsets.entry(name).or_insert_with(Vec::new).extend(starts);
        }
    }
    (offsets, samples, unparsed)
}

fn formats(names: &[&str]) -> Vec<Arc<Format>> {
    names.iter().map(|name| Arc::new(format_by_name(name).expect("a known format"))).collect()
}

/// Blocks of these lines, each of `lines_per_block`.
fn blocks(lines: &[&str], lines_per_block: usize, has_cr: bool) -> Vec<Block> {
    let end = if has_cr { "\r\n" } else { "\n" };
    let mut offset = 0;
    let block = |lines: &[&str]| {
        let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        let mut block = Block::new(text.into_bytes());
        block.offset = offset;
        offset += block.bytes().len() as u64;
        block
    };
    lines.chunks(lines_per_block).map(block).collect()
}

proptest! {
    #[test]
    fn each_line_is_read_by_the_first_format_that_matches(
        choices in vec(0..LINES.len(), 0..80),
        lines_per_block in 1_usize..30,
        has_cr in any::<bool>(),
    ) {
        let lines: Vec<&str> = choices.iter().map(|choice| LINES[*choice]).collect();
        let formats = formats(&["COMBINED", "COMMON", "NGINXERROR"]);
        let blocks = blocks(&lines, lines_per_block, has_cr);
        let (offsets, samples, unparsed) = read(&formats, &blocks);
        let expected = naive(&formats, &blocks);
        for format in &formats {
            let own = |outcome: &Outcome| match outcome {
                Ok((name, offset)) if name == format.name() => Some(*offset),
                _ => None,
            };
            let expected: Vec<u64> = expected.iter().filter_map(own).collect();
            prop_assert_eq!(offsets.get(format.name()).cloned().unwrap_or_default(), expected);
        }
        // An empty line is in no format, but not unparsed.
        let is_failure = |outcome: &&Outcome| {
            outcome.as_ref().is_err_and(|(.., reason)| !reason.ends_with("the line is empty"))
        };
        let failed = expected.iter().filter(is_failure).count();
        prop_assert_eq!(unparsed, failed as u64);
        let mut outcomes = expected.iter();
        for (block, samples) in blocks.iter().zip(&samples) {
            let lines = block.bytes().iter().filter(|byte| **byte == b'\n').count();
            let of_block: Vec<&Outcome> = outcomes.by_ref().take(lines).collect();
            let failed = of_block.into_iter().filter(is_failure);
            let failed = failed.filter_map(|outcome| outcome.as_ref().err());
            let first: Vec<_> = failed.take(UnparsedLine::PER_BLOCK_MAX).cloned().collect();
            let shown: Vec<_> = samples
                .iter()
                .map(|sample| (sample.line, sample.at, sample.reason.clone()))
                .collect();
            prop_assert_eq!(shown, first);
        }
    }
}

/// The names of the formats in which a tracker reads a log.
fn tracked(log: &str) -> Vec<String> {
    let mut tracker = FormatTracker::new(FormatChoice::Detect, TrackerOptions::default(), 0);
    let formats = tracker.track(log.as_bytes(), 0);
    let own = formats.spans[0].format.name().to_owned();
    let companions = formats.spans[0].companions.iter().map(|format| format.name().to_owned());
    std::iter::once(own).chain(companions).collect()
}

#[test]
fn companions_are_found_in_the_first_lines() {
    let [combined, common, error, noise, torn, _] = LINES;
    let log = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let names = tracked(&log(&[combined, common, combined, common, noise]));
    assert_eq!(names[..2], ["COMBINED", "COMMON"]);
    // One line of the same kind may be torn; it takes two.
    let names = tracked(&log(&[combined, combined, common, torn]));
    assert!(!names.contains(&"COMMON".to_owned()), "{names:?}");
    // The errors of an access log may come later.
    assert!(tracked(&log(&[combined])).contains(&"NGINXERROR".to_owned()));
    assert_eq!(tracked(&log(&[error])), ["NGINXERROR"]);
    assert_eq!(tracked(&log(&[noise])).len(), 1);
    let forced = FormatChoice::Forced(Arc::new(format_by_name("COMBINED").expect("known")));
    let mut tracker = FormatTracker::new(forced, TrackerOptions::default(), 0);
    let formats = tracker.track(log(&[combined, common, common]).as_bytes(), 0);
    assert!(formats.spans[0].companions.is_empty());
}

#[test]
fn wrapped_lines_have_wrapped_companions() {
    let wrapped = |line: &str| {
        let text = line.replace('"', "\\\"");
        format!(
            "{{\"log\":\"{text}\\n\",\"stream\":\"stdout\",\"time\":\"2025-12-17T09:03:01Z\"}}\n"
        )
    };
    let log: String = LINES[..1].iter().map(|line| wrapped(line)).collect();
    let names = tracked(&log);
    assert_eq!(names[0], "COMBINED in DOCKER");
    assert!(names.contains(&"NGINXERROR in DOCKER".to_owned()), "{names:?}");
    let names: Vec<&str> = ["COMBINED in DOCKER", "NGINXERROR in DOCKER"].to_vec();
    let lines: Vec<String> =
        [0, 2, 3, 0].iter().map(|line| wrapped(LINES[*line]).trim_end().to_owned()).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (offsets, samples, unparsed) = read(&formats(&names), &blocks(&lines, 9, false));
    let records: Vec<usize> = offsets.values().map(Vec::len).collect();
    assert_eq!((records, unparsed), (vec![2, 1], 1));
    assert_eq!(samples[0][0].text, b"not a record", "the sample is unwrapped");
}

#[test]
fn a_stream_of_every_known_format_is_read_in_a_few() {
    let names = known_formats().iter().map(|format| format.name());
    assert!(names.count() > 20);
    let samples: String = weir_core::format_notes()
        .iter()
        .flat_map(|notes| notes.sample.iter().filter(|line| !line.starts_with('#')))
        .flat_map(|line| [line, "\n", line, "\n"])
        .collect();
    assert!(tracked(&samples).len() <= 8);
}
