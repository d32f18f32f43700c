//! Reads filter files, and the files that they include.
//!
//! Source: `client/filterreader.py`, `client/configreader.py` and `client/configparserinc.py` of
//! fail2ban 1.0.2.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ini::{Ini, Section, Value};
use super::interpolation::{Budget, OptionError, interpolate, replace_tags};
use crate::error::RuleError;
use crate::files::MergedTexts;

/// The options of a filter.
const OPTIONS: [&str; 6] =
    ["usedns", "prefregex", "ignoreregex", "failregex", "maxlines", "datepattern"];

/// The most files that a filter may include, counting repeated ones each time.
const INCLUDES_MAX: usize = 200;

/// The most bytes of the files that a filter includes, counted in the same way.
const INCLUDED_BYTES_MAX: usize = 16 << 20;

/// The folder of fail2ban's configuration, `%(fail2ban_confpath)s`, unless it is started with
/// another one.
const CONFIGURATION_FOLDER: &str = "/etc/fail2ban";

/// Returns the text of a file by its name.
pub(super) type FindFile<'f> = dyn FnMut(&str) -> Option<Arc<str>> + 'f;

/// A file of the configuration.
#[derive(Clone, Copy)]
pub(super) struct ConfigurationFile<'t> {
    pub(super) name: &'t str,
    pub(super) text: &'t str,
    /// Whether it is the text of the rule itself, so that places in it can be shown.
    pub(super) is_rule: bool,
}

impl ConfigurationFile<'_> {
    fn ini(&self) -> Result<Ini, RuleError> {
        Ini::parse(self.text).map_err(|error| self.error(error))
    }

    /// Makes an error about this file. The place in a file that is not the text of the rule is in
    /// the message.
    fn error(&self, error: RuleError) -> RuleError {
        if self.is_rule {
            return error;
        }
        RuleError::new(0..0, format_args!("{}:{}: {error}", self.name, error.line(self.text)))
    }
}

/// Files merged in the order of precedence.
#[derive(Default)]
pub(super) struct MergedFiles {
    pub(super) ini: Ini,
    /// The names of the included files that are missing.
    pub(super) missing: Vec<String>,
}

/// Reads a file and the files that it includes.
///
/// # Errors
/// If a file is not valid or includes itself, or there are too many. The range is empty if the
/// mistake is in another file than the text of the rule.
pub(super) fn with_includes(
    file: ConfigurationFile<'_>,
    find: &mut FindFile<'_>,
) -> Result<MergedFiles, RuleError> {
    let mut includes = Includes { find, merged: MergedFiles::default(), count: 0, bytes: 0 };
    includes.add(file, &mut Vec::new())?;
    Ok(includes.merged)
}

/// Reads the text of a rule, with the files that fail2ban reads before and after it, and with all that
/// these include.
///
/// # Errors
/// As [`with_includes`].
pub(super) fn with_merged_texts(
    file: ConfigurationFile<'_>,
    MergedTexts { earlier, later, .. }: &MergedTexts,
    find: &mut FindFile<'_>,
) -> Result<MergedFiles, RuleError> {
    let mut merged = MergedFiles::default();
    let files = earlier
        .iter()
        .map(|(name, text)| ConfigurationFile { name, text, is_rule: false })
        .chain([file])
        .chain(later.iter().map(|(name, text)| ConfigurationFile { name, text, is_rule: false }));
    for file in files {
        let next = with_includes(file, find)?;
        merged.ini.merge(next.ini);
        merged.missing.extend(next.missing);
    }
    Ok(merged)
}

/// The merged files of a filter and of its folder; `None` if no file has that name.
///
/// # Errors
/// As [`with_includes`].
pub(super) fn with_local_file(
    name: &str,
    texts: &MergedTexts,
    find: &mut FindFile<'_>,
) -> Result<Option<MergedFiles>, RuleError> {
    let mut files: Vec<(String, Arc<str>)> = Vec::new();
    for ending in ["conf", "local"] {
        let main = format!("{name}.{ending}");
        files.extend(find(&main).map(|text| (main, text)));
        let of_folder = texts.of_filter(name, ending);
        files.extend(of_folder.map(|(name, text)| (name.to_owned(), Arc::clone(text))));
    }
    let mut merged: Option<MergedFiles> = None;
    for (name, text) in &files {
        let file = ConfigurationFile { name, text, is_rule: false };
        let later = with_includes(file, find)?;
        match &mut merged {
            Some(merged) => {
                merged.ini.merge(later.ini);
                merged.missing.extend(later.missing);
            }
            None => merged = Some(later),
        }
    }
    Ok(merged)
}

struct Includes<'f, 'g> {
    find: &'f mut FindFile<'g>,
    merged: MergedFiles,
    count: usize,
    bytes: usize,
}

impl Includes<'_, '_> {
    /// Adds a file and its includes. `open` are the names of the files whose includes are being
    /// read, the innermost last.
    fn add(
        &mut self,
        file: ConfigurationFile<'_>,
        open: &mut Vec<String>,
    ) -> Result<(), RuleError> {
        let ini = file.ini()?;
        self.count += 1;
        self.bytes += file.text.len();
        if self.count > INCLUDES_MAX || self.bytes > INCLUDED_BYTES_MAX && !file.is_rule {
            let message = format_args!(
                "more than {INCLUDES_MAX} files or {} MiB are included",
                INCLUDED_BYTES_MAX >> 20
            );
            return Err(RuleError::new(0..0, message));
        }
        let names = |option| {
            let section = ini.section("INCLUDES");
            section.and_then(|section| section.get(option)).cloned().unwrap_or_default()
        };
        let (before, after) = (names("before"), names("after"));
        open.push(file.name.to_owned());
        self.add_named(file, &before, open)?;
        self.merged.ini.merge(if file.is_rule { ini } else { ini.without_places() });
        self.add_named(file, &after, open)?;
        open.pop();
        Ok(())
    }

