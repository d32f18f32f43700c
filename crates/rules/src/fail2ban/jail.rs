//! A jail: its filter of failures, the number that leads to a ban, and the duration of bans.

use weir_core::PatternBudget;

use super::address::Network;
use super::configuration::{self, Definition};
use super::date::{self, DateDetector, DateTemplates};
use super::pattern::{Groups, Pattern, Prefilter};
use crate::error::RuleError;

/// The defaults in fail2ban's own `jail.conf`.
const MAX_RETRY: u32 = 5;
const FIND_TIME_S: f64 = 600.0;
const BAN_TIME_S: f64 = 600.0;

/// The most lines that a ban lists, even if `maxmatches` is larger.
const MATCHES_MAX: usize = 1_000;

/// The most patterns of a jail.
const PATTERNS_MAX: usize = 1_000;

/// The groups that identify the failing client or user, or the connection whose other lines do.
const IDENTITIES: [&str; 5] = ["fid", "ip4", "ip6", "dns", "mlfid"];

/// fail2ban's default formula of ban times.
const FORMULA: &str = "ban.Time*(1<<(ban.Countifban.Count<20else20))*banFactor";

/// How fail2ban handles host names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseDns {
    /// They are looked up.
    LooksUp,
    /// `<HOST>` does not match them.
    No,
    /// They are counted as written.
    Raw,
}

/// The settings that make repeated bans longer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Increment {
    factor: f64,
    multipliers: Vec<f64>,
    max_s: Option<f64>,
}

impl Increment {
    /// The duration of a ban after `count` earlier bans, in seconds.
    pub(super) fn ban_time_s(&self, ban_time_s: f64, count: u32) -> f64 {
        let time = match &self.multipliers[..] {
            [] => ban_time_s.max(ban_time_s * f64::from(1u32 << count.min(20)) * self.factor),
            [.., last] => {
                let multiplier = self.multipliers.get(count as usize).unwrap_or(last);
                ban_time_s * self.factor * multiplier
            }
        };
        self.max_s.map_or(time, |max| time.min(max))
    }
}

/// What is said about a pattern of several that is not valid.
const LEFT_OUT: &str = "fail2ban does not start such a jail; the pattern is left out here";

/// The numeric settings of a jail.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    pub(super) max_retry: u32,
    pub(super) find_time_s: f64,
    /// The duration of bans in seconds; negative if bans never end.
    pub(super) ban_time_s: f64,
    pub(super) increment: Option<Increment>,
    pub(super) matches_max: usize,
}

/// The patterns that find the failures in lines.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    pub(super) detector: DateDetector,
    pub(super) prefix: Option<Pattern>,
    pub(super) failures: Vec<Pattern>,
    /// Texts that a line, with its date, must contain so that a failure can match.
    pub(super) any_failure: Prefilter,
    /// By failure pattern: texts that the matched text must contain.
    pub(super) each_failure: Vec<Prefilter>,
    pub(super) ignored: Vec<Pattern>,
    pub(super) use_dns: UseDns,
    pub(super) ignored_networks: Vec<Network>,
}

impl Filter {
    /// Whether failures of a name are not counted.
    pub(super) fn ignores(&self, name: &str) -> bool {
        let network = Network::parse(name);
        network.is_some_and(|network| {
            self.ignored_networks.iter().any(|ignored| ignored.contains(&network))
        })
    }
}

/// A jail.
#[derive(Debug)]
pub(super) struct Jail {
    pub(super) name: String,
    pub(super) filter: Filter,
    pub(super) limits: Limits,
    /// The files that the jail reads, by its `logpath`.
    pub(super) log_path: Option<String>,
    /// The settings that have fail2ban's default, because the jail does not set them.
    pub(super) defaults: Vec<&'static str>,
    pub(super) notes: Vec<RuleError>,
    /// The jails of the text that are not replayed, if this one is the first of the others.
    pub(super) omitted: Vec<RuleError>,
}

/// The reason why a jail is not replayed.
#[derive(Debug)]
pub(super) enum JailError {
    /// A setting or a pattern is not valid.
    Wrong(RuleError),
    /// The jail is valid for fail2ban, but cannot be replayed.
    Unsupported(RuleError),
}

impl From<RuleError> for JailError {
    fn from(error: RuleError) -> Self {
        Self::Wrong(error)
    }
}

impl Jail {
    /// Compiles a jail. Jails with the same `datepattern` share their `templates`.
    ///
    /// # Errors
    /// If a setting or a pattern is not valid, or the jail cannot be replayed.
    pub(super) fn new(
        definition: &Definition<'_>,
        templates: &mut DateTemplates,
        budget: &PatternBudget,
    ) -> Result<Self, JailError> {
        let (defaults, notes) = Default::default();
        let mut reader = Reader { definition, budget, defaults, notes };
        let limits = reader.limits()?;
        let filter = reader.filter(templates)?;
        reader.note_others();
        let Reader { defaults, notes, .. } = reader;
        let log_path = definition.option("logpath").map(|path| path.trim().to_owned());
        let (name, omitted) = (definition.name.clone(), Vec::new());
        Ok(Self { name, filter, limits, log_path, defaults, notes, omitted })
    }
}

