//! The text of a rule with other numbers.
//!
//! A number is found in the text by its effect: the text is read again with another number at a
//! place, and must give the same rules but for that setting. So no language needs a writer of its
//! own, and every text that is returned has been read.

use std::ops::Range;

use crate::files::RuleFiles;
use crate::parse::parse_rules;
use crate::rule::{Family, Rule};
use crate::settings::RuleSettings;

/// The longest text that is searched for its numbers, and the most places that may be one.
const TEXT_BYTES_MAX: usize = 1 << 20;
const PLACES_MAX: usize = 200;

const SECOND_NS: u64 = 1_000_000_000;

/// Units of durations, the longest first.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400 * SECOND_NS),
    ("h", 3_600 * SECOND_NS),
    ("m", 60 * SECOND_NS),
    ("min", 60 * SECOND_NS),
    ("s", SECOND_NS),
    ("", SECOND_NS),
    ("ms", SECOND_NS / 1_000),
];

/// The text of a rule, in which its settings can be changed.
#[derive(Debug)]
pub struct TunableText {
    text: String,
    name: String,
    family: Option<Family>,
    files: RuleFiles,
    /// The number of the rule among those of the text.
    number: usize,
    settings: Vec<Option<RuleSettings>>,
}

/// A text with other settings, and the rule that it gives.
#[derive(Debug)]
pub struct ChangedRule {
    /// The text.
    pub text: String,
    /// The rule.
    pub rule: Box<dyn Rule>,
    /// Its settings.
    pub settings: RuleSettings,
}

impl TunableText {
    /// Returns the text of rule `number` of those that `text` gives, if its settings can be changed
    /// there. A jail that leaves them to their defaults gets lines with them.
    pub fn new(
        text: &str,
        name: &str,
        family: Option<Family>,
        files: &RuleFiles,
        number: usize,
    ) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (text, name, files) = (text.to_owned(), name.to_owned(), files.clone());
        let mut found = Self { text, name, family, files, number, settings: Vec::new() };
        let rules = found.parse(&found.text)?;
        found.settings = settings_of(&rules);
        let own = found.own()?;
        if rules.get(number)?.family() == Family::Fail2ban {
            let period_s = own.period_ns / SECOND_NS;
            found.add_option(
                RuleSettings { threshold: own.threshold + 1, ..own },
                "maxretry",
                own.threshold,
            );
            found.add_option(
                RuleSettings { period_ns: own.period_ns * 2, ..own },
                "findtime",
                period_s,
            );
        }
        Some(found)
    }

    /// Returns the settings of the rule as it is.
    pub fn own(&self) -> Option<RuleSettings> {
        self.settings.get(self.number).copied().flatten()
    }

    /// Returns the text with these settings. Returns `None` if the text lacks one of them that has
    /// to change, or has it at a place that changes another one too.
    pub fn with(&self, wanted: RuleSettings) -> Option<ChangedRule> {
        let mut now = self.own()?;
        let mut text = self.text.clone();
        let steps = [
            RuleSettings { period_ns: wanted.period_ns, ..now },
            RuleSettings { period_ns: wanted.period_ns, refill: wanted.refill, ..now },
            wanted,
        ];
        let is_one_number =
            now.refill == Some(now.threshold) && wanted.refill == Some(wanted.threshold);
        for step in steps {
            if step == now {
                continue;
            }
            text = match self.changed(&text, now, step) {
                Some(changed) => changed,
                // One number may be both, and then changes both at once.
                None if is_one_number && step != wanted && step.refill != now.refill => continue,
                None => return None,
            };
            now = step;
        }
        let rule = self.parse(&text)?.into_iter().nth(self.number)?;
        Some(ChangedRule { text, rule, settings: wanted })
    }

    /// Adds a line with a setting of a jail below its header, if the text does not have it.
    fn add_option(&mut self, other: RuleSettings, option: &str, value: u64) {
        if self.with(other).is_some() {
            return;
        }
        let Some(name) = self
            .parse(&self.text)
            .and_then(|rules| Some(rules.get(self.number)?.name().to_owned()))
        else {
            return;
        };
        let header = format!("[{name}]");
        let lines = self.text.split_inclusive('\n');
        let mut end = 0;
        let at = lines.into_iter().find_map(|line| {
            end += line.len();
            (line.trim() == header).then_some(end)
        });
        let line = format!("{option} = {value}\n");
        let mut text = self.text.clone();
        match at {
            Some(at) => {
                let begin = if text[..at].ends_with('\n') { "" } else { "\n" };
                text.insert_str(at, &format!("{begin}{line}"));
            }
            None => text.push_str(&format!("\n{header}\n{line}")),
        }
        if self.parse(&text).is_some_and(|rules| settings_of(&rules) == self.settings) {
            self.text = text;
        }
    }

    /// Returns the text in which one number makes other settings of the rule.
    fn changed(&self, text: &str, now: RuleSettings, wanted: RuleSettings) -> Option<String> {
        let mut expected = self.settings.clone();
        *expected.get_mut(self.number)? = Some(wanted);
        let places = numbers(text).filter_map(|place| {
            let spellings = spellings(&text[place.clone()], now, wanted);
            (!spellings.is_empty()).then_some((place, spellings))
        });
        for (place, spellings) in places.take(PLACES_MAX) {
            for spelling in spellings {
                let mut changed = text.to_owned();
                changed.replace_range(place.clone(), &spelling);
                if self.parse(&changed).is_some_and(|rules| settings_of(&rules) == expected) {
                    return Some(changed);
                }
            }
        }
        None
    }

    fn parse(&self, text: &str) -> Option<Vec<Box<dyn Rule>>> {
        parse_rules(text, &self.name, self.family, &self.files).ok()
    }
}

