//! Reads whole streams, plain and compressed. Throughput is in bytes of unpacked log per second:
//! `cargo bench -p weir-ingest --bench streams`.

use std::io::Write;

use divan::Bencher;
use divan::counter::BytesCount;
use flate2::Compression;
use flate2::write::GzEncoder;
use weir_demo::{Traffic, TrafficOptions};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, read_stream};

const LOG_BYTES: u64 = 16 << 20;
const MEMORY_BYTES_MAX: usize = 1 << 30;

fn main() {
    divan::main();
}

fn log() -> Vec<u8> {
    let options = TrafficOptions { bytes: Some(LOG_BYTES), ..TrafficOptions::default() };
    let mut traffic = Traffic::new(options);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 20) > 0 {}
    log
}

fn compress(log: &[u8], compression: &str) -> Vec<u8> {
    match compression {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(log).expect("memory takes it");
            encoder.finish().expect("memory takes it")
        }
        "zstd" => zstd::encode_all(log, 3).expect("memory takes it"),
        _ => log.to_vec(),
    }
}

/// Decompresses on one thread and parses on all cores.
#[divan::bench(args = ["plain", "gzip", "zstd"], sample_count = 10, sample_size = 1)]
fn stream(bencher: Bencher<'_, '_>, compression: &str) {
    let log = log();
    let lines = log.iter().filter(|byte| **byte == b'\n').count() as u64;
    let stream = compress(&log, compression);
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    bencher.counter(BytesCount::new(log.len())).bench(|| {
        let data = DataSet::new(Retention::ValuesOnly, MEMORY_BYTES_MAX, &[]);
        let options = PipelineOptions::new(jobs, Retention::ValuesOnly);
        let pipeline = Pipeline::start(&options, data.clone());
        let read = read_stream(&pipeline, "stream", None, &stream[..], FormatChoice::Detect);
        read.expect("the stream is whole");
        pipeline.finish();
        assert_eq!(data.sources()[0].snapshot().lines, lines);
    });
}