struct Reader<'d> {
    definition: &'d Definition<'d>,
    budget: &'d PatternBudget,
    defaults: Vec<&'static str>,
    notes: Vec<RuleError>,
}

impl Reader<'_> {
    fn note(&mut self, option: &str, message: impl AsRef<str>) {
        let place = self.definition.place(option);
        self.notes.push(RuleError::new(place, format!("{option}: {}", message.as_ref())));
    }

    fn wrong(&self, option: &str, message: &str) -> RuleError {
        let value = self.definition.option(option).unwrap_or_default();
        self.definition.error(option, value, 0..value.len(), message)
    }

    fn seconds(&mut self, option: &'static str, default: f64) -> Result<f64, RuleError> {
        let Some(value) = self.definition.option(option) else {
            self.defaults.push(option);
            return Ok(default);
        };
        configuration::seconds(value).ok_or_else(|| {
            self.wrong(option, "not a valid duration; write seconds, or `10m`, `1h 30m`, `2d`")
        })
    }

    fn count(&mut self, option: &'static str) -> Result<Option<u32>, RuleError> {
        let Some(value) = self.definition.option(option) else { return Ok(None) };
        let number = value.trim().parse().ok();
        let message = "not a valid number; write one from 0 to 4294967295";
        number.map(Some).ok_or_else(|| self.wrong(option, message))
    }

    fn limits(&mut self) -> Result<Limits, RuleError> {
        let max_retry = match self.count("maxretry")? {
            Some(count) => count,
            None => {
                self.defaults.push("maxretry");
                MAX_RETRY
            }
        };
        let matches_max = self.count("maxmatches")?.unwrap_or(max_retry) as usize;
        let find_time_s = self.seconds("findtime", FIND_TIME_S)?;
        if find_time_s < 0.0 {
            return Err(self.wrong("findtime", "a time to look back is not negative"));
        }
        Ok(Limits {
            max_retry,
            find_time_s,
            ban_time_s: self.seconds("bantime", BAN_TIME_S)?,
            increment: self.increment()?,
            matches_max: matches_max.min(MATCHES_MAX),
        })
    }

    fn increment(&mut self) -> Result<Option<Increment>, RuleError> {
        let option = |name| self.definition.option(name);
        if !option("bantime.increment").is_some_and(configuration::is_true) {
            return Ok(None);
        }
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let factor = match option("bantime.factor") {
            Some(factor) => {
                number(factor).ok_or_else(|| self.wrong("bantime.factor", "not a valid number"))?
            }
            None => 1.0,
        };
        let multipliers = option("bantime.multipliers").unwrap_or_default();
        let multipliers: Option<Vec<f64>> = multipliers.split_whitespace().map(number).collect();
        let multipliers = multipliers.ok_or_else(|| {
            self.wrong("bantime.multipliers", "not valid; write numbers with spaces between them")
        })?;
        let max_s = match option("bantime.maxtime") {
            Some(_) => Some(self.seconds("bantime.maxtime", 0.0)?),
            None => None,
        };
        let formula = option("bantime.formula").map(|formula| formula.replace(' ', ""));
        if formula.is_some_and(|formula| formula != FORMULA) && multipliers.is_empty() {
            self.note("bantime.formula", "formulas are not evaluated; the default one is used");
        }
        if option("bantime.rndtime").is_some() {
            self.note("bantime.rndtime", "bans are replayed without the random time");
        }
        if option("bantime.overalljails").is_some_and(configuration::is_true) {
            self.note("bantime.overalljails", "only bans of this jail are known");
        }
        Ok(Some(Increment { factor, multipliers, max_s }))
    }

    fn filter(&mut self, templates: &mut DateTemplates) -> Result<Filter, JailError> {
        let use_dns = match self.definition.option("usedns").map(str::trim) {
            None | Some("yes" | "warn") => UseDns::LooksUp,
            Some("no") => UseDns::No,
            Some("raw") => UseDns::Raw,
            Some(_) => return Err(self.wrong("usedns", "write yes, warn, no or raw").into()),
        };
        let prefix = self.patterns("prefregex", use_dns, None, true)?.pop();
        let failures = self.patterns("failregex", use_dns, prefix.as_ref(), false)?;
        if failures.is_empty() {
            if let Some(first) = self.notes.iter().find(|note| note.message.ends_with(LEFT_OUT)) {
                return Err(first.clone().into());
            }
            let place = self.definition.place("failregex");
            let error = RuleError::new(place, "there is no failregex that can be replayed");
            let was_left_out = !self.notes.is_empty();
            return Err(if was_left_out {
                JailError::Unsupported(error)
            } else {
                JailError::Wrong(error)
            });
        }
        let ignored = self.patterns("ignoreregex", use_dns, None, false)?;
        Ok(Filter {
            detector: self.detector(templates)?,
            any_failure: Prefilter::of_line(prefix.as_ref(), &failures),
            prefix,
            each_failure: failures.iter().map(Prefilter::of).collect(),
            failures,
            ignored,
            use_dns,
            ignored_networks: self.ignored_networks(),
        })
    }

    /// The patterns of an option, one per line.
    fn patterns(
        &mut self,
        option: &str,
        use_dns: UseDns,
        prefix: Option<&Pattern>,
        is_single: bool,
    ) -> Result<Vec<Pattern>, RuleError> {
        let text = self.definition.option(option).unwrap_or_default();
        let lines: Vec<&str> = if is_single {
            Some(text).into_iter().filter(|text| !text.is_empty()).collect()
        } else {
            text.lines().filter(|line| !line.trim().is_empty()).collect()
        };
        if lines.len() > PATTERNS_MAX {
            return Err(self.wrong(option, "there are more than 1,000 patterns; join some"));
        }
        let of_connection = prefix.is_some_and(|prefix| prefix.has_group("mlfid"));
        let (mut patterns, line_count) = (Vec::new(), lines.len());
        for line in lines {
            let error = |at, message: &str| self.definition.error(option, line, at, message);
            if line.contains("<SKIPLINES>") {
                let error = error(
                    0..line.len(),
                    "<SKIPLINES> joins lines, which is not supported; the pattern is left out",
                );
                self.notes.push(error);
                continue;
            }
            let host_may_be_name = use_dns != UseDns::No;
            let groups = match of_connection || line.contains("<F-MLFID>") {
                true => Groups::Connection,
                false => Groups::Failure,
            };
            let pattern = match Pattern::new(line, groups, host_may_be_name, self.budget) {
                Ok(pattern) => pattern,
                // Each pattern alone makes failures, so the others are replayed.
                Err(wrong) if option == "failregex" && line_count > 1 => {
                    let message = format!("{}; {LEFT_OUT}", wrong.message);
                    let error = error(wrong.range, &message);
                    self.notes.push(error);
                    continue;
                }
                Err(wrong) => return Err(error(wrong.range, &wrong.message)),
            };
            let has_identity =
                |pattern: &Pattern| IDENTITIES.iter().any(|identity| pattern.has_group(identity));
            let is_complete = has_identity(&pattern) || prefix.is_some_and(has_identity);
            if option == "failregex" && !is_complete {
                let message = "the pattern does not say who fails; write <HOST>, <ADDR> or <F-ID>";
                if line_count > 1 {
                    let error = error(0..line.len(), &format!("{message}; {LEFT_OUT}"));
                    self.notes.push(error);
                    continue;
                }
                return Err(error(0..line.len(), message));
            }
            let joined = pattern.group_names().find(|name| {
                name.starts_with("tuple_")
                    || name.strip_prefix("alt_").is_some_and(|name| IDENTITIES.contains(&name))
            });
            if let Some(joined) = joined {
                let message = format!("the group `{joined}` is not supported and is left out");
                let error = error(0..line.len(), &message);
                self.notes.push(error);
            }
            patterns.push(pattern);
        }
        Ok(patterns)
    }

    fn detector(&mut self, templates: &mut DateTemplates) -> Result<DateDetector, RuleError> {
        let offset_s = match self.definition.option("logtimezone").map(str::trim) {
            None => 0,
            Some(zone) => date::offset_s(zone).ok_or_else(|| {
                self.wrong("logtimezone", "not a zone that is known; write UTC or UTC+0200")
            })?,
        };
        let pattern = self.definition.option("datepattern").unwrap_or_default();
        DateDetector::new(pattern, offset_s, templates).map_err(|(line, error)| {
            self.definition.error("datepattern", &line, error.range, &error.message)
        })
    }

    fn ignored_networks(&mut self) -> Vec<Network> {
        let text = self.definition.option("ignoreip").unwrap_or_default();
        let mut networks = Vec::new();
        let words = text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty());
        for word in words {
            match Network::parse(word) {
                Some(network) => networks.push(network),
                None => self.note(
                    "ignoreip",
                    format!("`{word}` is not an address or network; names are not looked up"),
                ),
            }
        }
        let ignores_self = self.definition.option("ignoreself").is_none_or(configuration::is_true);
        if ignores_self {
            networks.extend(["127.0.0.1", "::1"].iter().filter_map(|own| Network::parse(own)));
        }
        networks
    }

    /// Makes a note for each other setting that affects bans.
    fn note_others(&mut self) {
        if self.definition.option("ignorecommand").is_some() {
            self.note("ignorecommand", "commands are not run; the addresses are not ignored");
        }
        let lines = self.definition.option("maxlines").and_then(|lines| lines.trim().parse().ok());
        if lines.is_some_and(|lines: u32| lines > 1) {
            self.note("maxlines", "lines are matched one at a time");
        }
        for name in &self.definition.missing {
            let place = self.definition.place("before");
            let message = format!("the file {name} is missing and is left out");
            self.notes.push(RuleError::new(place, message));
        }
    }
}
