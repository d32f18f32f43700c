//! Formats the result for a person.

use std::fmt::Write;

use weir_core::{Timestamp, Zone, format_rfc3339, parse_rfc3339};
use weir_view::{
    Alert, Ban, CurvePoint, Estimate, LeftOutRules, LimitCurve, LinePlace, LookedAt, ReplayedKey,
    ReplayedRule, RequestCounts, RulesReport, Step, Verdict,
};

use super::columns::aligned;
use super::{suggestion, who};
use crate::display::{safe, separated};
use crate::terminal::{fit_middle, right};

/// The widest pattern; longer ones are cut in the middle.
const PATTERN_WIDTH: usize = 80;

/// The widest key; longer ones are cut in the middle.
const KEY_WIDTH: usize = 40;

/// The width of the column with the numbers of rules that are left out.
const LEFT_OUT_WIDTH: usize = 14;

/// The most lines that are listed for a ban.
const MATCHES_MAX: usize = 10;

/// All rules, one after another.
pub(super) fn rules(report: &RulesReport, top: usize, zone: Option<&Zone>) -> String {
    let texts: Vec<String> = report.rules.iter().map(|rule| one(rule, top, zone)).collect();
    texts.join("\n")
}

/// The outcome of a rule, and its counts for up to `top` keys, without their places in the log.
pub(super) fn without_places(rule: &ReplayedRule, top: usize) -> String {
    let mut text = outcome_and_notes(rule);
    let mut rows = vec![COUNTS.map(str::to_owned)];
    rows.extend(rule.trips.iter().chain(&rule.closest).take(top).map(counts));
    if rows.len() > 1 {
        text.push('\n');
        text += &aligned(&rows, |column| column < 2);
    }
    text
}

fn one(rule: &ReplayedRule, top: usize, zone: Option<&Zone>) -> String {
    let mut text = outcome_and_notes(rule);
    let keys: Vec<&ReplayedKey> = rule.trips.iter().chain(&rule.closest).take(top).collect();
    if !keys.is_empty() {
        text.push('\n');
        text += &table(&keys, zone);
        let others = (rule.trips.len() + rule.closest.len()).saturating_sub(keys.len());
        if others > 0 {
            let _ =
                writeln!(text, "and {} with less; --top shows more", count(others as u64, "key"));
        }
    }
    if !rule.bans.is_empty() {
        text += &bans(&rule.bans, top, zone);
    }
    if !rule.alerts.is_empty() {
        text.push('\n');
        text += &alerts(&rule.alerts, top, zone);
    }
    text += &who::table(&rule.clients);
    text += &left_out(&rule.left_out);
    if let Some(curve) = &rule.curve {
        text += &self::curve(curve);
    }
    if let Some(suggestion) = &rule.suggestion {
        text += &suggestion::lines(rule, suggestion);
    }
    text
}

/// What came of a rule in sentences.
fn outcome_and_notes(rule: &ReplayedRule) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}  {}", safe(&rule.name), safe(&rule.description));
    if let Some(reason) = &rule.looked_at.nothing {
        let _ = writeln!(text, "Nothing was evaluated. {}", safe(reason));
    }
    text += &outcome(rule);
    let keys = &rule.keys;
    let _ = write!(text, "{}, {} tripped", count(keys.seen, "key"), separated(keys.tripped));
    if keys.undecided > 0 {
        let _ = write!(text, ", {} undecided", separated(keys.undecided));
    }
    let requests = &rule.requests;
    let parts = [
        (requests.passed, "passed"),
        (requests.delayed, "delayed"),
        (requests.rejected, "rejected"),
        (requests.undecided, "undecided"),
    ];
    let parts: Vec<String> =
        parts.iter().map(|(number, word)| format!("{} {word}", separated(*number))).collect();
    let _ = writeln!(text, "\nRequests: {}", parts.join(", "));
    text += &looked_at(&rule.looked_at);
    let _ = writeln!(text, "Verdicts: {}", rule.exactness.sentence());
    match rule.not_followed.len() {
        0 => {}
        1 => text += "A part of the rule was not followed, which may change verdicts.\n",
        parts => {
            let _ = writeln!(
                text,
                "{} parts of the rule were not followed, which may change verdicts.",
                separated(parts as u64)
            );
        }
    }
    for note in &rule.notes {
        let _ = writeln!(text, "Note: {}", safe(note));
    }
    for step in &rule.steps {
        let _ = writeln!(text, "With {}: {}", safe(&step.setting), tripped(step));
    }
    text
}