    /// Adds the files that an option of `file` names.
    fn add_named(
        &mut self,
        file: ConfigurationFile<'_>,
        names: &Value,
        open: &mut Vec<String>,
    ) -> Result<(), RuleError> {
        for name in names.text.lines().map(str::trim).filter(|name| !name.is_empty()) {
            let name = name.rsplit('/').next().unwrap_or(name);
            if let Some(start) = open.iter().position(|open| open == name) {
                let path = [&open[start..], &[name.to_owned()]].concat().join(" -> ");
                let message = format_args!("{name} includes itself ({path}); leave one name out");
                return Err(file.error(RuleError::new(names.range.clone(), message)));
            }
            let local = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned() + ".local";
            let mut found = false;
            for name in [name, &local] {
                // A `.local` file that includes its `.conf` file is not read within itself.
                if open.iter().any(|open| open == name) {
                    found = true;
                    continue;
                }
                let Some(text) = (self.find)(name) else { continue };
                found = true;
                self.add(ConfigurationFile { name, text: &text, is_rule: false }, open)?;
                if name == local {
                    break;
                }
            }
            // The .local files are for the administrator's changes, and may be missing.
            if !found && !name.ends_with(".local") {
                self.merged.missing.push(name.to_owned());
            }
        }
        Ok(())
    }
}

/// Reads the options of a filter from its merged files. `options` are those of the jail and those
/// in brackets after the filter's name, which take precedence.
///
/// # Errors
/// If a value refers to a missing one or to itself.
pub(super) fn options(
    ini: &Ini,
    mut jail: BTreeMap<String, String>,
    mut given: BTreeMap<String, String>,
    budget: &Budget,
) -> Result<BTreeMap<String, String>, OptionError> {
    let has_own = ini.section("Definition").is_some_and(|own| own.contains_key("logtype"));
    if !has_own && !given.contains_key("logtype") {
        given.insert("logtype".to_owned(), "file".to_owned());
    }
    jail.extend(given.clone());
    let mut combined = BTreeMap::new();
    for option in OPTIONS.iter().filter(|option| !jail.contains_key(**option)) {
        if let Some(value) = get(ini, "Definition", option, &jail, budget)? {
            combined.insert((*option).to_owned(), value);
        }
    }
    for option in ini.section("Init").into_iter().flat_map(Section::keys) {
        let Some(value) = get(ini, "Init", option, &BTreeMap::new(), budget)? else { continue };
        given.insert(format!("known/{option}"), value.clone());
        given.entry(option.clone()).or_insert(value);
    }
    let known = given.clone();
    combined.extend(given);
    let vars: BTreeMap<String, String> = jail.into_iter().chain(known).collect();
    let other = |tag: &str| value_of_tag(ini, &tag.to_lowercase(), &vars, budget);
    replace_tags(&mut combined, &other, budget)?;
    Ok(combined)
}

/// The value of a tag, after interpolation. The option of a named section, as in
/// `<lt_journal/__prefix_line>`, is interpolated in that section (`get_ex` of fail2ban).
fn value_of_tag(
    ini: &Ini,
    tag: &str,
    vars: &BTreeMap<String, String>,
    budget: &Budget,
) -> Option<String> {
    let of_section = || {
        let (name, option) = tag.split_once('/')?;
        let mut names = ini.sections.iter().map(|(section, _)| section);
        let section = names.find(|section| section.eq_ignore_ascii_case(name))?;
        get(ini, section, option, &BTreeMap::new(), budget).ok().flatten()
    };
    of_section().or_else(|| get(ini, "Definition", tag, vars, budget).ok().flatten())
}

/// The value of an option of a section, after interpolation.
///
/// # Errors
/// If a referenced value is missing or the values are too long.
pub(super) fn get(
    ini: &Ini,
    section: &str,
    option: &str,
    vars: &BTreeMap<String, String>,
    budget: &Budget,
) -> Result<Option<String>, OptionError> {
    let Some(value) = raw(ini, section, option, vars) else { return Ok(None) };
    let lookup = |name: &str| raw(ini, section, name, vars);
    interpolate(&value, &lookup, budget)
        .map(Some)
        .map_err(|reason| OptionError { option: option.to_owned(), reason })
}

/// A value before interpolation. A name may be that of a section and an option: `known/failregex`.
fn raw(ini: &Ini, section: &str, name: &str, vars: &BTreeMap<String, String>) -> Option<String> {
    if name == "__name__" {
        return Some(section.to_owned());
    }
    let text = |value: &Value| value.text.clone();
    let own = vars.get(name).cloned().or_else(|| ini.value(section, name).map(text));
    let own =
        own.or_else(|| (name == "fail2ban_confpath").then(|| CONFIGURATION_FOLDER.to_owned()));
    own.or_else(|| {
        let (other, option) = name.split_once('/')?;
        let other = match other {
            "known" => format!("KNOWN/{section}"),
            "default" => return ini.defaults.get(option).map(text),
            other => ini
                .sections
                .iter()
                .map(|(name, _)| name)
                .find(|name| name.eq_ignore_ascii_case(other))?
                .clone(),
        };
        ini.value(&other, option).map(text)
    })
}
