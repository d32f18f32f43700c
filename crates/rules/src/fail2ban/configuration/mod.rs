//! Reads the text of a rule: jails, a filter, or both.

mod duration;
mod filter;
mod ini;
mod interpolation;
mod options;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use self::filter::{ConfigurationFile, FindFile, MergedFiles};
use self::ini::Ini;
use self::interpolation::Budget;
use crate::error::{ParseError, RuleError};
use crate::files::{MergedTexts, RuleFiles};

pub(super) use self::duration::seconds;

/// Sections that are not jails.
const OTHERS: [&str; 3] = ["Definition", "Init", "INCLUDES"];

/// The options by which a jail or a filter is recognised.
const TELLING: [&str; 10] = [
    "failregex",
    "maxretry",
    "findtime",
    "bantime",
    "filter",
    "prefregex",
    "enabled",
    "logpath",
    "ignoreip",
    "banaction",
];

/// A jail as written, with the options of its filter.
#[derive(Debug)]
pub(super) struct Definition<'t> {
    /// The text of the rule.
    pub(super) text: &'t str,
    pub(super) name: String,
    /// The options by name. Those of the jail take precedence over those of the filter.
    options: BTreeMap<String, String>,
    /// The range of each option in the text, and that of the section under the empty name.
    places: BTreeMap<String, Range<usize>>,
    /// The included files that are missing.
    pub(super) missing: Vec<String>,
    /// Why the jail cannot be replayed, if the file of its filter is missing.
    pub(super) without_filter: Option<RuleError>,
}

/// Whether a text is a jail or a filter of fail2ban.
pub(crate) fn looks_like(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let has_section = lines.clone().any(|line| line.starts_with('[') && line.ends_with(']'));
    let is_telling = |line: &str| {
        let name = line.split(['=', ':']).next().unwrap_or_default().trim().to_lowercase();
        line.len() > name.len() && TELLING.contains(&&*name)
    };
    has_section && lines.any(is_telling)
}

impl Definition<'_> {
    /// The value of an option; `None` if it is empty or missing.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// The range of an option in the text, or that of the jail if the option is in another file.
    pub(super) fn place(&self, option: &str) -> Range<usize> {
        let place = self.places.get(option).filter(|range| !range.is_empty());
        place.or_else(|| self.places.get("")).cloned().unwrap_or(0..0)
    }

    /// Makes an error about a part of an option, which is searched for in the text.
    pub(super) fn error(
        &self,
        option: &str,
        part: &str,
        at: Range<usize>,
        message: &str,
    ) -> RuleError {
        let place = self.place(option);
        let found = self.text.get(place.clone()).and_then(|text| text.find(part));
        match found {
            Some(start) if !part.is_empty() => {
                let start = place.start + start;
                RuleError::new(start + at.start..start + at.end, message)
            }
            // The value was interpolated and is not in the text, so the message quotes it.
            _ => {
                let start = (0..=at.start.min(part.len()))
                    .rev()
                    .find(|start| part.is_char_boundary(*start))
                    .unwrap_or(0);
                let shown: String = part[start..].chars().take(60).collect();
                RuleError::new(place, format!("{option}: {message}, at `{shown}`"))
            }
        }
    }
}

/// Reads the jails of a text. A filter without a jail becomes a jail with this name.
///
/// # Errors
/// If the text is not valid, refers to a missing value, has no enabled jail, or has more than
/// `rules_max`.
pub(super) fn read<'t>(
    text: &'t str,
    name: &str,
    files: &RuleFiles,
    rules_max: usize,
) -> Result<Vec<Definition<'t>>, ParseError> {
    let first_line = 0..text.lines().next().map_or(0, str::len);
    let mut find = |name: &str| files.shared_text(name);
    let file = ConfigurationFile { name, text, is_rule: true };
    let read = filter::with_merged_texts(file, files.merged(), &mut find);
    let MergedFiles { ini, missing } = read.map_err(|error| {
        if error.range.is_empty() { RuleError::new(first_line.clone(), error) } else { error }
    })?;
    let has_filter = ini.section("Definition").is_some();
    let names = jail_names(&ini);
    let enabled = enabled_jails(&ini, &names, &Budget::default());
    ParseError::check_count(enabled.len(), rules_max)?;
    let mut jails = Vec::new();
    for jail in enabled {
        jails.push(options::of_jail(text, &ini, jail, has_filter, (files.merged(), &mut find))?);
    }
    if names.is_empty() && has_filter {
        jails.push(options::of_filter(text, &ini, name)?);
    }
    if jails.is_empty() {
        let message = if names.is_empty() {
            "there is no jail and no [Definition] of a filter in the text"
        } else {
            "no jail is enabled; write `enabled = true` into those to replay"
        };
        return Err(RuleError::new(first_line, message).into());
    }
    for jail in &mut jails {
        jail.missing.extend(missing.iter().cloned());
    }
    Ok(jails)
}

/// Looks up the files that the jails of a text need. Returns the names of those that are missing,
/// as far as the text is valid.
pub(crate) fn missing_files(
    text: &str,
    name: &str,
    merged: &MergedTexts,
    find: &mut FindFile<'_>,
) -> Vec<String> {
    let file = ConfigurationFile { name, text, is_rule: true };
    let Ok(MergedFiles { ini, mut missing }) = filter::with_merged_texts(file, merged, find) else {
        return Vec::new();
    };
    if ini.section("Definition").is_none() {
        let (names, budget) = (jail_names(&ini), Budget::default());
        let mut seen = HashSet::new();
        for jail in enabled_jails(&ini, &names, &budget) {
            missing.extend(options::missing_files(&ini, jail, &budget, (merged, find), &mut seen));
        }
    }
    let mut seen = HashSet::new();
    missing.retain(|name| seen.insert(name.clone()));
    missing
}

/// The sections that are jails.
fn jail_names(ini: &Ini) -> Vec<&str> {
    ini.sections
        .iter()
        .map(|(section, _)| &**section)
        .filter(|section| !OTHERS.contains(section) && !section.starts_with("KNOWN/"))
        .filter(|section| !section.starts_with("lt_"))
        .collect()
}

fn enabled_jails<'i>(ini: &Ini, names: &[&'i str], budget: &Budget) -> Vec<&'i str> {
    names.iter().copied().filter(|jail| is_enabled(ini, jail, budget)).collect()
}

fn is_enabled(ini: &Ini, jail: &str, budget: &Budget) -> bool {
    let value = filter::get(ini, jail, "enabled", &BTreeMap::new(), budget).ok().flatten();
    value.is_none_or(|value| is_true(&value))
}

/// Whether fail2ban takes a text as true.
pub(super) fn is_true(text: &str) -> bool {
    ["1", "on", "true", "yes"].contains(&&*text.trim().to_lowercase())
}
