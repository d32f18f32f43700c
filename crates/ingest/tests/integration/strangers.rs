//! Feeds whose lines come to have another format.

use weir_ingest::{
    DataSet, FormatChoice, Keep, Pipeline, PipelineOptions, SourceSnapshot, SourceWriter,
};

fn combined(number: usize) -> String {
    format!(
        "192.0.2.{} - - [17/Dec/2025:09:03:01 +0000] \"GET /{number} HTTP/1.1\" 200 10 \"-\" \
         \"curl/8.0\"\n",
        number % 250
    )
}

fn caddy(number: usize) -> String {
    format!(
        "{{\"level\":\"info\",\"ts\":1765962181.5,\"logger\":\"http.log.access\",\"msg\":\"handled \
         request\",\"request\":{{\"remote_ip\":\"192.0.2.9\",\"remote_port\":\"1\",\"proto\":\
         \"HTTP/1.1\",\"method\":\"GET\",\"host\":\"x\",\"uri\":\"/{number}\",\"headers\":{{}}}},\
         \"duration\":0.001,\"size\":10,\"status\":200}}\n"
    )
}

fn junk(number: usize) -> String {
    format!("{number} is no record\n")
}

fn many(line: fn(usize) -> String, lines: usize) -> String {
    (0..lines).map(line).collect()
}

/// A feed of one source, which is seen after each piece.
struct Feed {
    _pipeline: Pipeline,
    writer: SourceWriter,
    runtime: tokio::runtime::Runtime,
}

impl Feed {
    fn new(watch: bool) -> Self {
        let options = PipelineOptions::new(1, Keep::Segments);
        let data = DataSet::new(options.keep, options.memory_bytes_max, &[]);
        let pipeline = Pipeline::start(&options, data, None);
        let mut writer = pipeline.source("feed", None, FormatChoice::Detect);
        if watch {
            writer.watch_format();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Self { _pipeline: pipeline, writer, runtime }
    }

    /// Hands on these lines, which makes them a block.
    fn send(&mut self, lines: &str) -> SourceSnapshot {
        self.runtime.block_on(async {
            self.writer.write_all_async(lines.as_bytes()).await.expect("there is room");
            self.writer.hand_on_async().await.expect("there is room");
            self.writer.parsed_all().await;
        });
        self.writer.progress().snapshot()
    }

    fn format(&self) -> String {
        let snapshot = self.writer.progress().snapshot();
        snapshot.format.map_or_else(String::new, |format| format.name().to_owned())
    }
}

#[test]
fn a_stray_first_line_does_not_decide() {
    let mut feed = Feed::new(true);
    feed.send(&caddy(0));
    assert_eq!(feed.format(), "CADDY");
    let seen = feed.send(&many(combined, 1_000));
    assert_eq!((seen.lines, seen.records, seen.unmatched), (1_001, 1_001, 0));
    assert_eq!(feed.format(), "COMBINED");
    let place = caddy(0).len();
    let note =
        format!("its lines no longer fit CADDY; from byte {place} on it is read as COMBINED");
    assert_eq!(seen.note.as_deref(), Some(&*note));
    let news = feed.writer.progress().take_news();
    assert_eq!(news.as_deref(), Some(&*note));
    assert_eq!(feed.writer.progress().take_news(), None, "it is told once");
}

#[test]
fn a_stray_first_line_costs_a_slow_feed_a_line() {
    let mut feed = Feed::new(true);
    feed.send(&caddy(0));
    for number in 0..20 {
        feed.send(&combined(number));
    }
    let seen = feed.writer.progress().snapshot();
    assert_eq!((seen.lines, seen.unmatched), (21, 1));
}

#[test]
fn lines_fit_from_where_the_format_changes_in_a_block() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    let seen = feed.send(&(many(combined, 333) + &many(caddy, 444)));
    assert_eq!((seen.records, seen.unmatched), (877, 0));
    let seen = feed.send(&(many(caddy, 10) + &many(combined, 2_000)));
    assert_eq!((seen.records, seen.unmatched), (2_887, 0), "and back");
    assert_eq!(feed.format(), "COMBINED");
}

#[test]
fn a_third_of_the_lines_are_no_other_format() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    for number in 0..400 {
        // In blocks of one line and of many.
        let lines = many(caddy, 5) + &many(combined, 10);
        match number % 2 {
            0 => drop(feed.send(&lines)),
            _ => lines.split_inclusive('\n').for_each(|line| drop(feed.send(line))),
        }
    }
    let seen = feed.writer.progress().snapshot();
    assert_eq!((seen.records, seen.unmatched), (4_100, 2_000));
    assert_eq!(feed.format(), "COMBINED");
}

