//! fail2ban: rules over small logs, and a comparison with fail2ban itself over large ones.

mod itself;
mod settings;

use std::path::Path;

use weir_rules::{
    Ban, Decision, Events, Family, Line, Rule, RuleFiles, RuleReport, Verdict, parse_rules,
};
use weir_testkit::numbers::Numbers;

/// The result of a replay.
#[derive(Debug)]
struct Replayed {
    /// The number of each line with a failure, and the client.
    failures: Vec<(u64, String)>,
    report: RuleReport,
}

fn rules(text: &str, files: &RuleFiles) -> Vec<Box<dyn Rule>> {
    parse_rules(text, "test", Some(Family::Fail2ban), files)
        .unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt(text)))
}

fn rule(text: &str) -> Box<dyn Rule> {
    rules(text, &RuleFiles::default()).remove(0)
}

/// The message of a mistake in a text, and what is marked.
fn mistake(text: &str) -> (String, String) {
    let files = RuleFiles::default();
    let error = parse_rules(text, "test", Some(Family::Fail2ban), &files).expect_err(text);
    let marked = text.get(error.range.clone()).unwrap_or_default();
    (error.message.clone(), marked.to_owned())
}

/// Replays a log whose parts end at these numbers of lines, each observed on its own.
fn replay_parts(rule: &dyn Rule, log: &[u8], part_ends: &[usize]) -> Replayed {
    let lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').collect();
    let mut replay = rule.replay();
    let mut start = 0;
    for end in part_ends.iter().copied().chain([lines.len()]) {
        let mut observer = rule.observe_lines().expect("it reads lines");
        let mut events = Events::default();
        for (number, bytes) in lines[start..end].iter().enumerate() {
            observer.observe(&Line { number: number as u64, bytes, record: None }, &mut events);
        }
        for event in events.iter() {
            replay.take(0, start as u64 + event.line + 1, &event);
        }
        start = end;
    }
    let mut failures = Vec::new();
    let report = replay.finish(Some(&mut |decision: &Decision<'_>| {
        let key = String::from_utf8_lossy(decision.key).into_owned();
        failures.push((decision.line, key));
        assert!(matches!(decision.verdict, Verdict::Passed | Verdict::Rejected));
    }));
    Replayed { failures, report }
}

fn replay(rule: &dyn Rule, log: &[u8]) -> Replayed {
    replay_parts(rule, log, &[])
}

/// A ban in short: key, start, end, line, and whether the key was banned already.
type ShortBan = (String, i64, Option<i64>, u64, bool);

fn short(ban: &Ban) -> ShortBan {
    (
        String::from_utf8_lossy(&ban.key).into_owned(),
        ban.time_ns / 1_000_000_000,
        ban.until_ns.map(|until| until / 1_000_000_000),
        ban.line,
        ban.already_banned,
    )
}

/// The files of a folder.
fn files_of(folder: &Path) -> RuleFiles {
    let mut files = RuleFiles::default();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it is listed").path();
        if let Ok(text) = std::fs::read_to_string(&path) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.add(name, text);
        }
    }
    files
}

/// A log of an nginx server: some clients, some of them names or with IPv6, times that now and
/// then go back, and lines without a date.
fn log(seed: u64, lines: usize) -> String {
    use std::fmt::Write;

    let mut numbers = Numbers::new(seed);
    let mut second = 9 * 3_600;
    let mut text = String::new();
    for _ in 0..lines {
        second += match numbers.below(50) {
            0 => numbers.below(2_000) as i64,
            1 => -(numbers.below(90) as i64),
            _ => numbers.below(6) as i64,
        };
        if numbers.below(60) == 0 {
            text += "a line of another program, with 192.0.2.1 in it\n";
            continue;
        }
        let client = match numbers.below(30) {
            0 => "host.example.org".to_owned(),
            1..=3 => format!("2001:db8::{:x}:7", numbers.below(3)),
            4 => format!("::ffff:192.0.2.{}", numbers.below(4)),
            5 => format!("2001:db8:0:1:{}:2:3:4", numbers.below(3)),
            _ => format!("192.0.2.{}", numbers.below(12)),
        };
        let path =
            numbers.one_of(&["/", "/wp-login.php", "/admin/pma/x.php", "/a?b=1", "/cgi-bin/x"]);
        let status = numbers.one_of(&["200", "404", "403", "400", "301"]);
        let agent = numbers.one_of(&["Mozilla/5.0 (X11)", "EmailSiphon", "curl/8.0", "-"]);
        let (day, clock) = (1 + second / 86_400, second % 86_400);
        let _ = writeln!(
            text,
            "{client} - - [{day:02}/Dec/2025:{:02}:{:02}:{:02} +0100] \"GET {path} HTTP/1.1\" \
             {status} 162 \"-\" \"{agent}\"",
            clock / 3_600,
            clock / 60 % 60,
            clock % 60
        );
    }
    text
}
