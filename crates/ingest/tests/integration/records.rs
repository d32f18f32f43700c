//! Records: the lines of sources, once and in order.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use proptest::prelude::*;
use weir_core::BlockLimits;
use weir_ingest::{
    BlockStart, FormatChoice, FoundRecord, Intake, LineSink, LogLine, LogLines, Records, SourceEnd,
    SourceOptions, StopReason, VisitedBlock, read_stream,
};
use weir_testkit::lines::{caddy, combined, many, noise};

/// A line as a sink gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    bytes: Vec<u8>,
    number: u64,
    offset: u64,
    format: Option<String>,
}

/// Keeps the lines, and the names of the formats of blocks.
#[derive(Default)]
struct Keep {
    reads_records: bool,
}

#[derive(Default)]
struct Kept {
    lines: Vec<Seen>,
    formats: Vec<(String, bool)>,
}

impl LineSink for Keep {
    type Output = Kept;

    fn output(&mut self) -> Kept {
        Kept::default()
    }

    fn begin(&mut self, block: &BlockStart<'_>, kept: &mut Kept) {
        kept.formats.push((block.format.name().to_owned(), block.is_format_known));
    }

    fn take(&mut self, line: &LogLine<'_>, found: Option<FoundRecord<'_>>, kept: &mut Kept) {
        let LogLine { bytes, number, offset } = *line;
        let format = found.map(|found| found.format.name().to_owned());
        kept.lines.push(Seen { bytes: bytes.to_vec(), number, offset, format });
    }

    fn reads_records(&self) -> bool {
        self.reads_records
    }

    fn take_lines(&mut self, lines: &LogLines<'_>, kept: &mut Kept) -> u64 {
        let LogLines { bytes, first, mut offset } = *lines;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let seen = (first..).zip(lines).map(|(number, line)| {
            let start = offset;
            offset += line.len() as u64;
            let bytes = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
            Seen { bytes, number, offset: start, format: None }
        });
        let before = kept.lines.len();
        kept.lines.extend(seen);
        (kept.lines.len() - before) as u64
    }
}

/// The lines that `read` writes, by the number of their source.
fn keep(records: &Records, reads_records: bool, read: impl FnOnce()) -> Vec<(u32, Kept)> {
    let mut kept = Vec::new();
    let consume = |block: VisitedBlock<'_, Kept>| {
        kept.push((block.source.number(), block.output));
        ControlFlow::Continue(())
    };
    records.run(|| Keep { reads_records }, consume, read);
    kept
}

fn lines_of(kept: Vec<(u32, Kept)>) -> Vec<Seen> {
    kept.into_iter().flat_map(|(_, kept)| kept.lines).collect()
}

fn limits(block_bytes: usize, line_bytes_max: usize) -> BlockLimits {
    BlockLimits { block_bytes, line_bytes_max }
}

