//! Files and streams: compressed, damaged, truncated, endless, cancelled.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use weir_core::SnapshotSegment;
use weir_demo::{Traffic, TrafficOptions};
use weir_ingest::{
    DataSet, FormatChoice, Input, Pipeline, PipelineOptions, ReadError, Retention, SourceEnd,
    SourceError, SourceSnapshot, StopReason, read_inputs, read_stream,
};

fn generated(bytes: u64) -> Vec<u8> {
    let mut traffic =
        Traffic::new(TrafficOptions { bytes: Some(bytes), ..TrafficOptions::default() });
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

/// Reads a stream and returns the source in its final state.
fn read(stream: impl Read) -> (Result<(), ReadError>, SourceSnapshot) {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let options = PipelineOptions::new(2, Retention::ValuesOnly);
    let pipeline = Pipeline::start(&options, data.clone());
    let result = read_stream(&pipeline, "test", None, stream, FormatChoice::Detect);
    pipeline.finish();
    (result, data.sources()[0].snapshot())
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[test]
fn compressed_streams_are_detected_from_their_first_bytes() {
    let log = generated(3 << 20);
    let (first, second) = log.split_at(log.len() / 3);
    let several = |encode: fn(&[u8]) -> Vec<u8>| [encode(first), encode(second)].concat();
    for stream in [log.clone(), gzip(&log), zstd(&log), several(gzip), several(zstd)] {
        let (result, source) = read(&stream[..]);
        assert!(result.is_ok());
        assert_eq!(source.lines, lines(&log));
        assert_eq!(source.bytes_parsed, log.len() as u64);
        assert_eq!(source.bytes_done, stream.len() as u64, "bytes of the medium");
        assert_eq!(source.end, Some(SourceEnd::Done));
    }
}

#[test]
fn lines_before_a_truncation_are_kept() {
    let log = generated(2 << 20);
    for (stream, name) in [(gzip(&log), "gzip"), (zstd(&log), "zstd")] {
        let (result, source) = read(&stream[..stream.len() / 2]);
        let error = result.expect_err("the stream is cut");
        let message = error.to_string();
        assert!(message.contains(name) && message.contains("cut short"), "{message}");
        assert!(source.lines > lines(&log) / 4, "{} of {}", source.lines, lines(&log));
        assert_eq!(source.end, Some(SourceEnd::from(&error)));
    }
}

#[test]
fn lines_before_damage_are_kept() {
    let log = generated(2 << 20);
    let mut stream = gzip(&log);
    let middle = stream.len() / 2;
    stream[middle..middle + 64].fill(0xFF);
    let (result, source) = read(&stream[..]);
    assert!(result.is_err());
    assert!(source.lines > 0);
}

/// Fails after some bytes, as a disk or a network file system does.
struct FailingReader<'a>(&'a [u8]);

impl Read for FailingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the disk is gone"));
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_read_error_has_the_offset() {
    let log = generated(1 << 20);
    let (result, source) = read(FailingReader(&log));
    let message = result.expect_err("the stream fails").to_string();
    assert_eq!(message, format!("reading failed at byte {}: the disk is gone", log.len()));
    assert_eq!(source.lines, lines(&log));
}

/// A stream that fails after its bytes.
fn failing(bytes: Vec<u8>) -> impl Read + Send {
    struct FailingEnd;
    impl Read for FailingEnd {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    io::Cursor::new(bytes).chain(FailingEnd)
}

#[test]
fn lines_before_an_error_of_a_pulled_stream_are_kept() {
    let log = generated(3 << 20);
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(2, Retention::ValuesOnly), data.clone());
    let writer = pipeline.source("test", None, FormatChoice::Detect);
    let torn = log[..log.len() - 10].to_vec();
    let (writer, result) = writer.pull(Box::new(failing(torn))).expect("the pipeline goes on");
    let error = result.expect_err("it fails");
    assert_eq!(
        error.to_string(),
        format!("reading failed at byte {}: the disk is gone", log.len() - 10)
    );
    writer.finish(SourceEnd::from(&error)).expect("the pipeline goes on");
    pipeline.finish();
    assert_eq!(data.sources()[0].snapshot().lines, lines(&log), "the torn line included");
}

#[test]
fn a_pulling_writer_is_notified_however_its_source_ends() {
    let log = generated(8 << 20);
    // Cancelled by a read of the source itself, alone or with the whole pipeline.
    for all in [false, true] {
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let options = PipelineOptions::new(2, Retention::Segments);
        let pipeline = Arc::new(Pipeline::start(&options, data.clone()));
        let writer = pipeline.source("test", None, FormatChoice::Detect);
        let (progress, cancelled) = (writer.progress().clone(), Arc::downgrade(&pipeline));
        let cancel = Callback(move || match cancelled.upgrade().filter(|_| all) {
            Some(pipeline) => pipeline.cancel(),
            None => progress.cancel(),
        });
        let stream = io::Cursor::new(log.clone()).chain(cancel).chain(io::repeat(b'\n'));
        match writer.pull(Box::new(stream)) {
            Ok((_, Err(ReadError::Stopped(StopReason::Cancelled)))) => {}
            // A pipeline that ends drops the streams that it was to read.
            Err(StopReason::Cancelled) if all => {}
            other => panic!("{other:?}"),
        }
    }
    let data = DataSet::new(Retention::Segments, 64 << 10, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(2, Retention::Segments), data);
    let writer = pipeline.source("test", None, FormatChoice::Detect);
    // Endless, because a log that fits the queue may be read before the workers fill the memory.
    let stream = Endless { log, at: 0 };
    let (_, result) = writer.pull(Box::new(stream)).expect("it is not cancelled");
    assert!(matches!(result, Err(ReadError::Stopped(StopReason::MemoryFull))), "{result:?}");
}

/// An empty stream that calls a function when it is read.
struct Callback<F>(F);

impl<F: Fn()> Read for Callback<F> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        (self.0)();
        Ok(0)
    }
}

