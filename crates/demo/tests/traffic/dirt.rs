//! Dirty lines, and the shapes that are slow to parse.

use std::collections::HashSet;

use crate::support::{fill, lines, log, read};
use weir_demo::{LINE_BYTES_MAX, Shape, Traffic, TrafficOptions};

const BYTES: u64 = 6 << 20;

fn log_with_ledger(shape: Shape) -> (Vec<u8>, weir_demo::Ledger) {
    let options = TrafficOptions { bytes: Some(BYTES), shape, ..TrafficOptions::default() };
    let mut traffic = Traffic::new(options).with_ledger().with_dirt_every(0);
    let log = fill(&mut traffic, 1 << 20);
    let ledger = traffic.ledger().expect("the traffic has a ledger").clone();
    (log, ledger)
}

#[test]
fn one_line_in_twenty_thousand_is_dirty() {
    let options = TrafficOptions { bytes: Some(64 << 20), ..TrafficOptions::default() };
    let mut traffic = Traffic::new(options).with_ledger();
    let mut out = Vec::new();
    while traffic.fill(&mut out, 1 << 20) > 0 {
        out.clear();
    }
    let ledger = traffic.ledger().expect("the traffic has a ledger");
    assert!((4..30).contains(&ledger.dirty), "{ledger:?}");
}

#[test]
fn every_kind_of_dirty_line_occurs() {
    let options = TrafficOptions { bytes: Some(BYTES), ..TrafficOptions::default() };
    let mut traffic = Traffic::new(options).with_ledger().with_dirt_every(10);
    let log = fill(&mut traffic, 1 << 20);
    let ledger = traffic.ledger().expect("the traffic has a ledger");
    let has = |part: &[u8]| log.windows(part.len()).any(|window| window == part);
    assert!(has(b"\"\\x16\\x03\\x01") && has(b"\"\" 400 ") && has(b"\"-\" 408 - "));
    assert!(has(b"caf\xe9") && has(b"\\\"quoted\\\"") && has(b"\\\\)\"\n"));
    assert!(ledger.dirty > ledger.lines / 12 && ledger.dirty < ledger.lines / 8);
    let unclosed = lines(&log).filter(|line| !line.ends_with(b"\"")).count() as u64;
    assert!(unclosed <= ledger.unparsed_lines && unclosed > ledger.unparsed_lines * 9 / 10);
    assert!(ledger.unparsed_lines.abs_diff(ledger.dirty * 2 / 7) <= 2);
    assert!(ledger.not_http.abs_diff(ledger.dirty * 3 / 7) <= 3);
}

#[test]
fn empty_lines_are_line_feeds() {
    let (log, ledger) = log_with_ledger(Shape::EmptyLines);
    assert!(log.len() as u64 == BYTES && log.iter().all(|&byte| byte == b'\n'));
    assert_eq!((ledger.lines, ledger.empty_lines, ledger.unparsed_lines), (BYTES, BYTES, 0));
}

#[test]
fn one_line_has_one_line_feed() {
    let (text, ledger) = log_with_ledger(Shape::OneLine);
    assert_eq!(text.iter().position(|&byte| byte == b'\n'), Some(text.len() - 1));
    assert_eq!((ledger.lines, ledger.too_long_lines, ledger.unparsed_lines), (1, 1, 0));
    let small =
        log(TrafficOptions { bytes: Some(1), shape: Shape::OneLine, ..TrafficOptions::default() });
    assert!(small.len() > 200 && lines(&small).all(|line| read(line).is_none()));
}

#[test]
fn a_long_line_is_surrounded_by_normal_ones() {
    let (log, ledger) = log_with_ledger(Shape::LongLines);
    let lengths: Vec<usize> = lines(&log).map(<[u8]>::len).collect();
    let long = lengths.iter().filter(|&&length| length as u64 > LINE_BYTES_MAX).count();
    assert_eq!((long, ledger.too_long_lines, ledger.unparsed_lines), (1, 1, 0));
    assert_eq!(ledger.lines, lengths.len() as u64);
    assert!(lengths.iter().any(|&length| length as u64 > BYTES / 2));
    assert!(lines(&log).all(|line| read(line).is_some()));
}

#[test]
fn a_run_of_nuls_starts_a_line() {
    let (log, ledger) = log_with_ledger(Shape::NulRun);
    let first = log.iter().position(|&byte| byte == 0).expect("a run");
    let length = log[first..].iter().take_while(|&&byte| byte == 0).count();
    assert_eq!((length as u64, log[first - 1]), (BYTES * 2 / 5, b'\n'));
    assert!(log[first + length..].iter().all(|&byte| byte != 0));
    let text: Vec<u8> = log.iter().copied().filter(|&byte| byte != 0).collect();
    assert!(lines(&text).all(|line| read(line).is_some()));
    assert_eq!((lines(&text).count() as u64, ledger.unparsed_lines), (ledger.lines, 0));
}

#[test]
fn every_second_has_one_line() {
    let (log, ledger) = log_with_ledger(Shape::EverySecond);
    let times: HashSet<&[u8]> = lines(&log).filter_map(read).map(|line| line.time).collect();
    assert_eq!(times.len() as u64, ledger.lines);
    let (first, last) = ledger.time.expect("records");
    assert_eq!(last - first, ledger.lines as i64 - 1);
}

#[test]
fn every_line_has_another_agent() {
    let (log, ledger) = log_with_ledger(Shape::ManyAgents);
    let agents: HashSet<&[u8]> = lines(&log).filter_map(read).map(|line| line.agent).collect();
    assert_eq!(agents.len() as u64, ledger.lines);
}
