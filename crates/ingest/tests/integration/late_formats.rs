//! Formats that appear after the first lines of a log, compared with a reader of one line after
//! another.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use weir_core::{BlockLimits, FollowedFormat, Format, LineParser, Record, detect, format_by_name};
use weir_ingest::{
    DataSet, FormatChoice, FoundRecord, Input, Intake, LineSink, LogLine, Pipeline,
    PipelineOptions, Records, Retention, SourceEnd, SourceOptions, SourceSnapshot, read_inputs,
};
use weir_testkit::lines::{caddy, combined, many, noise};

const TIME: &str = "17/Dec/2025:09:03:01 +0000";

/// Line number `number` of one of several kinds.
fn line(kind: usize, number: usize) -> String {
    match kind {
        0..=3 => combined(number),
        4 => caddy(number),
        5 => noise(number),
        // It may be a torn line in `combined`.
        6 => format!("192.0.2.8 - - [{TIME}] \"GET /{number} HTTP/1.1\" 404 6\n"),
        7 => format!("a.test:80 192.0.2.8 - - [{TIME}] \"GET /{number} HTTP/1.1\" 404 6\n"),
        8 => "2025/12/17 09:03:01 [error] 7#7: *1 open() failed\n".to_owned(),
        9 => format!("1765962181.250 12 192.0.2.8 TCP_MISS/200 {number} GET http://a/ - D/- -\n"),
        10 => "Dec 17 09:03:01 h kernel: [1.5] BLOCK IN=e OUT= SRC=192.0.2.1 DST=192.0.2.2 LEN=4 \
               PROTO=TCP SPT=1 DPT=2\n"
            .to_owned(),
        _ => "\n".to_owned(),
    }
}

const KINDS: usize = 12;

/// The format of each line, by the rule of the documentation.
fn naive(own: &str, log: &str) -> Vec<Option<String>> {
    const COMPANIONS_MAX: usize = 7;
    const LINES_IN_VAIN_MAX: usize = 4_096;
    let parser = |name: &str| LineParser::new(Arc::new(format_by_name(name).expect("known")));
    let errors = ["NGINXERROR", "APACHEERROR", "APACHESYSLOG", "LIGHTTPDERROR"];
    let mut set: Vec<LineParser> = std::iter::once(own).chain(errors).map(parser).collect();
    let (mut seen, mut in_vain) = (Vec::new(), 0);
    let name_of = |line: &str| {
        let line = line.trim_end_matches('\n');
        let parse =
            |parser: &mut LineParser| parser.parse(line.as_bytes(), &mut Record::new()).is_ok();
        if let Some(parser) = set.iter_mut().find_map(|parser| parse(parser).then_some(parser)) {
            return Some(parser.format().name().to_owned());
        }
        if line.is_empty() || set.len() > COMPANIONS_MAX || in_vain >= LINES_IN_VAIN_MAX {
            return None;
        }
        let may_join = |format: &Arc<Format>| !FollowedFormat::new(format.clone()).may_change();
        let candidates = detect(line.as_bytes()).candidates.into_iter();
        let mut matching = candidates.filter(|one| one.parsed_lines > 0 && may_join(&one.format));
        let name = matching.next().map(|one| one.format.name().to_owned());
        // Among these lines, only one in `COMMON` may be a part of a line in another format.
        let has_joined = name.as_deref().is_some_and(|name| {
            own != "COMBINED" || name != "COMMON" || seen.contains(&name.to_owned())
        });
        if !has_joined {
            in_vain += 1;
            seen.extend(name);
            return None;
        }
        set.extend(name.as_deref().map(parser));
        name
    };
    log.split_inclusive('\n').map(name_of).collect()
}

fn known(name: &str) -> FormatChoice {
    let format = Arc::new(format_by_name(name).expect("a known format"));
    FormatChoice::Known { format, companions: Vec::new() }
}

