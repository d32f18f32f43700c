//! The text of a rule with other numbers.
//!
//! A number is found in the text by its effect: the text is read again with another number at a
//! place, and must give the same rules but for that setting. So no language needs a writer of its
//! own, and every text that is returned has been read.
//!
//! The places are found once. Many places are changed at a time: only if that changes the rule, or
//! cannot be read, is each half of them tried.

use std::cell::Cell;
use std::ops::Range;

use crate::files::RuleFiles;
use crate::parse::parse_rules;
use crate::rule::{Family, Rule};
use crate::rule_excerpt::RuleExcerpt;
use crate::settings::RuleSettings;

/// The longest text that is searched for its numbers, and the most places that may be one.
const TEXT_BYTES_MAX: usize = 1 << 20;
const PLACES_MAX: usize = 100_000;

/// How much is read in search of the places of a rule: a text of 4 KiB a thousand times.
const SEARCHED_BYTES_MAX: usize = 4 << 20;

/// A text of one rule is read this often, however long it is: for each number twice the logarithm of
/// the places.
const READINGS_MIN: usize = 100;

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
    /// The part of the text that is read.
    excerpt: RuleExcerpt,
    /// The number of the limit among those of the excerpt, and the settings of these.
    number: usize,
    settings: Vec<TextSettings>,
    places: SettingPlaces,
}

/// Where a rule has its settings in an excerpt.
#[derive(Debug, Default)]
struct SettingPlaces {
    period: Option<Range<usize>>,
    refill: Option<Range<usize>>,
    threshold: Option<Range<usize>>,
    /// A number that is the threshold and what comes back.
    both: Option<Range<usize>>,
}

/// The settings of a limit in a text of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSettings {
    /// The number of its rule.
    pub rule: usize,
    /// The name of the rule, and that of the limit if the rule has several.
    pub name: (String, Option<String>),
    /// The settings, if they are known.
    pub settings: Option<RuleSettings>,
}

impl TextSettings {
    /// Returns those of all limits of some rules of one text.
    pub fn of_rules(rules: &[Box<dyn Rule>]) -> Vec<Self> {
        let of_rules = rules.iter().enumerate().flat_map(|(number, rule)| {
            let limits = rule.limit_settings();
            let settings = |limit: Option<String>, settings| Self {
                rule: number,
                name: (rule.name().to_owned(), limit),
                settings,
            };
            match limits.is_empty() {
                true => vec![settings(None, rule.settings())],
                false => limits
                    .into_iter()
                    .map(|(limit, own)| settings(Some(limit), Some(own)))
                    .collect(),
            }
        });
        of_rules.collect()
    }
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
    /// Returns a text of which limit `number` of those in `settings`, which are all that it gives, can
    /// be changed. A jail that leaves its settings to their defaults gets lines with them.
    pub fn new(
        text: &str,
        name: &str,
        family: Option<Family>,
        files: &RuleFiles,
        (settings, number): (&[TextSettings], usize),
    ) -> Option<Self> {
        let TextSettings { name: (own_name, _), settings: own, .. } = settings.get(number)?;
        let own = (*own)?;
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (text, name, files) = (text.to_owned(), name.to_owned(), files.clone());
        let settings = settings.to_vec();
        let (excerpt, places) = (RuleExcerpt::whole(&text), SettingPlaces::default());
        let mut found = Self { text, name, family, files, excerpt, number, settings, places };
        found.shorten(own_name, own);
        found.places = found.find_places();
        if RuleExcerpt::is_of_jail(&found.text, family) {
            let options = [("maxretry", own.threshold), ("findtime", own.period_ns / SECOND_NS)];
            for (option, value) in options {
                let has_place = match option {
                    "maxretry" => found.places.threshold.is_some(),
                    _ => found.places.period.is_some(),
                };
                if !has_place {
                    found.add_option(own_name, option, value);
                }
            }
        }
        Some(found)
    }

    /// Returns the settings of the rule as it is.
    pub fn own(&self) -> Option<RuleSettings> {
        self.settings.get(self.number)?.settings
    }