fn settings_of(rules: &[Box<dyn Rule>]) -> Vec<Option<RuleSettings>> {
    rules.iter().map(|rule| rule.settings()).collect()
}

/// The places of the numbers of a text, each with the letters of a unit after it. Numbers within
/// names are left out.
fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(|next: char| next.is_ascii_digit())?;
            let rest = &text[start..];
            let digits = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
            let letters = rest[digits..].find(|next: char| !next.is_ascii_alphabetic());
            let end = start + digits + letters.unwrap_or(rest.len() - digits);
            at = end;
            let before = text[..start].chars().next_back();
            if !before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
                return Some(start..end);
            }
        }
    })
}

/// The ways to write what a number becomes, if it may be the setting that changes.
fn spellings(number: &str, now: RuleSettings, wanted: RuleSettings) -> Vec<String> {
    let digits = number.find(|next: char| !next.is_ascii_digit()).unwrap_or(number.len());
    let (value, unit) = number.split_at(digits);
    let Ok(value) = value.parse::<u64>() else { return Vec::new() };
    // What is compared with `>=` is written one higher.
    let count = |now: u64, wanted: u64| match value {
        _ if now == wanted => None,
        same if same == now => Some(format!("{wanted}{unit}")),
        next if next == now + 1 => Some(format!("{}{unit}", wanted + 1)),
        _ => None,
    };
    let mut spellings = Vec::from_iter(count(now.threshold, wanted.threshold));
    if let (Some(now), Some(wanted)) = (now.refill, wanted.refill) {
        spellings.extend(count(now, wanted));
    }
    let is_period = |(_, unit_ns): &(&str, u64)| value.checked_mul(*unit_ns) == Some(now.period_ns);
    if now.period_ns != wanted.period_ns && UNITS.iter().any(is_period) {
        // The own unit first, so that the text changes least.
        let own = UNITS.iter().filter(|(name, _)| *name == unit);
        let others = UNITS.iter().filter(|(name, _)| *name != unit);
        let whole = |(name, unit_ns): &(&str, u64)| {
            wanted
                .period_ns
                .is_multiple_of(*unit_ns)
                .then(|| format!("{}{name}", wanted.period_ns / unit_ns))
        };
        spellings.extend(own.chain(others).filter_map(whole));
    }
    spellings
}

#[cfg(test)]
mod tests {
    use super::TunableText;
    use crate::files::RuleFiles;
    use crate::settings::RuleSettings;

    const SECOND_NS: u64 = 1_000_000_000;

    fn text(rule: &str, number: usize) -> TunableText {
        TunableText::new(rule, "rule", None, &RuleFiles::default(), number).expect(rule)
    }

    fn changed(rule: &str, number: usize, wanted: (u64, u64, Option<u64>)) -> Option<String> {
        let rule = text(rule, number);
        let (threshold, seconds, refill) = wanted;
        let own = rule.own().expect("settings");
        let settings = RuleSettings { threshold, period_ns: seconds * SECOND_NS, refill, ..own };
        let changed = rule.with(settings)?;
        assert_eq!(changed.rule.settings(), Some(settings), "{}", changed.text);
        Some(changed.text)
    }

