//! Normal traffic: reproducible, of the requested size, and plausible.

use std::collections::HashSet;

use crate::support::{Line, fill, lines, log, read};
use weir_demo::{Shape, Traffic, TrafficOptions};

const MIB: u64 = 1 << 20;

fn options(bytes: u64) -> TrafficOptions {
    TrafficOptions { bytes: Some(bytes), ..TrafficOptions::default() }
}

/// The 64-bit FNV-1a hash.
fn fingerprint(log: &[u8]) -> u64 {
    log.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn fills_of_any_size_append_the_same_bytes() {
    for shape in Shape::ALL {
        let options = TrafficOptions { shape, ..options(300_000) };
        let whole = fill(&mut Traffic::new(options), usize::MAX);
        for bytes in [1, 7, 250, 4_096, 65_536, 299_999, 300_000] {
            let pieces = fill(&mut Traffic::new(options), bytes);
            assert!(whole == pieces, "{} by {bytes}", shape.name());
        }
    }
}

#[test]
fn a_seed_produces_the_same_bytes_everywhere() {
    // After an intended change to the generator, replace the number.
    assert_eq!(format!("{:016x}", fingerprint(&log(options(MIB)))), "c0149b61e8cbbea0");
    assert!(log(options(MIB)) != log(TrafficOptions { seed: 2, ..options(MIB) }));
}

#[test]
fn the_first_line_that_reaches_the_size_is_the_last() {
    for bytes in [0, 1, 1_000, 123_456, MIB] {
        let log = log(options(bytes));
        assert!(log.len() as u64 >= bytes);
        let last = log
            .strip_suffix(b"\n")
            .map_or(0, |log| log.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
        assert!(bytes == 0 || (last as u64) < bytes);
    }
}

#[test]
fn a_fill_ends_with_a_whole_line() {
    let mut traffic = Traffic::new(TrafficOptions::default());
    let mut out = b"kept\n".to_vec();
    assert_eq!(traffic.fill(&mut out, 0), 0);
    let grown = traffic.fill(&mut out, 10_000);
    assert!(out.starts_with(b"kept\n") && out.ends_with(b"\n"));
    assert!((10_000..11_024).contains(&grown) && out.len() == grown + 5);
    assert_eq!(traffic.bytes_written(), grown as u64);
}

#[test]
fn every_clean_line_is_in_combined_format() {
    let mut traffic = Traffic::new(options(16 * MIB)).with_dirt_every(0);
    let log = fill(&mut traffic, 1 << 20);
    for line in lines(&log) {
        let text = String::from_utf8_lossy(line);
        let read = read(line).unwrap_or_else(|| panic!("{text}"));
        assert!(line.iter().all(|byte| (b' '..=b'~').contains(byte)), "{text}");
        let request: Vec<_> = read.request.split(|&byte| byte == b' ').collect();
        assert!(request.len() == 3 && request[1].starts_with(b"/"), "{text}");
        assert!(request[0].iter().all(u8::is_ascii_uppercase), "{text}");
        assert!(request[2].starts_with(b"HTTP/"), "{text}");
    }
}

#[test]
fn the_ledger_counts_exactly() {
    let mut traffic = Traffic::new(options(8 * MIB)).with_ledger().with_dirt_every(0);
    let log = fill(&mut traffic, 1 << 20);
    let ledger = traffic.ledger().expect("the traffic has a ledger");
    let read: Vec<Line<'_>> = lines(&log).filter_map(read).collect();
    assert_eq!(ledger.lines, read.len() as u64);
    assert_eq!(
        (ledger.dirty, ledger.unparsed_lines, ledger.too_long_lines, ledger.not_http),
        (0, 0, 0, 0)
    );
    assert_eq!(ledger.bytes_sent, read.iter().filter_map(|line| line.bytes).sum::<u64>());
    assert_eq!(ledger.by_status.values().sum::<u64>(), ledger.lines);
    for (&status, &count) in &ledger.by_status {
        assert_eq!(count, read.iter().filter(|line| line.status == status).count() as u64);
    }
    for (&method, &count) in &ledger.by_method {
        let start = format!("{method} ");
        let has_method = |line: &&Line<'_>| line.request.starts_with(start.as_bytes());
        assert_eq!(count, read.iter().filter(has_method).count() as u64);
    }
}

#[test]
fn distributions_are_plausible() {
    let log = log(options(64 * MIB));
    let read: Vec<Line<'_>> = lines(&log).filter_map(read).collect();
    let count = read.len();
    assert!((235..285).contains(&(log.len() / count)), "{} bytes a line", log.len() / count);
    let distinct =
        |field: fn(&Line<'_>) -> Vec<u8>| read.iter().map(field).collect::<HashSet<_>>().len();
    let clients = distinct(|line| line.client.to_vec());
    let paths = distinct(|line| line.request.to_vec());
    let agents = distinct(|line| line.agent.to_vec());
    let referers = distinct(|line| line.referer.to_vec());
    assert!((30_000..61_000).contains(&clients), "{clients} clients");
    assert!((20_000..80_000).contains(&paths), "{paths} requests");
    assert!((10_000..40_100).contains(&agents), "{agents} agents");
    assert!((1_000..4_000).contains(&referers), "{referers} referers");
    let share = |holds: &dyn Fn(&Line<'_>) -> bool| {
        read.iter().filter(|line| holds(line)).count() as f64 / count as f64
    };
    assert!((0.6..0.85).contains(&share(&|line| line.status == 200)));
    assert!((0.08..0.2).contains(&share(&|line| line.status == 304)));
    assert!((0.02..0.12).contains(&share(&|line| (400..500).contains(&line.status))));
    assert!((0.001..0.02).contains(&share(&|line| line.status >= 500)));
    assert!((0.5..0.7).contains(&share(&|line| line.request.ends_with(b"HTTP/2.0"))));
    assert!((0.02..0.2).contains(&share(&|line| line.client.contains(&b':'))));
}

#[test]
fn events_are_visible() {
    let log = log(options(16 * MIB));
    let read: Vec<Line<'_>> = lines(&log).filter_map(read).collect();
    let attacks: Vec<_> =
        read.iter().filter(|line| line.client.starts_with(b"203.0.113.")).collect();
    assert!(attacks.len() > read.len() / 200);
    assert!(attacks.iter().all(|line| line.request.starts_with(b"POST /")));
    assert!(attacks.iter().filter(|line| [401, 403, 429].contains(&line.status)).count() > 9);
    assert!(read.iter().filter(|line| line.status == 502).count() > 50);
    assert!(read.iter().any(|line| line.request.starts_with(b"GET /.env ")));
}

#[test]
fn times_never_decrease_and_cover_the_documented_span() {
    let hours = |bytes| {
        let mut traffic = Traffic::new(options(bytes)).with_ledger();
        let log = fill(&mut traffic, 1 << 20);
        // The days are in one month, so the texts sort like the times.
        assert!(lines(&log).filter_map(read).map(|line| line.time).is_sorted());
        let (first, last) = traffic.ledger().and_then(|ledger| ledger.time).expect("records");
        assert_eq!(first, TrafficOptions::default().start);
        (last - first) as f64 / 3600.0
    };
    // 120 hours times the square root of the share of 1 GiB.
    assert!((27.0..33.0).contains(&hours(64 * MIB)), "{}", hours(64 * MIB));
    assert!((3.3..4.2).contains(&hours(MIB)), "{}", hours(MIB));
    assert!((0.1..0.5).contains(&hours(10_000)), "{}", hours(10_000));
}