#[test]
fn unusual_sources_end() {
    let (result, source) = read(io::empty());
    assert!(result.is_ok());
    assert_eq!((source.lines, source.format.is_none()), (0, true));

    let (result, source) = read(&[0u8; 5000][..]);
    assert!(result.is_ok());
    assert_eq!(source.lines, 0, "NULs alone are not a line");

    let noise: Vec<u8> =
        (0..200_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (result, source) = read(&noise[..]);
    assert!(result.is_ok());
    assert_eq!(source.records, 0);
    assert_eq!(source.lines, source.unparsed_lines + source.too_long_lines);
    assert!(source.format.is_none() && !source.samples.is_empty());
}

#[test]
fn inputs_that_are_not_files_are_reported() {
    let faults_of = |path: PathBuf| {
        let data = DataSet::new(Retention::ValuesOnly, 1 << 20, &[]);
        let options = PipelineOptions::new(1, Retention::ValuesOnly);
        let pipeline = Pipeline::start(&options, data);
        read_inputs(&pipeline, &[Input::File(path.into())], &FormatChoice::Detect, 1)
    };
    let missing = std::env::temp_dir().join("weir-test-no-such-file");
    assert!(matches!(faults_of(missing)[0].error(), Some(ReadError::Open(_))));
    let message = faults_of(std::env::temp_dir())[0].to_string();
    assert!(message.contains("directory"), "{message}");
}

#[test]
fn times_without_a_year_take_it_from_the_modification_time() {
    let line = |day: &str| {
        format!("{day} 10:00:00 host kernel: IN=eth0 OUT= SRC=192.0.2.1 DST=192.0.2.2 PROTO=TCP\n")
    };
    let folder = std::env::temp_dir().join(format!("weir-test-years-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let written = |year_s: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(year_s);
    // Last written in June 2019 and in June 2022.
    let files = [("old", 1_559_390_400), ("new.gz", 1_654_084_800)].map(|(name, unix_s)| {
        let path = folder.join(name);
        let text = [line("Dec 31"), line("Jan  2")].concat().into_bytes();
        let text = if name.ends_with(".gz") { gzip(&text) } else { text };
        std::fs::write(&path, text).expect("a file");
        let file = std::fs::File::options().write(true).open(&path).expect("a file");
        file.set_modified(written(unix_s)).expect("a time");
        Input::File(path.into())
    });
    let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
    let faults = read_inputs(&pipeline, &files, &FormatChoice::Detect, 1);
    assert!(faults.is_empty(), "{faults:?}");
    pipeline.finish();
    let mut ranges: Vec<_> =
        data.snapshot().segments.iter().filter_map(|kept| kept.segment.time_range_ns()).collect();
    ranges.sort_unstable();
    let day = |text: &str| weir_core::parse_rfc3339(text.as_bytes()).expect("a time").unix_ns;
    let expected = [
        (day("2018-12-31T10:00:00Z"), day("2019-01-02T10:00:00Z")),
        (day("2021-12-31T10:00:00Z"), day("2022-01-02T10:00:00Z")),
    ];
    assert_eq!(ranges, expected);
    std::fs::remove_dir_all(folder).expect("it is ours");
}

/// A log that begins again at its end.
struct Endless<L> {
    log: L,
    at: usize,
}

impl<L: AsRef<[u8]>> Read for Endless<L> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let log = self.log.as_ref();
        let length = (&log[self.at..]).read(buffer)?;
        self.at = (self.at + length) % log.len();
        Ok(length)
    }
}

#[test]
fn a_cancelled_source_ends_at_once_and_keeps_what_was_parsed() {
    let log = generated(1 << 20);
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options = PipelineOptions::new(4, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let result = std::thread::scope(|scope| {
        let endless = Endless { log: &log, at: 0 };
        let reader =
            scope.spawn(|| read_stream(&pipeline, "endless", None, endless, FormatChoice::Detect));
        while data.snapshot().segments.len() < 3 {
            std::thread::yield_now();
        }
        data.sources()[0].cancel();
        reader.join().expect("the reader does not panic")
    });
    assert!(matches!(result, Err(ReadError::Stopped(StopReason::Cancelled))));
    pipeline.finish();
    let source = data.sources()[0].snapshot();
    assert_eq!(source.end, Some(SourceEnd::Cancelled));
    let rows: usize = data.snapshot().segments.iter().map(SnapshotSegment::rows).sum();
    assert_eq!(source.records, rows as u64);
    // The counts are those of the log's start, without a missing block.
    let (rounds, rest) =
        (source.bytes_parsed / log.len() as u64, source.bytes_parsed as usize % log.len());
    assert_eq!(source.lines, rounds * lines(&log) + lines(&log[..rest]));
}

#[test]
fn dropping_the_pipeline_ends_a_waiting_source_and_frees_the_data() {
    let log = generated(1 << 20);
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let freed = Arc::downgrade(&data);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
    let mut writer = pipeline.source("endless", None, FormatChoice::Detect);
    // While the values are held, no block can be appended, so the queue fills and waits.
    let values = data.values();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || while writer.write_all(&log).is_ok() {});
        // Real time, because only a thread that is not blocked could show the mistake.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished(), "the queue is bounded");
        drop(values);
        drop(pipeline);
        waiting.join().expect("the writer does not panic");
    });
    drop(data);
    let start = Instant::now();
    while freed.strong_count() > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "the threads end");
        std::thread::yield_now();
    }
}