/// Reads the log with a pipeline.
fn report(
    choice: FormatChoice,
    log: &str,
    (block_bytes, jobs, piece): (usize, usize, usize),
) -> SourceSnapshot {
    let options = PipelineOptions {
        limits: limits(block_bytes),
        ..PipelineOptions::new(jobs, Retention::Segments)
    };
    let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("log", None, choice);
    for piece in log.as_bytes().chunks(piece) {
        writer.write_all(piece).expect("there is room");
    }
    writer.finish(SourceEnd::Done).expect("there is room");
    pipeline.finish();
    let snapshot = data.snapshot();
    let rows: usize = snapshot.segments.iter().map(|segment| segment.rows()).sum();
    let source = snapshot.sources.into_iter().next().expect("a source");
    assert_eq!(rows as u64, source.records, "each record is a row");
    source
}

/// The records of each format by name.
fn totals(source: &SourceSnapshot) -> Vec<(String, u64)> {
    let mut totals: Vec<(String, u64)> =
        source.by_format.iter().map(|(format, lines)| (format.name().to_owned(), *lines)).collect();
    totals.sort();
    totals
}

/// The number of lines of each format, from a list of formats by line.
fn totals_of(names: &[Option<String>]) -> Vec<(String, u64)> {
    let mut known: Vec<&String> = names.iter().flatten().collect();
    known.sort();
    let chunks = known.chunk_by(|name, next| name == next);
    chunks.map(|same| (same[0].clone(), same.len() as u64)).collect()
}

/// A file that is removed at the end of the test.
struct LogFile(PathBuf);

