//! Replays a jail: turns failures, in the order of the log, into bans.

use super::bans::{Bans, NewBan};
use super::connections::{ConnectionFailure, ConnectionLine, Connections, Signs};
use super::date::{YEAR_OF_NONE, is_without_year};
use super::jail::{Jail, Limits};
use super::observer::{FAILURE, HOST_NAME, OF_CONNECTION, TOO_SLOW};
use super::summary::Summary;
use super::times::{TIMES, unpack};
use crate::event::Event;
use crate::keys::Interner;
use crate::report::{Ban, Decision, Exactness, RuleReport, Verdict};
use crate::rule::Replay;

/// fail2ban searches for idle tickets after this many lines of a file.
const SERVICE_LINES: u64 = 100;

/// The most bans that are listed; the others are only counted.
const BANS_MAX: usize = 1_000_000;

/// A failure, stored for the decisions.
#[derive(Debug, Clone, Copy)]
struct Failure {
    line: u64,
    source: u32,
    key: u32,
    retry: f32,
    is_banned: bool,
}

/// Failures that could not be replayed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Undecided {
    pub(super) host_names: u64,
    pub(super) too_slow: u64,
    pub(super) untimed: u64,
}

/// The replay of a jail.
///
/// # Memory
///
/// 32 bytes for each failure, some hundred bytes and the text for each key that fails, and for each
/// ban 100 bytes and 16 for each of its lines, at most `maxmatches`.
#[derive(Debug)]
pub(super) struct JailReplay<'r> {
    jail: &'r Jail,
    keys: Interner,
    bans: Bans,
    /// The bans with other values of `maxretry`.
    others: Vec<(u32, Bans, Vec<bool>)>,
    summary: Summary,
    listed: Vec<Ban>,
    matches: usize,
    failures: Vec<Failure>,
    undecided: Undecided,
    connections: Connections,
    /// The time of the last line that had one, and the latest time, in nanoseconds since 1970.
    now_ns: Option<i64>,
    latest_ns: i64,
    source: u32,
    /// The number of lines in the earlier sources, and in this one so far.
    lines_before: u64,
    lines: u64,
    /// The line, counted over all sources, after which idle tickets are searched for next.
    service_line: u64,
}

impl<'r> JailReplay<'r> {
    pub(super) fn new(jail: &'r Jail) -> Self {
        let max_retry = jail.limits.max_retry.max(1);
        let mut others = vec![max_retry / 2, max_retry.saturating_mul(2)];
        others.retain(|other| *other > 0 && *other != max_retry);
        let other = |max_retry| {
            let limits = Limits { max_retry, matches_max: 0, ..jail.limits.clone() };
            (max_retry, Bans::new(limits), Vec::new())
        };
        Self {
            jail,
            keys: Interner::default(),
            bans: Bans::new(jail.limits.clone()),
            others: others.into_iter().map(other).collect(),
            summary: Summary::new(&jail.limits),
            listed: Vec::new(),
            matches: 0,
            failures: Vec::new(),
            undecided: Undecided::default(),
            connections: Connections::default(),
            now_ns: None,
            latest_ns: i64::MIN,
            source: 0,
            lines_before: 0,
            lines: 0,
            service_line: SERVICE_LINES,
        }
    }

    /// Does the periodic work of fail2ban that was due before this line.
    fn move_to(&mut self, source: u32, line: u64) {
        if source != self.source {
            self.lines_before += self.lines;
            self.source = source;
            self.lines = 0;
        }
        self.lines = line;
        let line_of_all = self.lines_before + line;
        if line_of_all <= self.service_line {
            return;
        }
        self.service_line = (line_of_all - 1) / SERVICE_LINES * SERVICE_LINES + SERVICE_LINES;
        if let Some(now_s) = self.now_ns.map(seconds) {
            self.bans.service(now_s);
            self.summary.service(now_s);
            self.others.iter_mut().for_each(|(_, bans, _)| bans.service(now_s));
        }
    }

    /// Records the time of a line.
    fn see(&mut self, time_ns: i64) {
        self.now_ns = Some(time_ns);
        self.latest_ns = self.latest_ns.max(time_ns);
    }

