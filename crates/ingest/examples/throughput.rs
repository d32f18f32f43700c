//! Parses a generated log in memory, computes all aggregates, and prints the throughput: `cargo run
//! --release --example throughput -p weir-ingest -- MEBIBYTES THREADS...`

use std::time::Instant;

use weir_demo::{Traffic, TrafficOptions};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let bytes = numbers.next().unwrap_or(256) << 20;
    let mut threads: Vec<usize> = numbers.collect();
    if threads.is_empty() {
        threads.push(1);
    }
    // Leaked, because the parsers' threads need a static lifetime.
    let log: &'static [u8] = generate_log(bytes as u64).leak();
    let start = Instant::now();
    let lines = memchr::memchr_iter(b'\n', log).count();
    println!("count of line feeds: {:.2} GB/s", gigabytes_per_s(log.len(), start));
    for retention in [Retention::ValuesOnly, Retention::Segments] {
        for jobs in &threads {
            let data = DataSet::new(retention, 8 << 30, &[]);
            let question = weir_core::Question::default();
            let start = Instant::now();
            let (pipeline, answer) = Pipeline::start_with(
                &PipelineOptions::new(*jobs, retention),
                data.clone(),
                weir_core::Evaluation::new(&question),
            );
            let writer = pipeline.source("memory", None, FormatChoice::Detect);
            let progress = writer.progress().clone();
            let (writer, result) = writer.pull(Box::new(log)).expect("the pipeline takes it");
            result.expect("memory can be read");
            writer.finish(SourceEnd::Done).expect("the pipeline takes it");
            pipeline.finish();
            let answer = answer.merged().expect("no thread failed");
            let speed = gigabytes_per_s(log.len(), start);
            assert_eq!(progress.snapshot().lines, lines as u64);
            println!(
                "{retention:?}, {jobs} threads: {speed:.2} GB/s, {} records, memory {:.3} of the log",
                answer.totals().records,
                data.memory_bytes() as f64 / log.len() as f64
            );
        }
    }
}

fn generate_log(bytes: u64) -> Vec<u8> {
    let mut traffic =
        Traffic::new(TrafficOptions { bytes: Some(bytes), ..TrafficOptions::default() });
    let mut log = Vec::with_capacity(bytes as usize + 4096);
    while traffic.fill(&mut log, 1 << 20) > 0 {}
    log
}

fn gigabytes_per_s(bytes: usize, start: Instant) -> f64 {
    bytes as f64 / start.elapsed().as_secs_f64() / 1e9
}