#[test]
fn a_stalled_parser_bounds_what_is_received() {
    let log = generated(4 << 20);
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options = PipelineOptions::new(2, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("fast", None, FormatChoice::Detect);
    // The first block determines the format.
    writer.write_all(&log[..2 << 20]).expect("the pipeline takes it");
    let values = data.values();
    let (sender, received) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for piece in log.chunks(1 << 16).cycle().take(2_000) {
                if writer.write_all(piece).is_err() {
                    return;
                }
                let _ = sender.send(piece.len());
            }
        });
        let mut bytes = 0;
        while let Ok(more) = received.recv_timeout(Duration::from_millis(300)) {
            bytes += more;
        }
        // The queue, the blocks that each parser may have parsed early, and the cutter.
        let block_memory = options.limits.block_bytes + options.limits.line_bytes_max;
        let bound = options.queue_bytes_max + (options.jobs * 5 + 1) * block_memory;
        assert!(bytes < bound, "{bytes} bytes were taken, {bound} is the bound");
        drop(values);
        drop(received);
    });
}

#[test]
fn the_memory_limit_stops_a_source_and_is_reported() {
    let log = generated(8 << 20);
    let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
    let options = PipelineOptions::new(2, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let endless = Endless { log: &log, at: 0 };
    let result = read_stream(&pipeline, "endless", None, endless, FormatChoice::Detect);
    assert!(matches!(result, Err(ReadError::Stopped(StopReason::MemoryFull))));
    pipeline.finish();
    let source = data.sources()[0].snapshot();
    assert!(source.records > 0);
    assert_eq!(source.end, Some(SourceEnd::Failed(SourceError::MemoryFull)));
}

#[test]
fn a_small_file_that_becomes_gigabytes_takes_little_memory() {
    // 256 MiB of the same line are a few kilobytes of zstd.
    let line = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n";
    let lines = (256 << 20) / line.len();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    for _ in 0..lines {
        encoder.write_all(line).expect("memory takes it");
    }
    let bomb = encoder.finish().expect("memory takes it");
    assert!(bomb.len() < 1 << 20);
    let (result, source) = read(&bomb[..]);
    assert!(result.is_ok());
    assert_eq!(source.records, lines as u64);
}

#[test]
fn a_writer_that_waits_for_a_cancelled_pipeline_continues() {
    let log = generated(1 << 20);
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
    let mut writer = pipeline.source("upload", None, FormatChoice::Detect);
    let progress = writer.progress().clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    // The first block determines the format.
    runtime.block_on(writer.write_all_async(&log)).expect("the pipeline takes it");
    runtime.block_on(writer.wait_until_parsed());
    // While the values are held, no block can be appended.
    let values = data.values();
    assert!(writer.push(b"a line\n") > 0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| runtime.block_on(writer.finish_async(SourceEnd::Done)));
        // Real time, because only a thread that is not blocked could show the mistake.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        pipeline.cancel();
        waiting.join().expect("it does not panic").ok();
        assert_eq!(progress.end(), Some(SourceEnd::Cancelled));
        drop(values);
    });
}

