//! The columns of a block have the fields of its lines: the block reader, which has fast paths,
//! is compared with the line parser, which has none.

use std::sync::{Arc, LazyLock};

use crate::format_support::catalog;
use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, ColumnId, Field, Format, LineParser, Lines, Record, Segment,
    UnparsedLine, Values, known_formats,
};

/// Definitions of lines that differ from those of the known formats in a few places.
const DEFINITIONS: [&str; 16] = [
    "COMBINED in SYSLOG",
    "CADDY in DOCKER",
    "COMBINED in DOCKER",
    "COMMON in CRI",
    "$remote_addr $request in SYSLOG",
    "HAPROXY in SYSLOG",
    "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken",
    "#Date: 2000-10-09\n#Fields: time c-ip cs-method cs-uri-stem sc-status",
    "spaces:client,path=url(url)/_,status?,bytes",
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$ssl_cipher" "$host""#,
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time"#,
    r#"log_format x escape=none '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_user_agent"';"#,
    r#"%h - %u %t "%r" %>s %b"#,
    r#"$status $request_uri "$http_user_agent""#,
    "AZUREGATEWAY in SYSLOG",
    "CADDY in DOCKER",
];

/// The sample lines of the known formats, some of them in wrappers.
static SAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut samples = Vec::new();
    for path in catalog() {
        let text = std::fs::read_to_string(path).expect("the file of a format");
        let is_sample = |line: &&str| line.starts_with("line: ") || line.starts_with("> ");
        let lines = text.lines().filter(is_sample).filter_map(|line| line.split_once(' '));
        for (number, (_, line)) in lines.enumerate() {
            let escaped = line.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t");
            samples.push(match number % 5 {
                1 => format!("<190>Dec 17 09:03:01 web nginx: {line}\n"),
                2 => format!("{{\"log\":\"{escaped}\\n\",\"stream\":\"stdout\"}}\n"),
                3 => format!("2025-12-17T09:03:01.25Z stdout F {line}\n"),
                _ => String::new(),
            });
            samples.push(format!("{line}\n"));
        }
    }
    samples
});

fn formats() -> Vec<Format> {
    let own = DEFINITIONS.map(|definition| Format::parse(definition).expect("a valid format"));
    known_formats().iter().cloned().chain(own).collect()
}

/// Pieces of lines and whole lines, so that their concatenations are often almost lines.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(&SAMPLES[..]),
        8 => (any::<u8>(), text(), text(), text(), 0u8..60).prop_map(|(n, a, b, c, second)| format!(
            "192.0.2.{n} - - [02/Nov/2026:10:00:{second:02} +0100] \"GET /{a}?{b} HTTP/1.1\" 200 \
             {n} \"{b}\" \"{c}\"\n"
        )),
        1 => (text(), text(), text()).prop_map(|(a, b, c)| format!(
            "2001:db8::1 - {a} [02/Nov/2026:10:00:00 +0000] \"{b}\" 404 - \"{c}\" \"{a}\" \"{b}\" \"h\"\r\n"
        )),
        1 => (text(), text()).prop_map(|(a, b)| format!(
            "h i {a} [29/Feb/2024:23:59:60 -0330] \"{b}\" 0 99999999999999999999\n"
        )),
        2 => (odd(), odd(), odd(), text()).prop_map(|(client, user, size, a)| format!(
            "{client} - {user} [02/Nov/2026:10:00:01 +0100] \"{a}\" 200 {size} \"{a}\" \"{a}\"\n"
        )),
        1 => (text(), 0u16..1000).prop_map(|(a, status)| format!("{status:03} /{a} \"{a}\"\n")),
        1 => Just(" - - [".to_owned()),
        1 => Just("] \"".to_owned()),
        1 => Just("\" 304 18446744073709551615 \"".to_owned()),
        1 => Just("\\\" \\\\\"".to_owned()),
        1 => Just("\0\0".to_owned()),
        1 => text(),
    ]
}

/// Unusual texts in place of an address, a user or a size.
fn odd() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "-",
        "7",
        "192.0.2.1",
        "\"",
        "a\"b",
        "18446744073709551614",
        "18446744073709551616",
        "99999999999999999999",
        "000000000000000000001",
        "9999999999999999999",
    ])
}

/// Values of fields, including unusual ones.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z]{0,12}",
        1 => "[ -~]{0,40}",
        1 => r#"[a" \\\[\]?/-]{0,8}"#,
        1 => Just("-".to_owned()),
        1 => "GET|HEAD / x HTTP/2|HTTP/1.1| |\u{e9}\t",
    ]
}