/// The rules of a set that the log cannot decide.
fn left_out(groups: &[LeftOutRules]) -> String {
    let mut text = String::new();
    if groups.is_empty() {
        return text;
    }
    text += "\nRules left out  Ids, and the reason\n";
    for LeftOutRules { reason, rules, first_ids } in groups {
        let more = if *rules > first_ids.len() as u64 { ", ..." } else { "" };
        let ids = first_ids.join(", ");
        let _ = writeln!(
            text,
            "{}  {}{more}: {}",
            right(&separated(*rules), LEFT_OUT_WIDTH),
            safe(&ids),
            safe(reason)
        );
    }
    text
}

/// The outcome in a sentence; none of a rule that evaluated nothing.
fn outcome(rule: &ReplayedRule) -> String {
    if rule.looked_at.nothing.is_some() {
        return String::new();
    }
    match rule.estimate {
        Some(estimate) => likely(rule, estimate),
        None => certain(rule),
    }
}

/// The outcome that is certain, and how much is not.
fn certain(rule: &ReplayedRule) -> String {
    let RequestCounts { rejected, undecided, .. } = rule.requests;
    let keys = rule.keys;
    let more = match keys.undecided {
        0 => String::new(),
        more => format!("; of {} it cannot be told", count(more, "more key")),
    };
    let what = Happens::of(rule);
    match keys.tripped {
        0 if keys.undecided > 0 => {
            format!(
                "Of {} it cannot be told whether {}\n",
                count(keys.undecided, "key"),
                what.whether()
            )
        }
        0 if undecided > 0 => String::new(),
        0 => format!("{}\n", what.nothing()),
        _ => match (what, rejected) {
            (Happens::Rejected, 1..) => {
                let times = count(rejected, "time");
                let least = if undecided > 0 { "at least " } else { "" };
                format!("{} would be rejected {least}{times}{more}\n", count(keys.tripped, "key"))
            }
            _ => format!("{} {}{more}\n", count(keys.tripped, "key"), what.happens()),
        },
    }
}

/// What a rule does to a key that trips it.
#[derive(Clone, Copy)]
enum Happens {
    Rejected,
    Banned,
    Alerted,
}

impl Happens {
    fn of(rule: &ReplayedRule) -> Self {
        match &*rule.family {
            "fail2ban" => Self::Banned,
            "crowdsec" => Self::Alerted,
            _ => Self::Rejected,
        }
    }

    fn nothing(self) -> &'static str {
        match self {
            Self::Rejected => "No request would be rejected",
            Self::Banned => "Nobody would be banned",
            Self::Alerted => "There would be no alert",
        }
    }

    fn happens(self) -> &'static str {
        match self {
            Self::Rejected => "would be rejected",
            Self::Banned => "would be banned",
            Self::Alerted => "would raise an alert",
        }
    }

    fn whether(self) -> &'static str {
        match self {
            Self::Rejected => "it would be rejected",
            Self::Banned => "it would be banned",
            Self::Alerted => "it would raise an alert",
        }
    }
}

/// The likeliest outcome, if only bounds are certain.
fn likely(rule: &ReplayedRule, estimate: Estimate) -> String {
    let RequestCounts { rejected: least, undecided, .. } = rule.requests;
    let Estimate { keys, rejected } = estimate;
    let most = separated(least + undecided);
    match (keys, undecided) {
        (0, 0) => "No request would be rejected\n".to_owned(),
        (0, _) => format!("Likely no request would be rejected (at most {most})\n"),
        (_, 0) => format!(
            "{} would be rejected {} for certain\n",
            count(keys, "key"),
            count(least, "time")
        ),
        _ => format!(
            "{} would be rejected about {} (certainly {}, at most {most})\n",
            count(keys, "key"),
            count(rejected, "time"),
            separated(least),
        ),
    }
}