    /// Returns the text with these settings. Returns `None` if the text lacks one of them that has
    /// to change, or has it at a place that changes another one too.
    pub fn with(&self, wanted: RuleSettings) -> Option<ChangedRule> {
        let own = self.own()?;
        let SettingPlaces { period, refill, threshold, both } = &self.places;
        let mut counts = Vec::new();
        let is_both = wanted.refill == Some(wanted.threshold) && both.is_some();
        if is_both && wanted.threshold != own.threshold {
            let changed = RuleSettings { period_ns: own.period_ns, ..wanted };
            counts.push(self.edit(both.as_ref()?, changed)?);
        } else {
            if wanted.refill != own.refill {
                let changed = RuleSettings { refill: wanted.refill, ..own };
                counts.push(self.edit(refill.as_ref()?, changed)?);
            }
            if wanted.threshold != own.threshold {
                let changed = RuleSettings { threshold: wanted.threshold, ..own };
                counts.push(self.edit(threshold.as_ref()?, changed)?);
            }
        }
        if wanted.period_ns == own.period_ns {
            return self.read_with(&counts, wanted);
        }
        let place = period.as_ref()?;
        let changed = RuleSettings { period_ns: wanted.period_ns, ..own };
        let spellings = spellings(&self.excerpt.text[place.clone()], own, changed);
        spellings.into_iter().find_map(|spelling| {
            let edits = [&counts[..], &[(place.clone(), spelling)]].concat();
            self.read_with(&edits, wanted)
        })
    }

    /// The first way to write other settings at a place.
    fn edit(&self, place: &Range<usize>, wanted: RuleSettings) -> Option<(Range<usize>, String)> {
        let spellings = spellings(&self.excerpt.text[place.clone()], self.own()?, wanted);
        Some((place.clone(), spellings.into_iter().next()?))
    }

    /// Reads the text with some edits, if it gives these settings.
    fn read_with(
        &self,
        edits: &[(Range<usize>, String)],
        wanted: RuleSettings,
    ) -> Option<ChangedRule> {
        let rules = self.parse(&edited(&self.excerpt.text, edits))?;
        if settings_of(&rules) != self.expected(wanted) {
            return None;
        }
        let rule = rules.into_iter().nth(self.settings.get(self.number)?.rule)?;
        let of_text: Vec<(Range<usize>, String)> = edits
            .iter()
            .map(|(place, spelling)| (self.excerpt.place_in_text(place), spelling.clone()))
            .collect();
        Some(ChangedRule { text: edited(&self.text, &of_text), rule, settings: wanted })
    }

    /// Leaves out the other rules of the text, if the rule does not need them.
    fn shorten(&mut self, own_name: &str, own: RuleSettings) {
        let Some(excerpt) = RuleExcerpt::of_jail(&self.text, own_name, self.family) else { return };
        let is_same = |rules: &Vec<Box<dyn Rule>>| {
            rules.len() == 1 && rules[0].name() == own_name && rules[0].settings() == Some(own)
        };
        if let Some(rules) = self.parse(&excerpt.text).filter(is_same) {
            (self.excerpt, self.number) = (excerpt, 0);
            self.settings = TextSettings::of_rules(&rules);
        }
    }

    /// Adds a line with a setting of a jail below its header, if the text does not have it.
    fn add_option(&mut self, own_name: &str, option: &str, value: u64) {
        let Some(own) = self.own() else { return };
        let text = with_option(&self.text, own_name, option, value);
        let previous = std::mem::replace(&mut self.text, text);
        let (excerpt, number, settings) = (
            std::mem::replace(&mut self.excerpt, RuleExcerpt::whole(&self.text)),
            self.number,
            self.settings.clone(),
        );
        self.shorten(own_name, own);
        let rules = self.parse(&self.excerpt.text);
        if rules.is_some_and(|rules| settings_of(&rules) == numbers_of(&self.settings)) {
            self.places = self.find_places();
        } else {
            (self.text, self.excerpt) = (previous, excerpt);
            (self.number, self.settings) = (number, settings);
        }
    }

