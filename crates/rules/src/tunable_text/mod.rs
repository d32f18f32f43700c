//! The text of a rule with other numbers.
//!
//! A number is found in the text by its effect: the text is read again with another number at a
//! place, and must give the same rules but for that setting. So no language needs a writer of its
//! own, and every text that is returned has been read.
//!
//! The places are found once. Many places are changed at a time: only if that changes the rule, or
//! cannot be read, is each half of them tried.

mod search;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::ops::Range;

use self::search::{PlaceSearch, SECOND_NS, edited, spellings};

use crate::files::RuleFiles;
use crate::parse::parse_rules;
use crate::rule::{Family, Rule};
use crate::rule_excerpt::RuleExcerpt;
use crate::settings::RuleSettings;

/// The longest text that is searched for its numbers.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// How much is read in search of the places of a rule: a text of 4 KiB a thousand times.
const SEARCHED_BYTES_MAX: usize = 4 << 20;

/// A text of one rule is read this often, however long it is: for each number twice the logarithm of
/// the places.
const READINGS_MIN: usize = 100;

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
        let of_jail = RuleExcerpt::of_jail(&self.text, own_name, self.family);
        let is_jail = of_jail.is_some();
        let of_line = || RuleExcerpt::of_line(&self.text, self.number, self.family);
        let Some(excerpt) = of_jail.or_else(of_line) else { return };
        let is_same = |rules: &Vec<Box<dyn Rule>>| {
            // The name of a limit may be its number in the text.
            let has_name = !is_jail || rules[0].name() == own_name;
            rules.len() == 1 && has_name && rules[0].settings() == Some(own)
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