/// One row: texts, time and offset, numbers, and the start of its line.
type Row = (Vec<Option<Vec<u8>>>, Option<(i64, i32)>, [Option<u64>; Field::NUMBERS.len()], u64);

fn row_of_record(record: &Record<'_>, format: &Format, line_start: usize) -> Row {
    let known = Field::TEXT.iter().map(|field| record.text(*field));
    let extra = (0..format.extra_fields().len()).map(|index| record.extra(index));
    let texts = known.chain(extra).map(|text| text.map(<[u8]>::to_vec)).collect();
    let time = record.time.map(|time| (time.unix_ns, time.offset_s));
    let numbers = Field::NUMBERS.map(|field| record.number(field));
    (texts, time, numbers, line_start as u64)
}

fn row_of_segment(segment: &Segment, row: usize, values: &Values, format: &Format) -> Row {
    let text = |column: ColumnId| {
        let id = segment.text(column)?.get(row) as u32;
        values.dictionary(column).value(id).map(<[u8]>::to_vec)
    };
    let known = Field::TEXT.map(Field::column);
    let extra = format.extra_fields().iter();
    let extra = extra.map(|name| values.schema().text_column_by_name(name).expect("a column"));
    let columns: Vec<ColumnId> = known.into_iter().chain(extra).collect();
    // A data set may have columns that this format does not fill.
    let mut others = values.schema().text_columns().map(|(column, _)| column);
    assert!(others.all(|column| columns.contains(&column) || text(column).is_none()));
    let texts = columns.into_iter().map(text).collect();
    let time = segment.time(row).map(|time| (time.unix_ns, time.offset_s));
    let numbers = Field::NUMBERS.map(|field| segment.number(field, row));
    (texts, time, numbers, segment.line_offset(row))
}

fn check(log: &[u8]) {
    for format in formats() {
        let format = Arc::new(format);
        let mut parser = LineParser::new(Arc::clone(&format));
        let (mut expected, mut unparsed_lines) = (Vec::new(), Vec::new());
        for (number, line) in Lines::new(log).enumerate() {
            if parser.read_directive(line.bytes) {
                continue;
            }
            let (mut text, mut decoded, mut record) = (Vec::new(), Vec::new(), Record::new());
            let inside = match parser.unwrap(line.bytes, &mut text) {
                // An empty line is reported as empty, not as a line without its wrapper.
                Err(_) if line.bytes.trim_ascii().is_empty() => Ok(line.bytes),
                inside => inside,
            };
            let outcome = match inside {
                Ok(inside) => parser.parse_decoding(inside, &mut decoded, &mut record),
                Err(mismatch) => Err(mismatch),
            };
            match outcome {
                Ok(()) => expected.push(row_of_record(&record, &format, line.start)),
                Err(mismatch) if mismatch.is_of_empty_line() => {}
                Err(mismatch) => {
                    let reason = format!("{}: {}", format.name(), parser.explain(mismatch));
                    unparsed_lines.push((number as u64, mismatch.at, reason));
                }
            }
        }
        let mut values = Values::new(64 << 20);
        let mut reader = BlockReader::new(Arc::clone(&format), BlockLimits::default(), &mut values);
        // The second time all values are already interned.
        for _ in 0..2 {
            let read = reader.read(&Block::new(log.to_vec()), 0);
            assert_eq!(read.unparsed_lines, unparsed_lines.len() as u64, "{}", format.name());
            assert_eq!(read.samples.len(), unparsed_lines.len().min(UnparsedLine::PER_BLOCK_MAX));
            for (sample, (number, at, reason)) in read.samples.iter().zip(&unparsed_lines) {
                assert_eq!((sample.line, sample.at, &sample.reason), (*number, *at, reason));
            }
            let resolved = reader.resolve(read, || &mut values);
            let segment = reader.seal(resolved).into_segment();
            assert_eq!(segment.rows(), expected.len(), "{}", format.name());
            for (row, expected) in expected.iter().enumerate() {
                assert_eq!(&row_of_segment(&segment, row, &values, &format), expected);
            }
        }
    }
}

#[test]
fn a_line_whose_user_is_a_bar_has_the_fields_of_its_columns() {
    check(b"2001:db8::1 - | [02/Nov/2026:10:00:00 +0000] \"\" 404 - \"\" \"|\" \"\" \"h\"\r\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn columns_have_the_fields_of_the_lines(pieces in prop::collection::vec(piece(), 0..120)) {
        check(pieces.concat().as_bytes());
    }
}
