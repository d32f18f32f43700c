//! The formats that a tracker finds in the blocks of a source.

use std::sync::Arc;

use proptest::prelude::{Just, Strategy, any, proptest};
use proptest::{prop_assert_eq, prop_oneof};
use weir_core::{
    FollowedFormat, Format, FormatChoice, FormatTracker, LineOutcome, LineParser, Lines, LogReader,
    Record, Timestamp, TrackerOptions, YearOrigin, YearReference, format_by_name, format_rfc3339,
};
use weir_testkit::lines::{caddy, combined, many, noise};

/// The lines of a feed, counted by whether they match the format of their span.
#[derive(Debug, Clone, Default)]
struct Counts {
    lines: usize,
    records: usize,
    unparsed_lines: usize,
}

/// A source whose lines are parsed in the formats that a tracker finds.
struct Feed {
    tracker: FormatTracker,
    counts: Counts,
    offset: u64,
    /// The name of the last format found, and each change with its offset.
    name: String,
    changes: Vec<(u64, String)>,
}

impl Feed {
    fn new(watches_drift: bool) -> Self {
        let options = TrackerOptions { year: None, watches_drift };
        let tracker = FormatTracker::new(FormatChoice::Detect, options, 0);
        let (counts, name) = (Counts::default(), String::new());
        Self { tracker, counts, offset: 0, name, changes: Vec::new() }
    }

    /// Sends these lines in blocks: in one, unless they are larger than a block.
    fn send(&mut self, mut lines: &str) -> Counts {
        while !lines.is_empty() {
            let block_max =
                if self.tracker.is_decided() { 1 << 20 } else { FormatTracker::DETECTION_BYTES };
            let end = match lines.get(..block_max) {
                Some(block) => block.rfind('\n').map_or(lines.len(), |end| end + 1),
                None => lines.len(),
            };
            self.track(&lines.as_bytes()[..end]);
            lines = &lines[end..];
        }
        self.counts.clone()
    }

    fn track(&mut self, block: &[u8]) {
        let formats = self.tracker.track(block, 0);
        for finding in formats.findings {
            self.name = finding.format.name().to_owned();
            if finding.is_change {
                self.changes.push((self.offset + finding.start as u64, self.name.clone()));
            }
        }
        let ends = formats.spans.iter().skip(1).map(|span| span.start).chain([block.len()]);
        for (span, end) in formats.spans.iter().zip(ends) {
            let mut parser = LineParser::new(span.format.clone());
            for line in Lines::new(&block[span.start..end]) {
                if parser.read_directive(line.bytes) {
                    continue;
                }
                self.counts.lines += 1;
                let mut companions = span.companions.iter().cloned().map(LineParser::new);
                let is_record = parser.parse(line.bytes, &mut Record::new()).is_ok()
                    || companions.any(|mut companion| {
                        companion.parse(line.bytes, &mut Record::new()).is_ok()
                    });
                match is_record {
                    true => self.counts.records += 1,
                    false => self.counts.unparsed_lines += 1,
                }
            }
        }
        self.offset += block.len() as u64;
    }

    fn format(&self) -> &str {
        &self.name
    }
}

#[test]
fn a_stray_first_line_does_not_decide() {
    let mut feed = Feed::new(true);
    feed.send(&caddy(0));
    assert_eq!(feed.format(), "CADDY");
    let seen = feed.send(&many(combined, 1_000));
    assert_eq!((seen.lines, seen.records, seen.unparsed_lines), (1_001, 1_001, 0));
    assert_eq!(feed.format(), "COMBINED");
    assert_eq!(feed.changes, [(caddy(0).len() as u64, "COMBINED".to_owned())]);
}

#[test]
fn a_stray_first_line_costs_a_slow_feed_one_line() {
    let mut feed = Feed::new(true);
    feed.send(&caddy(0));
    for number in 0..20 {
        feed.send(&combined(number));
    }
    let seen = &feed.counts;
    assert_eq!((seen.lines, seen.unparsed_lines), (21, 1));
}

