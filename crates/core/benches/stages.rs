//! Each stage alone, on one core, in bytes of log per second:
//! `cargo bench -p weir-core --bench stages`.

use std::sync::{Arc, LazyLock};

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use weir_core::{
    Block, BlockCutter, BlockLimits, BlockReader, Clause, CompiledFilter, Evaluation, Field,
    Filter, Fold, Format, LineParser, Lines, Question, Record, Segment, TextTest, Values,
    format_by_name,
};
use weir_demo::{Traffic, TrafficOptions};

/// Large enough for a few thousand distinct values, and small enough to generate quickly.
const LOG_BYTES: u64 = 16 << 20;

fn main() {
    divan::main();
}

static COMBINED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let options = TrafficOptions { bytes: Some(LOG_BYTES), ..TrafficOptions::default() };
    let mut traffic = Traffic::new(options).with_dirt_every(0);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 20) > 0 {}
    log
});

/// The same records as JSON lines, with the names of nginx.
static JSON: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut parser = LineParser::new(format("COMBINED"));
    let mut log = Vec::new();
    for line in Lines::new(&COMBINED) {
        let mut record = Record::new();
        parser.parse(line.bytes, &mut record).expect("the generator writes combined lines");
        let text = |field| record.text(field).map(String::from_utf8_lossy);
        let object = serde_json::json!({
            "time_iso8601": "2026-11-02T00:00:00+00:00",
            "remote_addr": text(Field::Client),
            "remote_user": text(Field::User),
            "request_method": text(Field::Method),
            "request_uri": text(Field::Path),
            "server_protocol": text(Field::Protocol),
            "status": text(Field::Status),
            "body_bytes_sent": record.number(weir_core::Field::Bytes),
            "http_referer": text(Field::Referer),
            "http_user_agent": text(Field::UserAgent),
        });
        serde_json::to_writer(&mut log, &object).expect("writing to memory succeeds");
        log.push(b'\n');
    }
    log
});

static BLOCKS: LazyLock<Vec<Block>> = LazyLock::new(|| cut(&COMBINED));

fn format(name: &str) -> Arc<Format> {
    Arc::new(format_by_name(name).expect("the format is known"))
}

fn cut(mut log: &[u8]) -> Vec<Block> {
    let mut cutter = BlockCutter::new(BlockLimits::default());
    let mut blocks = Vec::new();
    while !log.is_empty() {
        let taken = cutter.push(log);
        log = &log[taken..];
        if cutter.is_full() {
            blocks.extend(cutter.cut());
        }
    }
    blocks.extend(cutter.finish());
    blocks
}

fn bytes(log: &[u8]) -> BytesCount {
    BytesCount::new(log.len())
}

#[divan::bench]
fn blocks(bencher: Bencher<'_, '_>) {
    let log = &*COMBINED;
    let mut cutter = BlockCutter::new(BlockLimits::default());
    bencher.counter(bytes(log)).bench_local(|| {
        let mut rest = black_box(log.as_slice());
        while !rest.is_empty() {
            let taken = cutter.push(rest);
            rest = &rest[taken..];
            // Reuse the memory of a block, as the pipeline does.
            if cutter.is_full()
                && let Some(block) = cutter.cut()
            {
                cutter.recycle(block.into_buffer());
            }
        }
    });
}

#[divan::bench]
fn lines(bencher: Bencher<'_, '_>) {
    let log = &*COMBINED;
    bencher.counter(bytes(log)).bench(|| Lines::new(black_box(log)).count());
}

#[divan::bench(args = ["COMBINED", "JSON"], sample_count = 20)]
fn fields(bencher: Bencher<'_, '_>, name: &str) {
    let log = if name == "JSON" { &*JSON } else { &*COMBINED };
    let mut parser = LineParser::new(format(name));
    let lines = Lines::new(log).count();
    bencher.counter(bytes(log)).bench_local(|| {
        let mut parsed = 0;
        for line in Lines::new(black_box(log)) {
            let mut record = Record::new();
            parsed += usize::from(parser.parse(line.bytes, &mut record).is_ok());
            black_box(&record);
        }
        assert_eq!(parsed, lines);
    });
}

/// A reader that has interned all values of the log, and the shared values.
fn reader() -> (BlockReader, Values) {
    let mut values = Values::new(1 << 30);
    let mut reader = BlockReader::new(format("COMBINED"), BlockLimits::default(), &mut values);
    segments(&mut reader, &mut values);
    (reader, values)
}

fn segments(reader: &mut BlockReader, values: &mut Values) -> Vec<Segment> {
    let blocks = BLOCKS.iter().map(|block| {
        let read = reader.read(black_box(block), 0);
        let resolved = reader.resolve(read, || &mut *values);
        reader.seal(resolved).into_segment()
    });
    blocks.collect()
}

#[divan::bench(sample_count = 20)]
fn columns_of_known_values(bencher: Bencher<'_, '_>) {
    let (mut reader, mut values) = reader();
    bencher.counter(bytes(&COMBINED)).bench_local(|| segments(&mut reader, &mut values));
}

#[divan::bench(sample_count = 20)]
fn columns_of_new_values(bencher: Bencher<'_, '_>) {
    LazyLock::force(&BLOCKS);
    bencher.counter(bytes(&COMBINED)).bench_local(reader);
}

const FILTERS: [&str; 4] = ["none", "status = 404", "user_agent ~ bot", "method != GET"];

fn filter(name: &str, values: &Values) -> Filter {
    let regex = TextTest::matches("(?i)bot").expect("the expression is valid");
    let (field, test, negated) = match name {
        "status = 404" => ("status", TextTest::OneOf(vec![b"404".to_vec()]), false),
        "user_agent ~ bot" => ("user_agent", regex, false),
        "method != GET" => ("method", TextTest::OneOf(vec![b"GET".to_vec()]), true),
        _ => return Filter::default(),
    };
    let clause = Clause::text(values, field, test, negated).expect("the field exists");
    Filter::of(vec![clause])
}

#[divan::bench(args = FILTERS[1..].iter())]
fn filter_select(bencher: Bencher<'_, '_>, name: &str) {
    let (mut reader, mut values) = reader();
    let segments = segments(&mut reader, &mut values);
    let mut filter = CompiledFilter::new(&filter(name, &values));
    filter.refresh(&values);
    bencher.counter(bytes(&COMBINED)).bench(|| {
        segments.iter().map(|segment| filter.select(black_box(segment)).len()).sum::<usize>()
    });
}

#[divan::bench(args = FILTERS, sample_count = 20)]
fn aggregates(bencher: Bencher<'_, '_>, name: &str) {
    let (mut reader, mut values) = reader();
    let segments = segments(&mut reader, &mut values);
    let question = Question { filter: filter(name, &values), ..Question::default() };
    bencher.counter(bytes(&COMBINED)).bench(|| {
        let mut evaluation = Evaluation::new(&question);
        evaluation.refresh(&values);
        segments.iter().for_each(|segment| evaluation.update(black_box(segment)));
        evaluation.totals().records
    });
}