#[test]
fn a_source_whose_rest_exceeds_the_memory_limit_is_not_done() {
    let log = generated(8 << 20);
    let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
    let options = PipelineOptions::new(2, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut late = pipeline.source("late", None, FormatChoice::Detect);
    assert!(late.push(&log[..1000]) > 0);
    let _ = read_stream(&pipeline, "log", None, &log[..], FormatChoice::Detect);
    while !data.is_full() {
        std::thread::yield_now();
    }
    let progress = late.progress().clone();
    assert_eq!(late.finish(SourceEnd::Done), Err(StopReason::MemoryFull));
    assert!(matches!(progress.end(), Some(SourceEnd::Failed(_))), "{:?}", progress.end());
}

#[test]
fn a_source_without_a_format_is_read_to_its_end() {
    let noise = b"this is no access log, however long it goes on\n".repeat(600_000);
    let (result, source) = read(&noise[..]);
    assert!(result.is_ok());
    assert_eq!((source.records, source.unparsed_lines), (0, 600_000));
    assert!(source.format.is_none());
}

#[tokio::test]
async fn noise_in_small_pieces_does_not_end_the_search_for_a_format() {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::ValuesOnly), data.clone());
    let mut writer = pipeline.source("feed", None, FormatChoice::Detect);
    // A scanner that probes a port again and again.
    for _ in 0..500 {
        writer.write_all_async(b"HELP\r\n").await.expect("there is room");
        writer.flush_async().await.expect("there is room");
    }
    let line = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 1\n";
    writer.write_all_async(line).await.expect("there is room");
    writer.finish_async(SourceEnd::Done).await.expect("there is room");
    let source = data.sources()[0].snapshot();
    assert!(source.format.is_some());
    assert_eq!((source.records, source.unparsed_lines), (1, 500));
}