#[test]
fn a_block_is_split_where_its_format_changes() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    let seen = feed.send(&(many(combined, 333) + &many(caddy, 444)));
    assert_eq!((seen.records, seen.unparsed_lines), (877, 0));
    let seen = feed.send(&(many(caddy, 10) + &many(combined, 2_000)));
    assert_eq!((seen.records, seen.unparsed_lines), (2_887, 0), "and back");
    // The previous format was kept, so no change was needed.
    assert_eq!(feed.format(), "CADDY");
}

#[test]
fn a_third_of_the_lines_does_not_change_the_format() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    for number in 0..400 {
        // In blocks of one line and of many.
        let lines = many(caddy, 5) + &many(combined, 10);
        match number % 2 {
            0 => {
                feed.send(&lines);
            }
            _ => lines.split_inclusive('\n').for_each(|line| {
                feed.send(line);
            }),
        }
    }
    let seen = &feed.counts;
    assert_eq!((seen.records, seen.unparsed_lines), (4_100, 2_000));
    assert_eq!(feed.format(), "COMBINED");
}

#[test]
fn scattered_lines_do_not_keep_the_format_of_the_majority() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    for number in 0..200 {
        if number % 2 == 0 {
            feed.send(&many(caddy, 15));
        } else {
            for number in 0..15 {
                feed.send(&caddy(number));
            }
        }
        feed.send(&combined(number));
    }
    assert_eq!(feed.format(), "CADDY");
    let seen = &feed.counts;
    assert!(seen.records > 2_500, "{} of 3,300", seen.records);
}

#[test]
fn a_format_that_returns_after_changes_is_read() {
    let mut feed = Feed::new(true);
    for (line, lines) in
        [(combined as fn(usize) -> String, 1_000), (caddy, 100), (combined, 1_000), (caddy, 200)]
    {
        feed.send(&many(line, lines));
    }
    assert_eq!(feed.format(), "CADDY");
    for number in 0..1_000 {
        feed.send(&(many(combined, 50) + &caddy(number)));
    }
    assert_eq!(feed.changes.len(), 1);
    let seen = &feed.counts;
    assert!(seen.unparsed_lines < 64, "{} of {}", seen.unparsed_lines, seen.lines);
}

#[test]
fn two_senders_change_the_format_a_few_times_only() {
    let mut feed = Feed::new(true);
    for _ in 0..400 {
        for lines in [many(combined, 20), many(caddy, 20)] {
            feed.send(&lines);
        }
    }
    assert!(feed.changes.len() <= 4, "{:?}", feed.changes);
    let seen = &feed.counts;
    assert_eq!((seen.lines, seen.records + seen.unparsed_lines), (16_000, 16_000));
    assert!(seen.unparsed_lines < 64, "{}", seen.unparsed_lines);
}

#[test]
fn lines_of_no_format_change_nothing() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    feed.send(&many(noise, 50_000));
    for number in 0..100 {
        feed.send(&noise(number));
    }
    assert_eq!(feed.format(), "COMBINED");
    let seen = feed.send(&many(combined, 100));
    assert_eq!((seen.records, feed.changes.len()), (200, 0));
}

#[test]
fn a_format_is_found_after_much_other_text() {
    let mut feed = Feed::new(true);
    let text = many(noise, 50_000);
    for _ in 0..20 {
        feed.send(&text);
    }
    assert_eq!(feed.format(), "");
    for _ in 0..500 {
        feed.send(&many(combined, 100));
    }
    assert_eq!(feed.format(), "COMBINED");
    let seen = &feed.counts;
    assert!(seen.records > 40_000, "{}", seen.records);
}