/// The keys that another setting would have caught.
fn tripped(step: &Step) -> String {
    let &Step { tripped, undecided, likely, .. } = step;
    match (undecided, likely) {
        (0, _) => format!("{} tripped", count(tripped, "key")),
        (_, None) => {
            format!("{} tripped, {} undecided", count(tripped, "key"), separated(undecided))
        }
        (_, Some(likely)) => format!(
            "about {} tripped (certainly {}, at most {})",
            count(likely, "key"),
            separated(tripped),
            separated(tripped + undecided),
        ),
    }
}

/// The patterns that are listed with their matches.
const PATTERNS_MAX: usize = 20;

/// Formats what the replay looked at: lines, records, and the matches of each pattern.
fn looked_at(looked_at: &LookedAt) -> String {
    let mut parts = vec![count(looked_at.lines, "line")];
    match looked_at.dated {
        Some(dated) => parts.push(format!("{} with a date", separated(dated))),
        None => parts.push(count(looked_at.records, "record")),
    }
    if looked_at.unparsed > 0 {
        parts.push(format!("{} in no known format", separated(looked_at.unparsed)));
    }
    parts.push(format!("{} evaluated", separated(looked_at.evaluated)));
    let mut text = format!("Looked at: {}\n", parts.join(", "));
    let width = looked_at.patterns.iter().map(|found| separated(found.lines).len()).max();
    for (number, found) in looked_at.patterns.iter().enumerate().take(PATTERNS_MAX) {
        let lines = right(&separated(found.lines), width.unwrap_or(0));
        let pattern = fit_middle(&safe(&found.pattern), PATTERN_WIDTH);
        let _ = writeln!(text, "  failregex {}: {lines} {pattern}", number + 1);
    }
    let others = looked_at.patterns.iter().skip(PATTERNS_MAX);
    let (number, lines) =
        others.fold((0, 0), |(number, lines), found| (number + 1, lines + found.lines));
    if number > 0 {
        let _ = writeln!(text, "  {} others: {}", separated(number), separated(lines));
    }
    text
}

/// The first alerts, one on a line.
fn alerts(alerts: &[Alert], top: usize, zone: Option<&Zone>) -> String {
    let mut text = format!("{}\n", count(alerts.len() as u64, "alert"));
    for alert in alerts.iter().take(top) {
        let source = fit_middle(&safe(&alert.source), KEY_WIDTH);
        let (time, events) = (in_zone(&alert.time, zone), count(alert.events, "event"));
        let place = format!("{}:{}", safe(&alert.file), alert.line);
        let _ = writeln!(text, "{time}  {source}  {events}  {place}");
    }
    text += &rest(alerts.len(), top);
    text
}

/// Formats how many keys and requests each burst catches.
fn curve(curve: &LimitCurve) -> String {
    let header = ["Burst", "Keys", "Requests"].map(str::to_owned);
    let cells =
        |point: &CurvePoint| [u64::from(point.burst), point.keys, point.requests].map(separated);
    let rows: Vec<[String; 3]> =
        std::iter::once(header).chain(curve.points.iter().map(cells)).collect();
    let mut text = "\n".to_owned();
    for row in &rows {
        let cells: Vec<String> = row.iter().map(|cell| right(cell, 9)).collect();
        text += &cells.join("  ");
        text.push('\n');
    }
    text
}

fn table(keys: &[&ReplayedKey], zone: Option<&Zone>) -> String {
    let names_sources = keys.windows(2).any(|two| two[0].source != two[1].source);
    let [name, verdict, peak, margin, rejected, delayed, passed] = COUNTS;
    let header = [name, verdict, peak, margin, rejected, delayed, passed, "At", "Line"];
    let mut rows: Vec<[String; 9]> = vec![header.map(str::to_owned)];
    for key in keys {
        let [name, verdict, peak, margin, rejected, delayed, passed] = counts(key);
        let place = match names_sources {
            true => format!("{}:{}", safe(&key.source), key.line),
            false => key.line.to_string(),
        };
        let at = in_zone(&key.time, zone);
        rows.push([name, verdict, peak, margin, rejected, delayed, passed, at, place]);
    }
    aligned(&rows, |column| matches!(column, 0 | 1 | 7 | 8))
}

