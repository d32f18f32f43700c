//! Reads filter files, and the files that they include.
//!
//! Source: `client/filterreader.py`, `client/configreader.py` and `client/configparserinc.py` of
//! fail2ban 1.0.2.

use std::collections::BTreeMap;

use super::ini::{Ini, Section, Value};
use super::interpolation::{Budget, interpolate, replace_tags};
use crate::error::RuleError;
use crate::files::RuleFiles;

/// The options of a filter.
const OPTIONS: [&str; 6] =
    ["usedns", "prefregex", "ignoreregex", "failregex", "maxlines", "datepattern"];

/// The most files that a filter may include, counting repeated ones each time.
const INCLUDES_MAX: usize = 200;

/// The folder of fail2ban's configuration, `%(fail2ban_confpath)s`, unless it is started with
/// another one.
const CONFIGURATION_FOLDER: &str = "/etc/fail2ban";

/// Reads a file and the files that it includes, in order of precedence.
///
/// # Errors
/// If a file is not valid, or there are too many.
pub(super) fn with_includes(
    ini: Ini,
    name: &str,
    files: &RuleFiles,
) -> Result<(Ini, Vec<String>), String> {
    let mut includes = Includes { files, merged: Ini::default(), missing: Vec::new(), count: 0 };
    includes.add(ini, &mut vec![name.to_owned()])?;
    Ok((includes.merged, includes.missing))
}

struct Includes<'f> {
    files: &'f RuleFiles,
    merged: Ini,
    missing: Vec<String>,
    count: usize,
}

impl Includes<'_> {
    /// Adds a file and its includes. `open` are the files whose includes are being read, the
    /// innermost last.
    fn add(&mut self, ini: Ini, open: &mut Vec<String>) -> Result<(), String> {
        self.count += 1;
        if self.count > INCLUDES_MAX {
            return Err(format!("more than {INCLUDES_MAX} files are included"));
        }
        let names = |option| {
            let value = ini.section("INCLUDES").and_then(|section| section.get(option));
            value.map(|value| value.text.clone()).unwrap_or_default()
        };
        let (before, after) = (names("before"), names("after"));
        self.add_named(&before, open)?;
        self.merged.merge(ini);
        self.add_named(&after, open)
    }

    fn add_named(&mut self, names: &str, open: &mut Vec<String>) -> Result<(), String> {
        for name in names.lines().map(str::trim).filter(|name| !name.is_empty()) {
            let name = name.rsplit('/').next().unwrap_or(name);
            let local = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned() + ".local";
            let mut found = false;
            for name in [name, &local] {
                // A file that includes itself is read once, as in fail2ban.
                if open.iter().any(|open| open == name) {
                    found = true;
                    continue;
                }
                let Some(text) = self.files.text(name) else { continue };
                found = true;
                let ini = Ini::parse(text, false).map_err(|error| in_file(name, text, &error))?;
                open.push(name.to_owned());
                self.add(ini, open)?;
                open.pop();
            }
            // The .local files are for the administrator's changes, and may be missing.
            if !found && !name.ends_with(".local") {
                self.missing.push(name.to_owned());
            }
        }
        Ok(())
    }
}

/// A message about a mistake in another file.
pub(super) fn in_file(name: &str, text: &str, error: &RuleError) -> String {
    format!("{name}:{}: {error}", error.line(text))
}

/// Reads the options of a filter from its merged files. `options` are those of the jail and those
/// in brackets after the filter's name, which take precedence.
///
/// # Errors
/// The option and a sentence, if a value refers to a missing one or to itself.
pub(super) fn options(
    ini: &Ini,
    mut jail: BTreeMap<String, String>,
    mut given: BTreeMap<String, String>,
    budget: &Budget,
) -> Result<BTreeMap<String, String>, (String, String)> {
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
    let other =
        |tag: &str| get(ini, "Definition", &tag.to_lowercase(), &vars, budget).ok().flatten();
    replace_tags(&mut combined, &other, budget)?;
    Ok(combined)
}

/// The value of an option of a section, after interpolation.
///
/// # Errors
/// The option and a sentence, if a referenced value is missing or the values are too long.
pub(super) fn get(
    ini: &Ini,
    section: &str,
    option: &str,
    vars: &BTreeMap<String, String>,
    budget: &Budget,
) -> Result<Option<String>, (String, String)> {
    let Some(value) = raw(ini, section, option, vars) else { return Ok(None) };
    let lookup = |name: &str| raw(ini, section, name, vars);
    interpolate(&value, &lookup, budget).map(Some).map_err(|message| (option.to_owned(), message))
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
