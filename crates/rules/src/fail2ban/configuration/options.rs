//! Merges the options of a jail and of its filter.
//!
//! Source: `client/jailreader.py` of fail2ban 1.0.2.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;

use super::Definition;
use super::filter::{self, FindFile};
use super::ini::{Ini, Section};
use super::interpolation::{Budget, OptionError};
use crate::error::{Reason, RuleError};
use crate::files::MergedTexts;

/// Options of a jail that the values of its filter may refer to.
type Options = BTreeMap<String, String>;

/// Makes a jail of a filter alone, with fail2ban's default settings.
pub(super) fn of_filter<'t>(
    text: &'t str,
    ini: &Ini,
    name: &str,
) -> Result<Definition<'t>, RuleError> {
    let places = places(ini, &["Definition", "Init"], text);
    let options = filter::options(ini, Options::new(), Options::new(), &Budget::default())
        .map_err(|error| wrong(&places, &error.option, error.reason))?;
    let (name, missing) = (name.to_owned(), Vec::new());
    Ok(Definition { text, name, options, places, missing, without_filter: None })
}

/// Reads a jail of the text. Its filter is in the text, or else in a file.
pub(super) fn of_jail<'t>(
    text: &'t str,
    ini: &Ini,
    jail: &str,
    has_filter: bool,
    (texts, find): (&MergedTexts, &mut FindFile<'_>),
) -> Result<Definition<'t>, RuleError> {
    let places = places(ini, &["Definition", "Init", jail], text);
    let wrong_option = |error: OptionError| wrong(&places, &error.option, error.reason);
    let wrong_filter = |message: &dyn fmt::Display| wrong(&places, "filter", message);
    let (none, budget) = (Options::new(), Budget::default());
    let NamedFilter { name: filter_name, given, is_named } =
        named_filter(ini, jail, &budget).map_err(wrong_option)?;
    let mut missing = Vec::new();
    let filter_ini = if has_filter {
        Some(ini.clone())
    } else {
        let merged = filter::with_local_file(&filter_name, texts, find)
            .map_err(|error| wrong_filter(&error))?;
        merged.map(|merged| {
            missing.extend(merged.missing);
            merged.ini
        })
    };
    let has_own = ini.value(jail, "failregex").is_some();
    if filter_ini.is_none() && !has_own {
        let error = wrong_filter(&format_args!(
            "the filter `{filter_name}` is missing: add the file {filter_name}.conf, or write the \
             failregex into the jail"
        ));
        let (name, options, without_filter) = (jail.to_owned(), Options::new(), Some(error));
        return Ok(Definition { text, name, options, places, missing, without_filter });
    }
    if filter_ini.is_none() && is_named {
        missing.push(format!("{filter_name}.conf"));
    }
    // Values of the jail and of the filter may refer to each other.
    let mut ini = ini.clone();
    let mut options = Options::new();
    if let Some(filter_ini) = &filter_ini {
        let names = ["backend", "filter", "enabled"];
        let first = own_options(&ini, jail, &names, &budget).map_err(wrong_option)?;
        let known =
            filter::options(filter_ini, first, given.clone(), &budget).map_err(wrong_option)?;
        let section = ini.section_mut(jail);
        for (option, value) in known {
            // It was interpolated already.
            let value = value.replace('%', "%%");
            let value = super::ini::Value { text: value, range: 0..0 };
            section.entry(format!("known/{option}")).or_insert(value);
        }
        let all: Vec<String> =
            ini.section(jail).into_iter().flat_map(Section::keys).cloned().collect();
        let all: Vec<&str> =
            all.iter().map(String::as_str).filter(|option| !option.contains('/')).collect();
        let own = own_options(&ini, jail, &all, &budget).map_err(wrong_option)?;
        options = filter::options(filter_ini, own, given, &budget).map_err(wrong_option)?;
    }
    let names: Vec<String> = ini
        .section(jail)
        .into_iter()
        .flat_map(Section::keys)
        .chain(ini.defaults.keys())
        .filter(|option| !option.contains('/'))
        .cloned()
        .collect();
    for option in names {
        // Irrelevant options, such as actions, may refer to values that are not available.
        match filter::get(&ini, jail, &option, &none, &budget) {
            Ok(Some(value)) => _ = options.insert(option, value),
            Ok(None) => {}
            Err(error) if is_read(&option) => return Err(wrong_option(error)),
            Err(_) => {}
        }
    }
    Ok(Definition { text, name: jail.to_owned(), options, places, missing, without_filter: None })
}

/// Whether an option affects bans.
fn is_read(option: &str) -> bool {
    let names = ["maxretry", "maxmatches", "findtime", "logtimezone", "usedns", "maxlines"];
    names.contains(&option)
        || option.starts_with("bantime")
        || option.starts_with("ignore")
        || option.ends_with("regex")
        || option == "datepattern"
}