#[test]
fn lines_here_and_there_keep_no_format_from_the_others() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    for number in 0..200 {
        if number % 2 == 0 {
            feed.send(&many(caddy, 15));
        } else {
            (0..15).for_each(|number| drop(feed.send(&caddy(number))));
        }
        feed.send(&combined(number));
    }
    assert_eq!(feed.format(), "CADDY");
    let seen = feed.writer.progress().snapshot();
    assert!(seen.records > 2_500, "{} of 3,300", seen.records);
}

#[test]
fn one_line_in_fifty_keeps_no_format_whatever_there_was_before() {
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
    assert_eq!(feed.format(), "COMBINED");
    let seen = feed.writer.progress().snapshot();
    assert!(seen.records > 48_000, "{} of {}", seen.records, seen.lines);
}

#[test]
fn of_two_senders_none_has_its_way_for_long() {
    let mut feed = Feed::new(true);
    let mut changes = 0;
    for _ in 0..400 {
        for lines in [many(combined, 20), many(caddy, 20)] {
            feed.send(&lines);
            changes += usize::from(feed.writer.progress().take_news().is_some());
        }
    }
    assert!(changes <= 4, "{changes}");
    let seen = feed.writer.progress().snapshot();
    assert_eq!((seen.lines, seen.records + seen.unmatched), (16_000, 16_000));
    assert!(seen.records >= 7_000, "{}", seen.records);
}

#[test]
fn what_fits_nothing_changes_nothing() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    feed.send(&many(junk, 50_000));
    (0..100).for_each(|number| drop(feed.send(&junk(number))));
    assert_eq!(feed.format(), "COMBINED");
    let seen = feed.send(&many(combined, 100));
    assert_eq!((seen.records, seen.note), (200, None));
}

#[test]
fn a_format_is_found_behind_much_that_has_none() {
    let mut feed = Feed::new(true);
    let junk = many(junk, 50_000);
    for _ in 0..20 {
        feed.send(&junk);
    }
    assert_eq!(feed.format(), "");
    for _ in 0..500 {
        feed.send(&many(combined, 100));
    }
    assert_eq!(feed.format(), "COMBINED");
    let seen = feed.writer.progress().snapshot();
    assert!(seen.records > 40_000, "{}", seen.records);
}

#[test]
fn files_keep_their_format() {
    let mut feed = Feed::new(false);
    feed.send(&many(combined, 100));
    let seen = feed.send(&many(caddy, 1_000));
    assert_eq!((seen.records, seen.unmatched), (100, 1_000));
}

#[test]
fn lines_that_name_their_fields_go_on_where_they_come_back() {
    let mut feed = Feed::new(true);
    let head = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    let line = |number| format!("2025-12-17 09:03:01 192.0.2.1 GET /{number} 200\n");
    let lines: String = (0..100).map(line).collect();
    feed.send(&format!("{head}{lines}"));
    let seen = feed.send(&many(combined, 1_000));
    assert_eq!((seen.records, seen.unmatched), (1_100, 0));
    let seen = feed.send(&format!("{head}{}", lines.repeat(100)));
    assert_eq!((seen.records, seen.unmatched), (11_100, 0));
}

/// A line that is longer than what is looked at of a block's end.
fn long(line: fn(usize) -> String) -> String {
    line(0).replacen("/0", &format!("/{}", "a".repeat(20_000)), 1)
}

#[test]
fn a_block_whose_last_line_fits_is_read_as_it_was() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    // They are nothing, so that nothing is looked for until some more bytes have come.
    feed.send(&many(junk, 20));
    (0..3).for_each(|_| drop(feed.send(&many(caddy, 16))));
    let seen = feed.send(&(many(combined, 500) + &long(combined)));
    assert_eq!((seen.records, seen.unmatched), (601, 68));
    assert_eq!(feed.format(), "COMBINED");
}

#[test]
fn lines_behind_some_that_fit_are_no_more_in_a_row() {
    let mut feed = Feed::new(true);
    feed.send(&many(combined, 100));
    let some = long(caddy).replacen(&"a".repeat(18_000), "", 1).repeat(9);
    for _ in 0..20 {
        feed.send(&(many(combined, 50) + &some));
    }
    assert_eq!(feed.writer.progress().take_news(), None);
    let seen = feed.writer.progress().snapshot();
    assert_eq!((seen.records, seen.unmatched), (1_100, 180));
}