#[test]
fn without_watching_the_format_stays() {
    let mut feed = Feed::new(false);
    feed.send(&many(combined, 100));
    let seen = feed.send(&many(caddy, 1_000));
    assert_eq!((seen.records, seen.unparsed_lines), (100, 1_000));
}

#[test]
fn a_format_with_directives_resumes_when_it_returns() {
    let mut feed = Feed::new(true);
    let head = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    let line = |number| format!("2025-12-17 09:03:01 192.0.2.1 GET /{number} 200\n");
    let lines: String = (0..100).map(line).collect();
    feed.send(&format!("{head}{lines}"));
    let seen = feed.send(&many(combined, 1_000));
    assert_eq!((seen.records, seen.unparsed_lines), (1_100, 0));
    let seen = feed.send(&format!("{head}{}", lines.repeat(100)));
    assert_eq!((seen.records, seen.unparsed_lines), (11_100, 0));
}

/// A line that is longer than the examined end of a block.
fn long(line: fn(usize) -> String) -> String {
    line(0).replacen("/0", &format!("/{}", "a".repeat(20_000)), 1)
}

#[test]
fn a_block_whose_last_line_fits_keeps_its_format() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    // This detection finds nothing, so the next one waits for more bytes.
    feed.send(&many(noise, 20));
    for _ in 0..3 {
        feed.send(&many(caddy, 16));
    }
    let seen = feed.send(&(many(combined, 500) + &long(combined)));
    assert_eq!((seen.records, seen.unparsed_lines), (601, 68));
    assert_eq!(feed.format(), "COMBINED");
}

#[test]
fn fitting_lines_before_the_tail_end_a_run() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    let some = long(caddy).replacen(&"a".repeat(18_000), "", 1).repeat(9);
    for _ in 0..20 {
        feed.send(&(many(combined, 50) + &some));
    }
    assert_eq!(feed.changes, []);
    let seen = &feed.counts;
    assert_eq!((seen.records, seen.unparsed_lines), (1_100, 180));
}

#[test]
fn detection_ends_after_sixteen_mebibytes() {
    let mut tracker = FormatTracker::new(FormatChoice::Detect, TrackerOptions::default(), 0);
    let text = "this is not an access log\n".repeat(FormatTracker::DETECTION_BYTES / 26);
    let mut tried_bytes = 0;
    while !tracker.is_decided() {
        assert!(tracker.track(text.as_bytes(), 0).findings.is_empty());
        tried_bytes += text.len();
    }
    assert!((16 << 20..17 << 20).contains(&tried_bytes), "{tried_bytes}");
    let late = tracker.track(many(combined, 1_000).as_bytes(), 0);
    assert!(late.findings.is_empty());
}

#[test]
fn years_come_from_the_log_and_else_from_the_clock() {
    let line = "Dec 17 09:03:01 host kernel: [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.1 LEN=40\n";
    for (written_s, expected) in [(None, Some(1_000_000_000)), (Some(5), Some(5))] {
        let year = written_s.map(|unix_s| YearReference { unix_s, origin: YearOrigin::Written });
        let options = TrackerOptions { year, watches_drift: false };
        let mut tracker = FormatTracker::new(FormatChoice::Detect, options, 7);
        let formats = tracker.track(line.as_bytes(), 1_000_000_000);
        assert_eq!(formats.spans[0].format.name(), "FIREWALL");
        assert_eq!(formats.spans[0].format.year_reference(), expected);
    }
}

fn w3c_line() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("#Fields: date time c-ip cs-uri-stem sc-status"),
        Just("#Fields: time sc-status c-ip cs-uri-stem"),
        Just("#Date: 2025-12-17 00:00:00"),
        Just("#Software: Microsoft Internet Information Services 10.0"),
        Just("2025-12-17 09:03:01 192.0.2.1 /a 200"),
        Just("09:03:01 404 192.0.2.1 /b"),
        Just("neither"),
    ]
}