/// The heads of [`counts`].
const COUNTS: [&str; 7] = ["Key", "", "Peak", "Margin", "Rejected", "Delayed", "Passed"];

/// A key and its counts.
fn counts(key: &ReplayedKey) -> [String; 7] {
    let limit = key.limit.as_ref().map(|limit| format!(" ({})", safe(limit)));
    let verdict = match key.verdict {
        Verdict::Rejected => "tripped",
        Verdict::Undecided if key.likely_rejected > Some(0) => "likely",
        Verdict::Undecided => "undecided",
        Verdict::Passed | Verdict::Delayed => "",
    };
    [
        fit_middle(&safe(&key.key), KEY_WIDTH) + &limit.unwrap_or_default(),
        verdict.to_owned(),
        peak(key),
        format!("{:+.3}", key.margin),
        rejected(key),
        separated(key.requests.delayed),
        separated(key.requests.passed),
    ]
}

/// Formats the first bans, with the lines that led to them.
fn bans(bans: &[Ban], top: usize, zone: Option<&Zone>) -> String {
    let again = bans.iter().filter(|ban| ban.already_banned).count();
    let mut text = format!("\n{}", count(bans.len() as u64, "ban"));
    if again > 0 {
        let _ = write!(text, ", {} of keys that were banned already", separated(again as u64));
    }
    text.push('\n');
    for ban in bans.iter().take(top) {
        let until = match &ban.until {
            Some(until) => format!("until {}", in_zone(until, zone)),
            None => "for ever".to_owned(),
        };
        let again = if ban.already_banned { ", banned already" } else { "" };
        let _ = writeln!(
            text,
            "{}  {} {until}, at {}:{}{}{again}",
            fit_middle(&safe(&ban.key), KEY_WIDTH),
            in_zone(&ban.time, zone),
            safe(&ban.source),
            ban.line,
            matches(ban),
        );
    }
    text + &rest(bans.len(), top)
}

/// Formats the last lines that led to a ban, with their files if these differ from that of the ban.
fn matches(ban: &Ban) -> String {
    if ban.matches.is_empty() {
        return String::new();
    }
    let names_sources = ban.matches.iter().any(|place| place.source != ban.source);
    let left_out = ban.matches.len().saturating_sub(MATCHES_MAX);
    let place = |place: &LinePlace| match names_sources {
        true => format!("{}:{}", safe(&place.source), place.line),
        false => place.line.to_string(),
    };
    let places: Vec<String> = ban.matches[left_out..].iter().map(place).collect();
    let noun = if ban.matches.len() == 1 { "line" } else { "lines" };
    let others = match left_out {
        0 => String::new(),
        left_out => format!("{} others and ", separated(left_out as u64)),
    };
    format!(" after {others}{noun} {}", places.join(", "))
}

/// Formats how many entries of a list are not shown.
fn rest(entries: usize, top: usize) -> String {
    match entries.saturating_sub(top) {
        0 => String::new(),
        rest => format!("and {} more; --top shows more\n", separated(rest as u64)),
    }
}

/// Formats the peak, or the range that contains it.
fn peak(key: &ReplayedKey) -> String {
    match key.peak_range {
        Some([lowest, highest]) => format!("{lowest:.3}-{highest:.3}"),
        None => format!("{:.3}", key.peak),
    }
}

/// Formats the number of rejected requests, or the likeliest one and the range that contains it.
fn rejected(key: &ReplayedKey) -> String {
    let RequestCounts { rejected, undecided, .. } = key.requests;
    match key.likely_rejected {
        Some(likely) => {
            let most = separated(rejected + undecided);
            format!("{} ({}-{most})", separated(likely), separated(rejected))
        }
        None => separated(rejected),
    }
}

/// A time in the zone; in UTC without one.
fn in_zone(time: &str, zone: Option<&Zone>) -> String {
    let (Some(zone), Some(instant)) = (zone, parse_rfc3339(time.as_bytes())) else {
        return time.to_owned();
    };
    let offset_s = zone.offset_s(instant.unix_ns.div_euclid(1_000_000_000));
    format_rfc3339(Timestamp { offset_s, ..instant })
}

/// A number with its noun.
pub(super) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", separated(number))
}