    fn fail(&mut self, name: &[u8], now_s: f64, line: (u32, u64)) {
        let Some(key) = self.keys.number(name) else {
            self.undecided.untimed += 1;
            return;
        };
        let latest_s = seconds(self.latest_ns);
        self.bans.see(latest_s);
        let is_banned = self.bans.is_banned(key, now_s);
        let (retry, bans) = self.bans.fail(key, now_s, line);
        self.summary.count(key, is_banned);
        self.summary.fail(key, now_s, line);
        let (source, line_number) = line;
        for ban in bans {
            self.summary.trip(key, &ban, source, line_number);
            self.list(name, ban, source, line_number);
        }
        let retry = retry as f32;
        self.failures.push(Failure { line: line_number, source, key, retry, is_banned });
        for (_, bans, tripped) in &mut self.others {
            tripped.resize(tripped.len().max(key as usize + 1), false);
            bans.see(latest_s);
            tripped[key as usize] |= !bans.fail(key, now_s, line).1.is_empty();
        }
    }

    /// Takes a line of a connection, which may complete a failure.
    fn fail_together(&mut self, event: &Event<'_>, line: (u32, u64)) {
        let mut texts = event.texts;
        let mut next = || texts.next().unwrap_or_default();
        let (id, name, user, signs) = (next(), next(), next(), next());
        let signs = Signs::unpacked(signs.first().copied().unwrap_or_default());
        let connection_line = ConnectionLine { id, name, user, signs };
        match self.connections.take(self.now_ns.unwrap_or_default(), &connection_line) {
            None => {}
            Some(ConnectionFailure::OfHostName) => self.undecided.host_names += 1,
            Some(ConnectionFailure::Of(name)) => match self.now_ns {
                _ if self.jail.filter.ignores(&String::from_utf8_lossy(&name)) => {}
                Some(now_ns) => self.fail(&name, seconds(now_ns), line),
                None => self.undecided.untimed += 1,
            },
        }
    }

    /// The note about dates without a year.
    fn years_note(&self) -> Option<String> {
        is_without_year(self.latest_ns).then(|| {
            format!(
                "the dates of the log have no year; {YEAR_OF_NONE} stands for it, so bans over the \
                 end of a year may be wrong"
            )
        })
    }

    fn list(&mut self, name: &[u8], ban: NewBan, source: u32, line: u64) {
        if self.listed.len() == BANS_MAX {
            return;
        }
        self.matches += ban.matches.len();
        self.listed.push(Ban {
            key: name.to_vec(),
            time_ns: nanoseconds(ban.time_s),
            until_ns: ban.until_s.map(nanoseconds),
            source,
            line,
            matches: ban.matches.into(),
            already_banned: ban.already_banned,
        });
    }
}

fn seconds(time_ns: i64) -> f64 {
    time_ns as f64 / 1e9
}

/// Converts seconds to nanoseconds.
fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

impl Replay for JailReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        if event.tag == TIMES {
            for (lines, time_ns) in unpack(event) {
                self.move_to(source, line + lines);
                self.see(time_ns);
            }
            return;
        }
        self.move_to(source, line);
        if let Some(time_ns) = event.time_ns {
            self.see(time_ns);
        }
        match (event.tag, self.now_ns) {
            (HOST_NAME, _) => self.undecided.host_names += 1,
            (TOO_SLOW, _) => self.undecided.too_slow += 1,
            (FAILURE, Some(now_ns)) => {
                let mut texts = event.texts;
                self.fail(texts.next().unwrap_or_default(), seconds(now_ns), (source, line));
            }
            (OF_CONNECTION, _) => self.fail_together(event, (source, line)),
            (_, _) => self.undecided.untimed += 1,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes()
            + self.bans.memory_bytes()
            + self
                .others
                .iter()
                .map(|(_, bans, tripped)| bans.memory_bytes() + tripped.capacity())
                .sum::<usize>()
            + self.summary.memory_bytes()
            + self.listed.capacity() * (size_of::<Ban>() + 40)
            + self.matches * size_of::<(u32, u64)>()
            + self.failures.capacity() * size_of::<Failure>()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        if let Some(decide) = decide {
            for failure in &self.failures {
                decide(&Decision {
                    source: failure.source,
                    line: failure.line,
                    key: self.keys.text(failure.key),
                    verdict: if failure.is_banned { Verdict::Rejected } else { Verdict::Passed },
                    delay_ms: None,
                    excess: Some(f64::from(failure.retry)),
                    matched: None,
                });
            }
        }
        let tripped = |tripped: &[bool]| tripped.iter().filter(|tripped| **tripped).count() as u64;
        let others: Vec<(u32, u64)> =
            self.others.iter().map(|(max_retry, _, keys)| (*max_retry, tripped(keys))).collect();
        let years_note = self.years_note();
        let mut report = self.summary.finish(&self.keys, &others, self.undecided);
        report.notes.splice(0..0, self.jail.default_notes());
        if years_note.is_some() {
            report.exactness = Exactness::Bounded;
        }
        report.notes.extend(years_note);
        report.bans = self.listed;
        report
    }
}