fn write(records: &Records, choice: FormatChoice, log: &[u8], piece: usize) {
    let mut writer = records.open(SourceOptions::new("log", choice));
    for piece in log.chunks(piece) {
        writer.write_all(piece).expect("there is room");
    }
    writer.finish(SourceEnd::Done).expect("there is room");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Numbers, offsets and bytes of lines do not depend on blocks and threads, and lines that are
    /// not read as records are the same.
    #[test]
    fn lines_are_those_of_the_log(
        lengths in prop::collection::vec(prop_oneof![0usize..30, 30usize..90], 0..60),
        ends in prop::collection::vec(prop::sample::select(&["\n", "\r\n", "\n\0\0", "\n\u{FEFF}"][..]), 60),
        block_bytes in 1usize..300,
        jobs in 1usize..4,
        piece in 1usize..200,
    ) {
        const LINE_BYTES_MAX: usize = 60;
        let mut log = Vec::new();
        for (length, end) in lengths.iter().zip(&ends) {
            log.extend(std::iter::repeat_n(b'a', *length));
            log.extend(end.bytes());
        }
        log.extend(b"end");
        let mut expected = Vec::new();
        let mut start = 0;
        for (number, line) in (0..).zip(log.split_inclusive(|byte| *byte == b'\n')) {
            let nuls = line.iter().take_while(|byte| **byte == 0).count();
            let text = line[nuls..].strip_suffix(b"\n").unwrap_or(&line[nuls..]);
            let bare = text.strip_suffix(b"\r").unwrap_or(text);
            let bare = bare.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bare);
            if bare.len() <= LINE_BYTES_MAX {
                let offset = (start + nuls) as u64;
                expected.push(Seen { bytes: text.to_vec(), number, offset, format: None });
            }
            start += line.len();
        }
        for reads_records in [true, false] {
            let records = Records::with_limits(jobs, limits(block_bytes, LINE_BYTES_MAX));
            let records = records.numbering_lines();
            let read = || write(&records, FormatChoice::Unread, &log, piece);
            let lines = lines_of(keep(&records, reads_records, read));
            prop_assert_eq!(&lines, &expected);
            let source = records.sources()[0].snapshot();
            let lines = log.split_inclusive(|byte| *byte == b'\n').count() as u64;
            prop_assert_eq!(source.lines, lines);
            prop_assert_eq!(source.too_long_lines, lines - expected.len() as u64);
            prop_assert_eq!(source.bytes_parsed, log.len() as u64);
        }
    }
}

#[test]
fn directives_and_formats_that_return_are_followed() {
    let log = "#Fields: date time c-ip\n2025-12-17 09:03:01 ::1\n#Fields: c-ip date time\n\
               ::1 2025-12-17 09:03:01\n::1\n#Fields: date time c-ip\n2025-12-17 09:03:01 ::1\n";
    let records = Records::with_limits(3, limits(20, 1_000));
    let kept = keep(&records, true, || write(&records, FormatChoice::Detect, log.as_bytes(), 7));
    let formats: Vec<bool> = lines_of(kept).iter().map(|line| line.format.is_some()).collect();
    assert_eq!(formats, [false, true, false, true, false, false, true]);
    let source = records.sources()[0].snapshot();
    assert_eq!((source.records, source.unparsed_lines), (3, 1), "directives are neither");
}

#[test]
fn empty_lines_are_not_unparsed() {
    let log = many(combined, 3) + "\n\r\n" + &many(noise, 2);
    let records = Records::new(2);
    let kept = keep(&records, true, || write(&records, FormatChoice::Detect, log.as_bytes(), 99));
    assert_eq!(lines_of(kept).len(), 7);
    let source = records.sources()[0].snapshot();
    assert_eq!((source.lines, source.records, source.unparsed_lines), (7, 3, 2));
}

#[test]
fn a_format_is_not_known_before_it_is_found() {
    // The first 256 KiB are in no format.
    let noise = many(noise, 1_000);
    let log = noise.repeat((260 << 10) / noise.len() + 1) + &many(combined, 3_000);
    let records = Records::new(2);
    let kept = keep(&records, true, || write(&records, FormatChoice::Detect, log.as_bytes(), 999));
    let mut formats: Vec<(String, bool)> =
        kept.into_iter().flat_map(|(_, kept)| kept.formats).collect();
    formats.dedup();
    let combined = |is_known| ("COMBINED".to_owned(), is_known);
    assert_eq!(formats, [combined(false), combined(true)]);
}

#[test]
fn lines_that_are_not_wanted_count_as_nothing() {
    struct Wanted;
    impl LineSink for Wanted {
        type Output = u64;
        fn output(&mut self) -> u64 {
            0
        }
        fn wants(&mut self, line: &LogLine<'_>, _: &mut u64) -> bool {
            line.number % 2 == 1
        }
        fn take(&mut self, _: &LogLine<'_>, _: Option<FoundRecord<'_>>, count: &mut u64) {
            *count += 1;
        }
    }
    let log = many(combined, 10) + &many(noise, 10);
    let records = Records::new(1).numbering_lines();
    let mut count = 0;
    let consume = |block: VisitedBlock<'_, u64>| {
        count += block.output;
        ControlFlow::Continue(())
    };
    records.run(|| Wanted, consume, || write(&records, FormatChoice::Detect, log.as_bytes(), 99));
    let source = records.sources()[0].snapshot();
    assert_eq!((count, source.lines), (10, 20));
    assert_eq!((source.records, source.unparsed_lines), (5, 5));
}

