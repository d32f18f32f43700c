//! Finds failures in lines.
//!
//! Source: `processLine` and `findFailure` of `server/filter.py` of fail2ban 1.0.2.

use std::borrow::Cow;

use fancy_regex::Captures;

use super::address;
use super::connections::Signs;
use super::date::{BracketDates, FoundDate};
use super::jail::{Filter, UseDns};
use super::pattern::{BlockPlace, Found, Pattern};
use super::times::TimePacker;
use crate::event::{EventHead, Events};
use crate::evidence::LineTally;
use crate::rule::{Line, Observer};

/// The tag of a failure; its text is the name by which it is counted.
pub(super) const FAILURE: u32 = 1;

/// The tag of a failure of a host name, which fail2ban would look up.
pub(super) const HOST_NAME: u32 = 2;

/// The tag of a line on which a pattern took too many steps.
pub(super) const TOO_SLOW: u32 = 3;

/// The tag of a line of a connection that several lines are about. Its texts are the name of the
/// connection, the name by which a failure is counted, the user, and its signs.
pub(super) const OF_CONNECTION: u32 = 4;

/// Emits an event for each failure, and the times of lines.
///
/// # Memory
///
/// A copy of the line, and the caches of the patterns: a few megabytes for each of them at most.
#[derive(Debug)]
pub(super) struct FailureObserver {
    filter: Filter,
    dates: BracketDates,
    /// The line without its date.
    text: String,
    /// The time of the last line that had one, in nanoseconds since 1970.
    time_ns: Option<i64>,
    times: TimePacker,
}

/// The result of matching the patterns of `ignoreregex`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ignoring {
    Yes,
    No,
    /// No pattern matches, but one took too many steps.
    TooSlow,
}

/// What a line contributes.
struct Contribution {
    tag: u32,
    name: String,
    /// The connection, the user, and the signs of a line that belongs to a connection.
    connection: Option<(String, String, Signs)>,
}

impl Contribution {
    fn new(tag: u32, name: String) -> Self {
        Self { tag, name, connection: None }
    }
}

/// The identity that a match found.
enum Identity {
    Name(String),
    HostName,
}

impl FailureObserver {
    pub(super) fn new(filter: &Filter) -> Self {
        Self {
            filter: filter.clone(),
            dates: BracketDates::default(),
            text: String::new(),
            time_ns: None,
            times: TimePacker::default(),
        }
    }

    /// Finds the failure in the line without its date.
    fn failure(&self, tally: &mut LineTally) -> Option<Contribution> {
        let text = &*self.text;
        let too_slow = || Some(Contribution::new(TOO_SLOW, String::new()));
        // As in fail2ban, the whole line is searched only if there are few of these patterns.
        let searches_line = self.filter.ignored.len() + 2 < self.filter.failures.len();
        let of_line = if searches_line { self.ignoring(text) } else { Ignoring::No };
        if of_line == Ignoring::Yes {
            return None;
        }
        let (prefix, content) = match &self.filter.prefix {
            None => (None, Cow::Borrowed(text)),
            Some(pattern) => match pattern.find(text) {
                Found::Nothing => return None,
                Found::TooSlow => return too_slow(),
                Found::Match(groups) => {
                    let content = groups.name("content").map(|content| content.as_str());
                    let content = content.filter(|content| !content.is_empty());
                    let content = content
                        .map_or(Cow::Borrowed(text), |content| Cow::Owned(format!("{content}\n")));
                    (Some((pattern, groups)), content)
                }
            },
        };
        let failures = self.filter.failures.iter().zip(&self.filter.each_failure);
        for (number, (pattern, prefilter)) in failures.enumerate() {
            if !prefilter.accepts(content.as_bytes()) {
                continue;
            }
            match pattern.find(&content) {
                Found::Nothing => {}
                Found::TooSlow => return too_slow(),
                Found::Match(groups) => {
                    return match self.ignoring(&content) {
                        Ignoring::Yes => None,
                        Ignoring::No if of_line == Ignoring::No => {
                            tally.count_match(number);
                            self.counted((pattern, groups), prefix)
                        }
                        Ignoring::No | Ignoring::TooSlow => too_slow(),
                    };
                }
            }
        }
        None
    }

    fn ignoring(&self, text: &str) -> Ignoring {
        let mut ignoring = Ignoring::No;
        for pattern in &self.filter.ignored {
            match pattern.is_match(text) {
                Some(true) => return Ignoring::Yes,
                Some(false) => {}
                None => ignoring = Ignoring::TooSlow,
            }
        }
        ignoring
    }

