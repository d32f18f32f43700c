//! Feeds generated traffic through a window, and prints the throughput and the longest wait for the
//! data: `cargo run --release --example window -p weir-ingest -- MEBIBYTES WINDOW_MEBIBYTES
//! THREADS`
//!
//! With `new` after these, every path of the traffic is distinct.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_demo::{Traffic, TrafficOptions};
use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd, SourceWriter,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (mebibytes, window, jobs) = (number(0, 1_024), number(1, 64), number(2, 2));
    let has_unique_paths = arguments.iter().any(|argument| argument == "new");
    for retention in [Retention::Window { width: None }, Retention::ValuesOnly] {
        let is_window = retention != Retention::ValuesOnly;
        let memory = if is_window { (window as usize) << 20 } else { 16 << 30 };
        let data = DataSet::new(retention, memory, &[]);
        let options = PipelineOptions {
            memory_bytes_max: memory,
            ..PipelineOptions::new(jobs as usize, retention)
        };
        let pipeline = Pipeline::start(&options, data.clone());
        let writer = pipeline.source("feed", None, FormatChoice::Detect);
        let has_ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let watching = scope.spawn(|| longest_wait(&data, &has_ended));
            let (seconds, lines) = feed(writer, mebibytes, has_unique_paths, pipeline);
            has_ended.store(true, Ordering::Relaxed);
            let (wait, bytes, reuses) = watching.join().unwrap_or_default();
            println!(
                "{retention:?}: {:.0} MiB/s, {lines} lines, values locked for at most {:.2} ms, at \
                 most {:.1} MiB, evicted {reuses} times",
                mebibytes as f64 / seconds,
                wait.as_secs_f64() * 1e3,
                bytes as f64 / f64::from(1 << 20)
            );
        });
    }
}

/// Writes the traffic. Returns the seconds spent outside its generation.
fn feed(
    mut writer: SourceWriter,
    mebibytes: u64,
    has_unique_paths: bool,
    pipeline: Pipeline,
) -> (f64, u64) {
    const PIECE: u64 = 64;
    let progress = writer.progress().clone();
    let mut seconds = 0.0;
    let mut number = 0u64;
    for seed in 0..mebibytes.div_ceil(PIECE) {
        let options =
            TrafficOptions { seed, bytes: Some(PIECE << 20), ..TrafficOptions::default() };
        let mut traffic = Traffic::new(options);
        let mut log = Vec::with_capacity((PIECE as usize) << 20);
        while traffic.fill(&mut log, 1 << 20) > 0 {}
        if has_unique_paths {
            make_paths_unique(&mut log, &mut number);
        }
        let start = Instant::now();
        writer.write_all(&log).expect("the pipeline takes it");
        seconds += start.elapsed().as_secs_f64();
    }
    let start = Instant::now();
    writer.finish(SourceEnd::Done).expect("the pipeline takes it");
    pipeline.finish();
    (seconds + start.elapsed().as_secs_f64(), progress.snapshot().lines)
}

/// Overwrites the beginning of each line's path with a number that no other line has.
fn make_paths_unique(log: &mut [u8], number: &mut u64) {
    let offsets: Vec<usize> = memchr::memmem::find_iter(log, b" /").collect();
    for offset in offsets {
        let path = &mut log[offset + 2..];
        let end = path.iter().position(|byte| b" ?\n\"".contains(byte)).unwrap_or(0);
        let mut digits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 14;
        for digit in &mut path[..end.min(10)] {
            *digit = b"0123456789abcdefghijklmnopqrstuv"[(digits % 32) as usize];
            digits /= 32;
        }
        *number += 1;
    }
}

/// Queries the data set as a page does. Returns the longest wait, the peak of the memory in bytes,
/// and how often values were evicted.
fn longest_wait(data: &Arc<DataSet>, has_ended: &AtomicBool) -> (Duration, usize, u64) {
    let (mut longest, mut bytes) = (Duration::ZERO, 0);
    while !has_ended.load(Ordering::Relaxed) {
        let start = Instant::now();
        drop(data.values());
        longest = longest.max(start.elapsed());
        bytes = bytes.max(data.memory_bytes());
        thread::sleep(Duration::from_micros(200));
    }
    (longest, bytes, data.values().reuses() / 2)
}