    /// Finds the places of the settings by their effect.
    fn find_places(&self) -> SettingPlaces {
        let Some(own) = self.own() else { return SettingPlaces::default() };
        let readings = READINGS_MIN / self.settings.len().max(1);
        let budget = SEARCHED_BYTES_MAX.max(readings * self.excerpt.text.len());
        let search = PlaceSearch { text: self, own, bytes_left: Cell::new(budget) };
        let mut places = SettingPlaces {
            threshold: search.find(own.threshold, |threshold| RuleSettings { threshold, ..own }),
            period: search.find(own.period_ns, |period_ns| RuleSettings { period_ns, ..own }),
            ..SettingPlaces::default()
        };
        if let Some(refill) = own.refill {
            places.refill =
                search.find(refill, |refill| RuleSettings { refill: Some(refill), ..own });
            if refill == own.threshold && places.threshold.is_none() {
                places.both = search.find(refill, |both| RuleSettings {
                    threshold: both,
                    refill: Some(both),
                    ..own
                });
            }
        }
        places
    }

    /// The settings of all rules if the rule has these.
    fn expected(&self, wanted: RuleSettings) -> Vec<Option<RuleSettings>> {
        let mut expected = numbers_of(&self.settings);
        if let Some(own) = expected.get_mut(self.number) {
            *own = Some(wanted);
        }
        expected
    }

    fn parse(&self, text: &str) -> Option<Vec<Box<dyn Rule>>> {
        parse_rules(text, &self.name, self.family, &self.files).ok()
    }
}

/// A search for the place of a setting.
struct PlaceSearch<'a> {
    text: &'a TunableText,
    own: RuleSettings,
    /// How much may still be read.
    bytes_left: Cell<usize>,
}

/// A place, and what is written there instead.
type Edit = (Range<usize>, String);

impl PlaceSearch<'_> {
    /// Returns the place where another number changes a setting, and nothing else.
    fn find(&self, number: u64, changed: impl Fn(u64) -> RuleSettings) -> Option<Range<usize>> {
        // Some numbers must not rise, and others not fall.
        [number.checked_mul(2), Some(number / 2)].into_iter().flatten().find_map(|other| {
            if other == number || other == 0 {
                return None;
            }
            let wanted = changed(other);
            let text = &self.text.excerpt.text;
            // Ways to write the same are tried one after another: each place has one at a time.
            let mut of_places: Vec<(Range<usize>, Vec<String>)> = numbers(text)
                .filter(|place| self.text.excerpt.is_own(place))
                .map(|place| (place.clone(), spellings(&text[place], self.own, wanted)))
                .filter(|(_, spellings)| !spellings.is_empty())
                .take(PLACES_MAX)
                .collect();
            while !of_places.is_empty() {
                let edits: Vec<Edit> = of_places
                    .iter_mut()
                    .map(|(place, spellings)| (place.clone(), spellings.remove(0)))
                    .collect();
                if let Some(place) = self.among(&edits, wanted) {
                    return Some(place);
                }
                of_places.retain(|(_, spellings)| !spellings.is_empty());
            }
            None
        })
    }

    /// Returns the first of these edits that gives the wanted settings alone.
    fn among(&self, edits: &[Edit], wanted: RuleSettings) -> Option<Range<usize>> {
        let text = edited(&self.text.excerpt.text, edits);
        self.bytes_left.set(self.bytes_left.get().checked_sub(text.len().max(1))?);
        let found = self.text.parse(&text).map(|rules| settings_of(&rules));
        match (found, edits) {
            (Some(found), [(place, _)]) => {
                (found == self.text.expected(wanted)).then(|| place.clone())
            }
            (None, [_]) => None,
            // Other rules may have changed, but not this one.
            (Some(found), _) if found.get(self.text.number) == Some(&Some(self.own)) => None,
            _ => {
                let (first, second) = edits.split_at(edits.len() / 2);
                self.among(first, wanted).or_else(|| self.among(second, wanted))
            }
        }
    }
}