impl LogFile {
    fn new(name: &str, log: &str) -> Self {
        let name = format!("weir-late-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut file = std::fs::File::create(&path).expect("a file");
        file.write_all(log.as_bytes()).expect("it is written");
        Self(path)
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The sizes of blocks and lines.
fn limits(block_bytes: usize) -> BlockLimits {
    BlockLimits { block_bytes, line_bytes_max: 1 << 12 }
}

/// Names the format of each line.
struct Names;

impl LineSink for Names {
    type Output = Vec<Option<String>>;

    fn output(&mut self) -> Self::Output {
        Vec::new()
    }

    fn take(
        &mut self,
        line: &LogLine<'_>,
        found: Option<FoundRecord<'_>>,
        names: &mut Self::Output,
    ) {
        assert_eq!(line.number, names.len() as u64, "lines come in their order");
        names.push(found.map(|found| found.format.name().to_owned()));
    }
}

/// The format of each line of the sources that `read` writes, in the order of the log, and the number
/// of unparsed lines.
fn visit(records: &Records, read: impl FnOnce()) -> (Vec<Option<String>>, u64) {
    let mut names = Vec::new();
    let consume = |mut block: weir_ingest::VisitedBlock<'_, Vec<Option<String>>>| {
        assert_eq!(block.lines_before, names.len() as u64);
        names.append(&mut block.output);
        ControlFlow::Continue(())
    };
    records.run(|| Names, consume, read);
    let source = records.sources()[0].snapshot();
    assert_eq!(source.lines, names.len() as u64);
    assert_eq!(source.records, names.iter().flatten().count() as u64);
    (names, source.unparsed_lines)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_on_all_threads_are_read_by_the_rule(
        kinds in vec((0..KINDS, 1_usize..20), 0..60),
        block_bytes in 200_usize..4_000,
        jobs in 1_usize..5,
        piece in 1_usize..3_000,
        is_json in any::<bool>(),
    ) {
        let kinds = kinds.into_iter().flat_map(|(kind, count)| vec![kind; count]);
        let log: String = kinds.enumerate().map(|(number, kind)| line(kind, number)).collect();
        let own = if is_json { "CADDY" } else { "COMBINED" };
        let expected = naive(own, &log);
        let source = report(known(own), &log, (block_bytes, jobs, piece));
        prop_assert_eq!(totals(&source), totals_of(&expected));
        let lines = expected.iter().zip(log.split('\n')).enumerate();
        let unparsed = lines.filter(|(_, (name, line))| name.is_none() && !line.is_empty());
        let unparsed: Vec<u64> = unparsed.map(|(number, _)| number as u64 + 1).collect();
        prop_assert_eq!(source.unparsed_lines, unparsed.len() as u64);
        let samples: Vec<u64> = source.samples.iter().map(|sample| sample.line).collect();
        prop_assert!(samples.iter().all(|line| unparsed.contains(line)));
        let records = Records::with_limits(jobs, limits(block_bytes));
        let (names, in_vain) = visit(&records, || {
            let mut writer = records.open(SourceOptions::new("log", known(own)));
            for piece in log.as_bytes().chunks(piece) {
                writer.write_all(piece).expect("there is room");
            }
            writer.finish(SourceEnd::Done).expect("there is room");
        });
        prop_assert_eq!(names, expected);
        prop_assert_eq!(in_vain, source.unparsed_lines);
    }
}

/// A log whose further formats all appear long after the first 256 KiB.
fn late_log(lines: usize) -> String {
    let kind = |number: usize| match number {
        _ if number < lines / 4 => 0,
        _ if number.is_multiple_of(50) => 7,
        _ if number % 70 == 1 && number > lines / 2 => 6,
        _ if number % 999 == 5 => 5,
        _ if number % 90 == 2 && number > lines / 3 * 2 => 9,
        _ => 0,
    };
    (0..lines).map(|number| line(kind(number), number)).collect()
}

#[test]
fn every_way_to_read_a_file_finds_the_formats_that_come_late() {
    let log = late_log(230_000);
    assert!(log.len() > 17 << 20);
    let expected = naive("COMBINED", &log);
    let lines = totals_of(&expected);
    let names: Vec<&str> = lines.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["COMBINED", "COMMON", "SQUID", "VCOMMON"]);
    let file = LogFile::new("large", &log);
    for threads in [1, 3] {
        let records = Records::new(threads);
        let inputs = [Input::File(file.0.clone().into())];
        let (names, unparsed) = visit(&records, || {
            assert!(read_inputs(&records, &inputs, &FormatChoice::Detect, 1).is_empty());
        });
        assert!(names == expected, "{threads} threads");
        assert_eq!(unparsed, expected.iter().filter(|name| name.is_none()).count() as u64);
        let source = report(FormatChoice::Detect, &log, (1 << 20, threads, 1 << 16));
        assert_eq!((totals(&source), source.unparsed_lines), (lines.clone(), unparsed));
    }
}

#[test]
fn the_search_ends_after_many_lines_in_vain() {
    let log = |lines| many(combined, 10) + &many(noise, lines) + &many(caddy, 3);
    for (lines, found) in [(4_095, 3), (4_096, 0)] {
        let expected = naive("COMBINED", &log(lines));
        let source = report(known("COMBINED"), &log(lines), (1_000, 3, 500));
        assert_eq!(totals(&source), totals_of(&expected));
        assert_eq!(source.records, 10 + found);
    }
}

#[test]
fn a_log_has_at_most_seven_companions() {
    let samples = weir_core::format_notes().iter().map(|notes| {
        notes
            .sample
            .iter()
            .filter(|line| !line.starts_with('#'))
            .fold(String::new(), |log, line| log + line + "\n")
    });
    let log = many(combined, 5) + &samples.collect::<String>();
    let expected = naive("COMBINED", &log);
    let source = report(known("COMBINED"), &log, (700, 4, 300));
    assert_eq!(totals(&source), totals_of(&expected));
    assert!(source.by_format.len() <= 8, "{:?}", totals(&source));
}

#[test]
fn a_forced_format_has_no_companions() {
    let format = Arc::new(format_by_name("COMBINED").expect("a known format"));
    let log = many(combined, 5) + &many(caddy, 5);
    let source = report(FormatChoice::Forced(format), &log, (700, 2, 300));
    assert_eq!((source.records, source.unparsed_lines), (5, 5));
}