    fn counted(
        &self,
        failure: (&Pattern, Captures<'_, str>),
        prefix: Option<(&Pattern, Captures<'_, str>)>,
    ) -> Option<Contribution> {
        let group = |name: &str| {
            let sources = [Some(&failure), prefix.as_ref()];
            let (_, groups) =
                sources.into_iter().flatten().find(|(pattern, _)| pattern.has_group(name))?;
            groups.name(name).map(|group| group.as_str())
        };
        if let Some(id) = group("mlfid") {
            return Some(self.of_connection(id, &group));
        }
        match self.identity(&group)? {
            Identity::HostName => Some(Contribution::new(HOST_NAME, String::new())),
            Identity::Name(name) => {
                (!self.filter.ignores(&name)).then(|| Contribution::new(FAILURE, name))
            }
        }
    }

    /// What a line says about its connection.
    fn of_connection<'t>(&self, id: &str, group: &dyn Fn(&str) -> Option<&'t str>) -> Contribution {
        let has = |name: &str| group(name).is_some_and(|text| !text.is_empty());
        let (name, is_host_name) = match self.identity(group) {
            Some(Identity::Name(name)) => (name, false),
            Some(Identity::HostName) => (String::new(), true),
            None => (String::new(), false),
        };
        let signs = Signs {
            is_no_failure: has("nofail"),
            is_gained: has("mlfgained"),
            is_end: has("mlfforget"),
            is_host_name,
        };
        let user = group("user").or_else(|| group("alt_user")).unwrap_or_default();
        let connection = Some((id.to_owned(), user.to_owned(), signs));
        Contribution { tag: OF_CONNECTION, name, connection }
    }

    fn id_name(&self, id: &str) -> Option<String> {
        match self.filter.use_dns {
            UseDns::Raw => Some(id.to_owned()),
            UseDns::LooksUp | UseDns::No => address::id_name(id),
        }
    }

    /// Reads the identity from the groups of a match.
    fn identity<'t>(&self, group: &dyn Fn(&str) -> Option<&'t str>) -> Option<Identity> {
        let id = group("fid");
        let length = || group("cidr").and_then(|length| length.parse().ok());
        let address = group("ip4").or_else(|| group("ip6"));
        let (text, length) = match (address, group("dns")) {
            (Some(address), _) => (address, length()),
            (None, Some(host)) if self.filter.use_dns == UseDns::Raw => {
                return Some(Identity::Name(id.unwrap_or(host).to_owned()));
            }
            (None, Some(host)) => {
                let is_address = host.parse::<std::net::IpAddr>().is_ok();
                let name = || Identity::Name(address::name(host, None));
                return Some(if is_address { name() } else { Identity::HostName });
            }
            (None, None) => return self.id_name(id?).map(Identity::Name),
        };
        match id {
            Some(id) if id != text => self.id_name(id).map(Identity::Name),
            _ => Some(Identity::Name(address::name(text, length))),
        }
    }
}

impl FailureObserver {
    /// Emits the time of a line if it differs from that of the previous line, and returns it.
    fn see(&mut self, date: FoundDate, line: u64, events: &mut Events) -> Option<i64> {
        let time_ns = date.time_ns?;
        events.tally.dated += 1;
        if self.time_ns != Some(time_ns) {
            self.time_ns = Some(time_ns);
            self.times.put(line, time_ns, events);
        }
        Some(time_ns)
    }

    /// Observes a line. `has_texts` is whether it contains the texts of a failure.
    fn look_at(&mut self, number: u64, line: &[u8], has_texts: bool, events: &mut Events) {
        let bytes = without_line_end(line);
        events.tally.read += 1;
        events.tally.sample(bytes);
        let fast = self.filter.detector.find_fast(bytes, &mut self.dates);
        if let Some(date) = fast
            && !has_texts
        {
            self.see(date, number, events);
            return;
        }
        let whole = String::from_utf8_lossy(bytes);
        let date = fast.unwrap_or_else(|| self.filter.detector.find_by_templates(&whole));
        let time_ns = self.see(date, number, events);
        let (start, end) = date.cut;
        self.text.clear();
        self.text += &whole[..start];
        self.text += &whole[end..];
        self.text.push('\n');
        // Cutting out a date in the middle of a line joins texts that were apart.
        if fast.is_none() && !self.filter.any_failure.accepts(self.text.as_bytes()) {
            return;
        }
        if let Some(Contribution { tag, name, connection }) = self.failure(&mut events.tally) {
            let head = EventHead { line: number, time_ns, duration_ns: 0, tag };
            match connection {
                None => events.put(head, [name.as_bytes()]),
                Some((id, user, signs)) => {
                    let signs = [signs.packed()];
                    events.put(head, [id.as_bytes(), name.as_bytes(), user.as_bytes(), &signs])
                }
            };
            self.times.end();
        }
    }
}