/// A text with other numbers at some places.
fn edited(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|(place, _)| place.start);
    let (mut edited, mut end) = (String::with_capacity(text.len()), 0);
    for (place, spelling) in edits {
        edited.push_str(&text[end..place.start]);
        edited.push_str(spelling);
        end = place.end;
    }
    edited + &text[end..]
}

/// A text with a line below the header of a jail, or at its end with the header.
fn with_option(text: &str, jail: &str, option: &str, value: u64) -> String {
    let header = format!("[{jail}]");
    let mut end = 0;
    let at = text.split_inclusive('\n').find_map(|line| {
        end += line.len();
        (line.trim() == header).then_some(end)
    });
    let line = format!("{option} = {value}\n");
    let mut text = text.to_owned();
    match at {
        Some(at) => {
            let begin = if text[..at].ends_with('\n') { "" } else { "\n" };
            text.insert_str(at, &format!("{begin}{line}"));
        }
        None => text.push_str(&format!("\n{header}\n{line}")),
    }
    text
}

fn settings_of(rules: &[Box<dyn Rule>]) -> Vec<Option<RuleSettings>> {
    numbers_of(&TextSettings::of_rules(rules))
}

/// The settings alone: the name of a rule may be made from its text.
fn numbers_of(settings: &[TextSettings]) -> Vec<Option<RuleSettings>> {
    settings.iter().map(|it| it.settings).collect()
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
        next if Some(next) == now.checked_add(1) => {
            Some(format!("{}{unit}", wanted.checked_add(1)?))
        }
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
    use super::{TextSettings, TunableText};
    use crate::files::RuleFiles;
    use crate::parse::parse_rules;
    use crate::settings::RuleSettings;

    const SECOND_NS: u64 = 1_000_000_000;

    fn text(rule: &str, number: usize) -> TunableText {
        let files = RuleFiles::default();
        let parsed = parse_rules(rule, "rule", None, &files).expect(rule);
        let settings = TextSettings::of_rules(&parsed);
        TunableText::new(rule, "rule", None, &files, (&settings, number)).expect(rule)
    }

    fn changed(rule: &str, number: usize, wanted: (u64, u64, Option<u64>)) -> Option<String> {
        let rule = text(rule, number);
        let (threshold, seconds, refill) = wanted;
        let own = rule.own().expect("settings");
        let settings = RuleSettings { threshold, period_ns: seconds * SECOND_NS, refill, ..own };
        let changed = rule.with(settings)?;
        let found = TextSettings::of_rules(std::slice::from_ref(&changed.rule));
        assert!(found.iter().any(|it| it.settings == Some(settings)), "{}", changed.text);
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
    fn one_of_several_limits_is_changed() {
        let rule = "limit_req_zone $remote_addr zone=a:1m rate=10r/s;\n\
                    limit_req_zone $uri zone=b:1m rate=10r/s;\n\
                    limit_req zone=a burst=20 nodelay;\nlimit_req zone=b burst=20;\n";
        let expected =
            rule.replace("b:1m rate=10", "b:1m rate=50").replace("b burst=20", "b burst=7");
        assert_eq!(changed(rule, 1, (7, 1, Some(50))).as_deref(), Some(&*expected));
    }

    #[test]
    fn the_numbers_of_a_large_text_are_found() {
        use std::fmt::Write;
        let jails = (0..400).fold(String::new(), |mut text, number| {
            let _ = writeln!(text, "[j{number}]\nfailregex = ^<HOST> {number} 5\nmaxretry = 5");
            text
        });
        let changed_jail = changed(&jails, 399, (9, 600, None)).expect("the last jail");
        assert!(changed_jail.ends_with("^<HOST> 399 5\nmaxretry = 9\n"), "only that");
        let padding = "# 100 requests in 1m of 192.0.2.5:100\n".repeat(3_000);
        let long = format!("{padding}limit 100 requests in 1m by client\n{padding}");
        let expected = format!("{padding}limit 40 requests in 10s by client\n{padding}");
        assert_eq!(changed(&long, 0, (40, 10, None)), Some(expected));
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