/// A stream without an end.
struct Endless(String, usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = (&self.0.as_bytes()[self.1..]).read(buffer)?;
        self.1 = (self.1 + length) % self.0.len();
        Ok(length)
    }
}

#[test]
fn a_consumer_that_breaks_stops_everything() {
    let records = Records::new(2);
    let mut blocks = 0;
    let consume = |_: VisitedBlock<'_, Kept>| {
        blocks += 1;
        if blocks == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let read = || {
        let log = Endless(many(combined, 100), 0);
        read_stream(&records, "endless", None, log, FormatChoice::Detect)
    };
    let stopped = records.run(|| Keep { reads_records: true }, consume, read);
    assert_eq!(stopped.expect_err("it has no end").to_string(), "reading was cancelled");
    assert_eq!(blocks, 3);
}

#[test]
fn a_source_that_is_satisfied_is_read_no_further_and_the_next_one_is() {
    let records = Records::new(2);
    let mut lines = [0, 0];
    let consume = |block: VisitedBlock<'_, Kept>| {
        lines[block.source.number() as usize] += block.output.lines.len();
        if block.source.number() == 0 {
            block.source.satisfy();
        }
        ControlFlow::Continue(())
    };
    let read = || {
        let log = Endless(many(combined, 100), 0);
        read_stream(&records, "endless", None, log, FormatChoice::Detect).expect("not an error");
        write(&records, FormatChoice::Detect, many(caddy, 5).as_bytes(), 99);
    };
    records.run(|| Keep { reads_records: true }, consume, read);
    assert!(lines[0] > 0);
    assert_eq!(lines[1], 5);
}

#[test]
fn it_can_be_cancelled_from_another_thread() {
    let records = Records::new(2);
    let (sender, begun) = channel();
    let sender = Mutex::new(sender);
    std::thread::scope(|scope| {
        let records = &records;
        let canceller = scope.spawn(move || {
            begun.recv().expect("a block");
            records.cancel();
        });
        let consume = |_: VisitedBlock<'_, Kept>| {
            let _ = sender.lock().expect("no panic").send(());
            ControlFlow::Continue(())
        };
        let read = || {
            let mut writer = records.open(SourceOptions::new("log", FormatChoice::Detect));
            let line = combined(1);
            loop {
                if let Err(stopped) = writer.write_all(line.as_bytes()) {
                    return stopped;
                }
            }
        };
        let stopped = records.run(|| Keep { reads_records: true }, consume, read);
        assert_eq!(stopped, StopReason::Cancelled);
        canceller.join().expect("no panic");
    });
}

/// A server reads in a thread of its own what tasks receive.
#[tokio::test]
async fn a_task_may_write_while_a_thread_reads() {
    let records = std::sync::Arc::new(Records::new(1));
    let (closer, closed) = channel::<()>();
    let reading = std::thread::spawn({
        let records = records.clone();
        move || {
            let mut count = 0;
            let consume = |block: VisitedBlock<'_, Kept>| {
                count += block.output.lines.len();
                ControlFlow::Continue(())
            };
            // The tasks that write keep the other end.
            records.run(|| Keep { reads_records: true }, consume, || closed.recv().is_err());
            count
        }
    });
    let mut writer = records.open(SourceOptions::new("upload", FormatChoice::Detect));
    writer.write_all_async(many(combined, 1_000).as_bytes()).await.expect("there is room");
    writer.finish_async(SourceEnd::Done).await.expect("there is room");
    drop(closer);
    assert_eq!(reading.join().expect("no panic"), 1_000);
}