fn own_options(
    ini: &Ini,
    jail: &str,
    names: &[&str],
    budget: &Budget,
) -> Result<Options, OptionError> {
    let mut options = Options::new();
    for name in names {
        match filter::get(ini, jail, name, &Options::new(), budget) {
            Ok(Some(value)) => _ = options.insert((*name).to_owned(), value),
            Ok(None) => {}
            Err(error) if is_read(name) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(options)
}

/// The name of a jail's filter, and the options in brackets after it.
struct NamedFilter {
    name: String,
    given: Options,
    /// Whether the jail names it; otherwise it has the name of the jail.
    is_named: bool,
}

/// Reads which filter a jail has.
///
/// # Errors
/// If the option is not valid.
fn named_filter(ini: &Ini, jail: &str, budget: &Budget) -> Result<NamedFilter, OptionError> {
    let named = filter::get(ini, jail, "filter", &Options::new(), budget)?;
    let named = named.filter(|named| !named.trim().is_empty());
    let (name, given) = split_filter(named.as_deref().unwrap_or(jail))
        .map_err(|reason| OptionError { option: "filter".to_owned(), reason })?;
    Ok(NamedFilter { name, given, is_named: named.is_some() })
}

/// Returns the names of the files that a jail needs and that are missing. `seen` are the filters of
/// earlier jails.
pub(super) fn missing_files(
    ini: &Ini,
    jail: &str,
    budget: &Budget,
    (texts, find): (&MergedTexts, &mut FindFile<'_>),
    seen: &mut HashSet<String>,
) -> Vec<String> {
    let Ok(filter) = named_filter(ini, jail, budget) else { return Vec::new() };
    let is_needed = filter.is_named || ini.value(jail, "failregex").is_none();
    if !seen.insert(filter.name.clone()) {
        return Vec::new();
    }
    match filter::with_local_file(&filter.name, texts, find) {
        Ok(Some(merged)) => merged.missing,
        Ok(None) if is_needed => vec![format!("{}.conf", filter.name)],
        Ok(None) | Err(_) => Vec::new(),
    }
}

/// The ranges of the options of some sections, and that of the last section under the empty name.
fn places(ini: &Ini, sections: &[&str], text: &str) -> BTreeMap<String, Range<usize>> {
    let mut places = BTreeMap::new();
    let options = |section: &Section| {
        let place =
            |(name, value): (&String, &super::ini::Value)| (name.clone(), value.range.clone());
        section.iter().map(place).filter(|(_, range)| !range.is_empty()).collect::<Vec<_>>()
    };
    places.extend(options(&ini.defaults));
    for section in sections {
        places.extend(ini.section(section).map(options).unwrap_or_default());
        let header = format!("[{section}]");
        if let Some(start) = text.find(&header) {
            places.insert(String::new(), start..start + header.len());
        }
    }
    places
}

fn wrong(
    places: &BTreeMap<String, Range<usize>>,
    option: &str,
    message: impl fmt::Display,
) -> RuleError {
    let place = places.get(option).or_else(|| places.get("")).cloned().unwrap_or(0..0);
    RuleError::new(place, format!("{option}: {message}"))
}

/// Splits `name[option=value, option="value"]`.
///
/// # Errors
/// If the text does not have this form.
fn split_filter(text: &str) -> Result<(String, Options), Reason> {
    let text = text.trim();
    let Some((name, rest)) = text.split_once('[') else {
        return Ok((text.to_owned(), Options::new()));
    };
    let form = || Reason::from("write `filter = name[option=value, option=\"value\"]`");
    let mut rest = rest.strip_suffix(']').ok_or_else(form)?.trim();
    let mut options = Options::new();
    while !rest.is_empty() {
        let (option, after) = rest.split_once('=').ok_or_else(form)?;
        let is_name = |char: char| char.is_alphanumeric() || "-_.".contains(char);
        let option = option.trim();
        if option.is_empty() || !option.chars().all(is_name) {
            return Err(form());
        }
        let quote = after.chars().next().filter(|char| ['"', '\''].contains(char));
        let (value, after) = match quote {
            Some(quote) => after[1..].split_once(quote).ok_or_else(form)?,
            None => after.split_at(after.find([',', ']']).unwrap_or(after.len())),
        };
        options.insert(option.to_owned(), value.trim().to_owned());
        let after = after.trim_start();
        rest = match after.chars().next() {
            None => "",
            Some(',') => after[1..].trim(),
            // Another group: `name[a=1][b=2]`.
            Some(']') => after[1..].trim_start().strip_prefix('[').ok_or_else(form)?.trim(),
            Some(_) => return Err(form()),
        };
    }
    Ok((name.trim().to_owned(), options))
}

#[cfg(test)]
mod tests {
    use super::split_filter;

    #[test]
    fn a_filter_may_have_options() {
        let split = |text| {
            let (name, options) = split_filter(text).expect("it is valid");
            let options = options.iter().map(|(name, value)| format!("{name}={value}"));
            (name, options.collect::<Vec<_>>().join(";"))
        };
        let expected = |name: &str, options: &str| (name.to_owned(), options.to_owned());
        assert_eq!(split("sshd"), expected("sshd", ""));
        assert_eq!(split("a[x=1, y=\"2, ]\"]"), expected("a", "x=1;y=2, ]"));
        assert_eq!(split("a[x='1'][y=2]"), expected("a", "x=1;y=2"));
        for text in ["a[x=1", "a[x]", "a[x=\"1]", "a[=1]", "a[x=\"1\"y]"] {
            assert!(split_filter(text).is_err(), "{text}");
        }
    }
}