/// Whether each line is a record, a directive or neither, read one line after the other.
fn read_in_order(format: &Arc<Format>, lines: &[&str]) -> Vec<Option<bool>> {
    let mut reader = LogReader::new(format.clone());
    let outcome = |line: &&str| {
        reader.read(line.as_bytes(), |_, outcome| match outcome {
            LineOutcome::Record(_) => Some(true),
            LineOutcome::Directive => None,
            LineOutcome::Unparsed(_) => Some(false),
        })
    };
    lines.iter().map(outcome).collect()
}

proptest! {
    /// The spans have, in blocks of any size, the format of each line when all lines are read
    /// in order.
    #[test]
    fn spans_agree_with_reading_in_order(
        lines in proptest::collection::vec(w3c_line(), 1..60),
        cuts in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let format = Arc::new(Format::parse("W3C").expect("the format is known"));
        let choice = FormatChoice::Forced(format.clone());
        let mut tracker = FormatTracker::new(choice, TrackerOptions::default(), 0);
        let mut outcomes = Vec::new();
        let mut block = String::new();
        for (index, line) in lines.iter().enumerate() {
            block.push_str(line);
            block.push('\n');
            if !cuts[index] && index + 1 < lines.len() {
                continue;
            }
            let spans = tracker.track(block.as_bytes(), 0).spans;
            prop_assert_eq!(spans[0].start, 0);
            let ends = spans.iter().skip(1).map(|span| span.start).chain([block.len()]);
            for (span, end) in spans.iter().zip(ends) {
                prop_assert_eq!(span.start < end, true);
                let mut parser = LineParser::new(span.format.clone());
                for line in block[span.start..end].lines() {
                    outcomes.push(if parser.read_directive(line.as_bytes()) {
                        None
                    } else {
                        Some(parser.parse(line.as_bytes(), &mut Record::new()).is_ok())
                    });
                }
            }
            block.clear();
        }
        prop_assert_eq!(outcomes, read_in_order(&format, &lines));
    }
}

#[test]
fn local_times_are_followed() {
    let mut followed = FollowedFormat::new(Arc::new(format_by_name("W3C").expect("a format")));
    let list = b"#Fields: date time action src-ip";
    assert!(!followed.follow(b"#Time Format: Local"));
    assert!(followed.follow(list));
    let local = followed.format().clone();
    assert!(local.has_local_times());
    assert!(followed.follow(b"#Time Format: UTC"), "it applies to the lines after it");
    assert!(!followed.format().has_local_times());
    assert!(!followed.follow(list));
    assert!(followed.follow(b"#Time Format: local"));
    assert!(Arc::ptr_eq(followed.format(), &local));
}

#[test]
fn a_log_may_have_any_number_of_dates_and_32_lists() {
    let mut followed = FollowedFormat::new(Arc::new(format_by_name("W3C").expect("a format")));
    assert!(followed.follow(b"#Fields: time c-ip"));
    for day in 1..=365_i64 {
        let time_ns = (day - 1) * 86_400_000_000_000 + 1_735_689_600_000_000_000;
        let civil = format_rfc3339(Timestamp { unix_ns: time_ns, offset_s: 0 });
        let (date, _) = civil.split_once('T').expect("a date and a time");
        assert!(followed.follow(format!("#Date: {date} 00:00:00").as_bytes()), "{date}");
        let mut record = Record::new();
        let mut parser = LineParser::new(followed.format().clone());
        assert!(parser.parse(b"00:00:00 192.0.2.7", &mut record).is_ok(), "{date}");
        assert_eq!(record.time.map(|time| time.unix_ns), Some(time_ns), "{date}");
    }
    let mut has_format = |number: usize| {
        followed.follow(format!("#Fields: date time x-{number}").as_bytes());
        !followed.format().extra_fields().is_empty()
    };
    assert!((1..32).all(&mut has_format), "with the first one, 32");
    assert!(!has_format(32) && has_format(31) && has_format(1));
}
