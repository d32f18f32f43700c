//! Logs whose lines change the format, as W3C logs do: every chunking and number of threads
//! against parsing line by line.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{BlockLimits, FollowedFormat, Format, LineParser, Lines, Record};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_testkit::{chunking, fixtures};

/// The fields by which a row of the data set and a record are compared.
type Row = (Option<i64>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>, Option<u64>);

/// Rows, and the number of lines that could not be parsed.
type Answer = (Vec<Row>, u64);

const COLUMNS: [&str; 3] = ["client", "path", "s-ip"];

fn by_line(log: &[u8], format: &Arc<Format>) -> Answer {
    let mut followed = FollowedFormat::new(format.clone());
    let mut parser = LineParser::new(format.clone());
    let (mut rows, mut unparsed_lines) = (Vec::new(), 0);
    for line in Lines::new(log) {
        if followed.follow(line.bytes) {
            parser = LineParser::new(followed.format().clone());
        }
        if parser.read_directive(line.bytes) {
            continue;
        }
        let mut record = Record::new();
        if let Err(mismatch) = parser.parse(line.bytes, &mut record) {
            unparsed_lines += u64::from(!mismatch.is_of_empty_line());
            continue;
        }
        let names = parser.format().extra_fields();
        let text = |name: &str| {
            let extra = names.iter().position(|other| other == name);
            let field = weir_core::Field::by_name(name).and_then(|field| record.text(field));
            field.or_else(|| extra.and_then(|index| record.extra(index))).map(<[u8]>::to_vec)
        };
        let [client, path, server] = COLUMNS.map(text);
        rows.push((
            record.time.map(|time| time.unix_ns),
            client,
            path,
            server,
            record.number(weir_core::Field::Bytes),
        ));
    }
    (rows, unparsed_lines)
}

fn by_pipeline(pieces: &[&[u8]], jobs: usize, block_bytes: usize, format: &FormatChoice) -> Answer {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let limits = BlockLimits { block_bytes, ..BlockLimits::default() };
    let options = PipelineOptions { limits, ..PipelineOptions::new(jobs, Retention::Segments) };
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("test", None, format.clone());
    let progress = writer.progress().clone();
    for piece in pieces {
        writer.write_all(piece).expect("the pipeline takes it");
    }
    writer.finish(SourceEnd::Done).expect("the pipeline takes it");
    pipeline.finish();
    let snapshot = progress.snapshot();
    assert_eq!(snapshot.bytes_parsed, pieces.iter().map(|piece| piece.len() as u64).sum::<u64>());
    let values = data.values();
    let mut rows = Vec::new();
    for segment in data.snapshot().segments.iter().map(|kept| &kept.segment) {
        for row in 0..segment.rows() {
            let text = |name: &str| {
                let column = values.schema().text_column_by_name(name)?;
                let id = segment.text(column)?.get(row) as u32;
                values.dictionary(column).value(id).map(<[u8]>::to_vec)
            };
            let [client, path, server] = COLUMNS.map(text);
            let time = segment.time(row).map(|time| time.unix_ns);
            let bytes = segment.number(weir_core::Field::Bytes, row);
            rows.push((time, client, path, server, bytes));
        }
    }
    assert_eq!(snapshot.records, rows.len() as u64);
    (rows, snapshot.unparsed_lines)
}

fn w3c() -> Arc<Format> {
    Arc::new(Format::parse("W3C").expect("a known format"))
}

/// Lines of a log that changes its fields, often in the middle of a block.
fn line() -> impl Strategy<Value = String> {
    let lists = prop::sample::select(
        &["date time c-ip cs-uri-stem sc-bytes", "time c-ip s-ip", "c-ip date time sc-bytes", ""][..],
    );
    prop_oneof![
        6 => (0u8..60, 0u8..9).prop_map(|(s, n)| format!("2025-12-17 09:03:{s:02} 192.0.2.{n} /{s} {n}\n")),
        3 => (0u8..60, 0u8..9).prop_map(|(s, n)| format!("09:03:{s:02} 192.0.2.{n} 10.0.0.{n}\r\n")),
        3 => (0u8..60, 0u8..9).prop_map(|(s, n)| format!("192.0.2.{n} 2025-12-17 09:03:{s:02} {n}\n")),
        3 => lists.prop_map(|list| format!("#Fields: {list}\n")),
        1 => (10u8..20).prop_map(|day| format!("#Date: 2025-12-{day} 00:00:00\n")),
        1 => Just("#Software: x\n".to_owned()),
        1 => Just("\0\0\u{feff}#Fields: c-ip\n".to_owned()),
        1 => Just("192.0.2.1\n\n".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn fields_may_change_anywhere(
        lines in prop::collection::vec(line(), 0..80),
        seed in any::<u64>(),
        jobs in 1usize..4,
        start in prop::sample::select(&["W3C", "#Fields: time c-ip s-ip", "#Fields: date time c-ip s-ip"][..]),
        block_bytes in prop::sample::select(&[64usize, 500, 1 << 20][..]),
    ) {
        let log = lines.concat().into_bytes();
        let format = Arc::new(Format::parse(start).expect("a good format"));
        let expected = by_line(&log, &format);
        let forced = FormatChoice::Forced(format);
        let pieces = chunking::of_random_sizes(&log, seed, 200);
        prop_assert_eq!(by_pipeline(&pieces, jobs, block_bytes, &forced), expected);
    }
}

#[test]
fn real_logs_are_detected_and_parsed_in_any_pieces() {
    for name in ["iis/u_ex100815.log", "iis/u_ex160110.log", "w3c-and-json/logfile_w3c.2"] {
        let log = std::fs::read(fixtures::file(name)).expect("a fixture");
        let expected = by_line(&log, &w3c());
        assert!(expected.0.len() > 10, "{name}");
        for size in [1, 13, 4_096, log.len()] {
            let pieces = chunking::of_size(&log, size);
            assert_eq!(by_pipeline(&pieces, 2, 1 << 20, &FormatChoice::Detect), expected, "{name}");
        }
    }
}

#[test]
fn a_log_whose_format_changes_with_every_line_is_bounded() {
    let lists = |n: usize| format!("#Fields: c-ip x-{}\n192.0.2.1 {n}\n", n % 40);
    let log: String = (0..30_000).map(lists).collect();
    let expected = by_line(log.as_bytes(), &w3c());
    // The field lists that fit within the limit.
    assert!(expected.0.len() >= 32 && expected.1 > 0);
    let forced = FormatChoice::Forced(w3c());
    assert_eq!(by_pipeline(&[log.as_bytes()], 2, 1 << 20, &forced), expected);
}
