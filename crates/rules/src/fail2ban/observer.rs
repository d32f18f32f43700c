//! Finds failures in lines.
//!
//! Source: `processLine` and `findFailure` of `server/filter.py` of fail2ban 1.0.2.

use std::borrow::Cow;

use fancy_regex::Captures;

use super::address::{self, Network};
use super::date::{BracketDates, FoundDate};
use super::jail::{Filter, UseDns};
use super::pattern::{Found, Pattern};
use crate::event::Events;
use crate::rule::{Line, Observer};

/// The time of a line, which is put if it is not that of the line before.
pub(super) const TIME: u32 = 0;

/// A failure, with the name by which it is counted.
pub(super) const FAILURE: u32 = 1;

/// A failure of a host name, which fail2ban would look up.
pub(super) const HOST_NAME: u32 = 2;

/// A line on which a pattern took too many steps.
pub(super) const TOO_SLOW: u32 = 3;

/// Puts an event for each failure, and one for each new time.
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
    time: Option<f64>,
}

/// Whether a pattern of `ignoreregex` matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ignoring {
    Yes,
    No,
    /// None does, but one took too many steps.
    TooSlow,
}

/// What is known of who failed.
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
            time: None,
        }
    }

    /// Finds who failed in the line without its date; the tag of an event and a name.
    fn failure(&self) -> Option<(u32, String)> {
        let text = &*self.text;
        let too_slow = Some((TOO_SLOW, String::new()));
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
                Found::TooSlow => return too_slow,
                Found::Match(groups) => {
                    let content = groups.name("content").map(|content| content.as_str());
                    let content = content.filter(|content| !content.is_empty());
                    let content = content
                        .map_or(Cow::Borrowed(text), |content| Cow::Owned(format!("{content}\n")));
                    (Some((pattern, groups)), content)
                }
            },
        };
        for (pattern, prefilter) in self.filter.failures.iter().zip(&self.filter.each_failure) {
            if !prefilter.accepts(content.as_bytes()) {
                continue;
            }
            match pattern.find(&content) {
                Found::Nothing => {}
                Found::TooSlow => return too_slow,
                Found::Match(groups) => {
                    return match self.ignoring(&content) {
                        Ignoring::Yes => None,
                        Ignoring::No if of_line == Ignoring::No => {
                            self.counted((pattern, groups), prefix)
                        }
                        Ignoring::No | Ignoring::TooSlow => too_slow,
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
    ) -> Option<(u32, String)> {
        let group = |name: &str| {
            let sources = [Some(&failure), prefix.as_ref()];
            let (_, groups) =
                sources.into_iter().flatten().find(|(pattern, _)| pattern.has_group(name))?;
            groups.name(name).map(|group| group.as_str())
        };
        match self.identity(&group)? {
            Identity::HostName => Some((HOST_NAME, String::new())),
            Identity::Name(name) => {
                let network = Network::parse(&name);
                let is_ignored = network.is_some_and(|network| {
                    self.filter.ignored_networks.iter().any(|ignored| ignored.contains(&network))
                });
                (!is_ignored).then_some((FAILURE, name))
            }
        }
    }

    fn id_name(&self, id: &str) -> Option<String> {
        match self.filter.use_dns {
            UseDns::Raw => Some(id.to_owned()),
            UseDns::LooksUp | UseDns::No => address::id_name(id),
        }
    }

    /// Who failed, of the groups of a match.
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
    /// Puts the time of a line if it is not that of the line before, and returns it.
    fn see(&mut self, date: FoundDate, line: u64, events: &mut Events) -> Option<i64> {
        let time_ns = date.time.map(|time| (time * 1e9).round() as i64);
        if date.time.is_some() && date.time != self.time {
            self.time = date.time;
            events.put((line, TIME), (time_ns, 0), []);
        }
        time_ns
    }
}

impl Observer for FailureObserver {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let bytes = without_line_end(line.bytes);
        let fast = self.filter.detector.find_fast(bytes, &mut self.dates);
        if let Some(date) = fast
            && !self.filter.any_failure.accepts(bytes)
        {
            self.see(date, line.number, events);
            return;
        }
        let whole = String::from_utf8_lossy(bytes);
        let date = fast.unwrap_or_else(|| self.filter.detector.find_by_templates(&whole));
        let time_ns = self.see(date, line.number, events);
        let (start, end) = date.cut;
        self.text.clear();
        self.text += &whole[..start];
        self.text += &whole[end..];
        self.text.push('\n');
        // A date in the middle of a line parts texts that a pattern finds next to each other.
        if fast.is_none() && !self.filter.any_failure.accepts(self.text.as_bytes()) {
            return;
        }
        if let Some((tag, name)) = self.failure() {
            events.put((line.number, tag), (time_ns, 0), [name.as_bytes()]);
        }
    }
}

fn without_line_end(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    &bytes[..length]
}