    #[test]
    fn settings_are_changed_in_the_language_of_the_rule() {
        for (rule, wanted, expected) in [
            (
                "limit 100 requests in 1m by client # 100",
                (40, 10, None),
                "limit 40 requests in 10s by client # 100",
            ),
            (
                "limit 5 in 10s by client as token-bucket burst 20",
                (33, 10, Some(50)),
                "limit 50 in 10s by client as token-bucket burst 33",
            ),
            (
                "rate_limit {\n zone a {\n  key {remote_host}\n  window 60s\n  events 60\n }\n}",
                (7, 10, None),
                "rate_limit {\n zone a {\n  key {remote_host}\n  window 10s\n  events 7\n }\n}",
            ),
            (
                "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(10s)\n \
                 http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) gt 20 }\n",
                (90, 60, None),
                "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(60s)\n \
                 http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) gt 90 }\n",
            ),
            (
                "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(10s)\n \
                 http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) ge 20 }\n",
                (90, 10, None),
                "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(10s)\n \
                 http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) ge 91 }\n",
            ),
            (
                "type: leaky\nname: a/b\ndescription: c\nfilter: evt.Meta.service == 'http'\n\
                 groupby: evt.Meta.source_ip\ncapacity: 5\nleakspeed: 10s\n",
                (44, 5, Some(1)),
                "type: leaky\nname: a/b\ndescription: c\nfilter: evt.Meta.service == 'http'\n\
                 groupby: evt.Meta.source_ip\ncapacity: 44\nleakspeed: 5s\n",
            ),
            (
                "rateLimit:\n  average: 10\n  period: 10s\n  burst: 50\n",
                (70, 10, Some(20)),
                "rateLimit:\n  average: 20\n  period: 10s\n  burst: 70\n",
            ),
            (
                "iptables -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-above 10/sec \
                 --hashlimit-burst 20 --hashlimit-mode srcip --hashlimit-name http -j DROP",
                (44, 1, Some(5)),
                "iptables -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-above 5/sec \
                 --hashlimit-burst 44 --hashlimit-mode srcip --hashlimit-name http -j DROP",
            ),
            (
                "sub vcl_recv {\n if (vsthrottle.is_denied(client.identity, 15, 10s)) {\n  \
                 return (synth(429));\n }\n}",
                (30, 60, Some(30)),
                "sub vcl_recv {\n if (vsthrottle.is_denied(client.identity, 30, 60s)) {\n  \
                 return (synth(429));\n }\n}",
            ),
            (
                "[a]\nfailregex = ^<HOST> 10m 5\nmaxretry = 5\nfindtime = 10m\nbantime = 10m\n",
                (12, 3_600, None),
                "[a]\nfailregex = ^<HOST> 10m 5\nmaxretry = 12\nfindtime = 60m\nbantime = 10m\n",
            ),
        ] {
            assert_eq!(changed(rule, 0, wanted).as_deref(), Some(expected), "{rule}");
        }
    }

    #[test]
    fn a_jail_gets_the_lines_that_it_leaves_to_defaults() {
        let jail = "[a]\nfailregex = ^<HOST> x\n";
        let expected = "[a]\nfindtime = 3600\nmaxretry = 12\nfailregex = ^<HOST> x\n";
        assert_eq!(changed(jail, 0, (12, 3_600, None)).as_deref(), Some(expected));
        let two =
            "[DEFAULT]\nmaxretry = 3\n[a]\nfailregex = ^<HOST> x\n[b]\nfailregex = ^<HOST> y\n";
        let second = changed(two, 1, (9, 600, None)).expect("the second jail");
        assert!(
            second.ends_with("[b]\nfindtime = 600\nmaxretry = 9\nfailregex = ^<HOST> y\n"),
            "{second}"
        );
    }

    #[test]
    fn what_the_text_does_not_have_is_not_changed() {
        let traefik = "rateLimit:\n  average: 10\n";
        assert_eq!(changed(traefik, 0, (9, 1, Some(10))), None, "the burst is a default");
        assert!(changed(traefik, 0, (1, 1, Some(20))).is_some());
        let twice = "limit 5 in 1m by client\nlimit 5 in 1m by path";
        let expected = "limit 5 in 1m by client\nlimit 6 in 1m by path";
        assert_eq!(changed(twice, 1, (6, 60, None)).as_deref(), Some(expected));
    }
}