impl Observer for FailureObserver {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let has_texts = self.filter.any_failure.accepts(line.bytes);
        self.look_at(line.number, line.bytes, has_texts, events);
    }

    fn observe_block(&mut self, block: &[u8], first: u64, events: &mut Events) -> u64 {
        let (mut number, mut start, mut place) = (first, 0, BlockPlace::default());
        while start < block.len() {
            let line_feed = memchr::memchr(b'\n', &block[start..]);
            let end = line_feed.map_or(block.len(), |length| start + length);
            let has_texts = self.filter.any_failure.accepts_line(block, start..end, &mut place);
            self.look_at(number, &block[start..end], has_texts, events);
            number += 1;
            start = end + 1;
        }
        number - first
    }
}

fn without_line_end(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    &bytes[..length]
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use weir_sync::Lock;

    use super::{FAILURE, FailureObserver, HOST_NAME};
    use crate::event::Events;
    use crate::fail2ban::configuration;
    use crate::fail2ban::date::DateTemplates;
    use crate::fail2ban::jail::{Filter, Jail};
    use crate::fail2ban::pattern::Found;
    use crate::files::RuleFiles;
    use crate::rule::{Line, Observer};

    /// Shared, because compiling them is slow.
    static TEMPLATES: LazyLock<Lock<DateTemplates>> = LazyLock::new(Lock::default);

    fn filter(patterns: &[String]) -> Filter {
        let text = format!("[x]\nignoreself = false\nfailregex = {}\n", patterns.join("\n  "));
        let files = RuleFiles::default();
        let definitions = configuration::read(&text, "x", &files, 1).expect("it is valid");
        let mut templates = TEMPLATES.lock();
        Jail::new(&definitions[0], &mut templates, files.budget()).expect("it is valid").filter
    }

    /// The lines on which a pattern matches: tries each pattern on each line without its date.
    fn naive(filter: &Filter, block: &str) -> Vec<u64> {
        let fails = |line: &str| {
            let (start, end) = filter.detector.find_by_templates(line).cut;
            let text = format!("{}{}\n", &line[..start], &line[end..]);
            filter.failures.iter().any(|pattern| matches!(pattern.find(&text), Found::Match(_)))
        };
        let lines = (0u64..).zip(block.lines());
        lines.filter(|(_, line)| fails(line.trim_end_matches('\r'))).map(|(line, _)| line).collect()
    }

    fn failures(events: &Events) -> Vec<u64> {
        let failures = events.iter().filter(|event| [FAILURE, HOST_NAME].contains(&event.tag));
        failures.map(|event| event.line).collect()
    }

    fn pattern() -> impl Strategy<Value = String> {
        let start = prop::sample::select(
            &[r"^<HOST> - \S+ \[\] ", "^<HOST> ", "<ADDR>.*", r"^\s*<HOST> \S+ \S+ \[\] "][..],
        );
        let middle = prop::sample::select(
            &[
                r#""GET /(?:admin|login)"#,
                r#""[^"]*" (?:404|403) "#,
                "(?i:admin)",
                "(?:GET|POST)(?=.*404)",
                r"denied$",
                r"denied \d+",
                "",
            ][..],
        );
        (start, middle).prop_map(|(start, middle)| format!("{start}{middle}"))
    }

    fn line() -> impl Strategy<Value = String> {
        let client = prop_oneof!["192\\.0\\.2\\.[1-3]", "2001:db8::[1-3]", "a\\.example"];
        let date = prop_oneof![
            4 => Just(" - - [17/Dec/2025:09:00:00 +0000] "),
            1 => Just(" x 2025-12-17 09:00:00 "),
            1 => Just(" "),
        ];
        let rest = prop_oneof![
            "\"(GET|POST) /(admin|login|Admin|)\" (404|403|200) 1\r?",
            "denied( 1)?",
            "den\u{e9}ied [ -~]{0,9}",
        ];
        (client, date, rest).prop_map(|(client, date, rest)| format!("{client}{date}{rest}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_failure_is_left_out(
            patterns in prop::collection::vec(pattern(), 1..4),
            lines in prop::collection::vec(line(), 0..12),
            ends_line in any::<bool>(),
        ) {
            let filter = filter(&patterns);
            let end = if ends_line { "\n" } else { "" };
            let block = lines.join("\n") + end;
            let expected = naive(&filter, &block);
            let mut events = Events::default();
            let count = FailureObserver::new(&filter).observe_block(block.as_bytes(), 0, &mut events);
            prop_assert_eq!(count, block.lines().count() as u64);
            prop_assert_eq!(failures(&events), &*expected);
            let (mut observer, mut by_line) = (FailureObserver::new(&filter), Events::default());
            for (number, line) in (0..).zip(block.lines()) {
                let line = Line { number, bytes: line.as_bytes(), record: None };
                observer.observe(&line, &mut by_line);
            }
            prop_assert_eq!(failures(&by_line), &*expected);
        }
    }
}
