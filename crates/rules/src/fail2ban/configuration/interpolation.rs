//! Interpolates values into other values: `%(name)s` and `<name>`.
//!
//! Sources: `client/configparserinc.py` and `substituteRecursiveTags` of `helpers.py` of fail2ban.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::error::Reason;

/// The deepest nesting, as in Python.
const DEPTH_MAX: usize = 10;

/// The most replacements of one tag in one value, as in fail2ban.
const TAG_REPLACEMENTS_MAX: usize = 25;

/// The message about a value that contains itself.
const CONTAINS_ITSELF: &str = "it contains itself";

/// The most rounds in which the tags of all values are replaced.
const ROUNDS_MAX: usize = 25;

/// The longest value, in bytes. A few tags that contain each other can make a value very long.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// The most bytes that may be interpolated for a jail. fail2ban's own jails stay below it.
const TOTAL_BYTES_MAX: usize = 8 << 20;

/// The bytes that each interpolated value counts besides its length, so that empty ones are
/// bounded, too.
const REPLACEMENT_BYTES: usize = 64;

/// An option whose value cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OptionError {
    /// The name of the option.
    pub(super) option: String,
    pub(super) reason: Reason,
}

/// A function that looks up a value by its name.
type Lookup<'l> = &'l dyn Fn(&str) -> Option<String>;

/// The number of bytes that may still be interpolated. It bounds the time and memory of values that
/// contain many others, which contain many others in turn.
#[derive(Debug)]
pub(super) struct Budget(Cell<usize>);

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(TOTAL_BYTES_MAX))
    }
}

impl Budget {
    /// Subtracts a value of some length.
    ///
    /// # Errors
    /// If the budget is exceeded.
    fn take(&self, bytes: usize) -> Result<(), Reason> {
        let left = self.0.get().checked_sub(bytes.saturating_add(REPLACEMENT_BYTES));
        self.0.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| {
            "the values that it refers to come to more than 8 MiB; write fewer of them".into()
        })
    }
}

/// Replaces `%(name)s` in a text by values, and `%%` by `%`.
///
/// # Errors
/// If a value is missing, contains itself, or exceeds the budget.
pub(super) fn interpolate(
    text: &str,
    value: Lookup<'_>,
    budget: &Budget,
) -> Result<String, Reason> {
    let mut result = String::new();
    append(text, value, budget, 0, &mut result)?;
    Ok(result)
}

fn append(
    text: &str,
    value: Lookup<'_>,
    budget: &Budget,
    depth: usize,
    result: &mut String,
) -> Result<(), Reason> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        *result += before;
        if let Some(after) = after.strip_prefix('%') {
            result.push('%');
            rest = after;
            continue;
        }
        let name = after.strip_prefix('(').and_then(|after| after.split_once(")s"));
        let Some((name, after)) = name else {
            return Err("`%` stands before `(name)s`; write `%%` for the sign itself".into());
        };
        let found = value(&name.to_lowercase());
        let found = found.ok_or_else(|| match name.strip_prefix("known/") {
            Some(option) => format!(
                "`%({name})s` is the `{option}` of the file that this one extends, and there is none: \
                 put the file NAME.conf beside this NAME.local"
            ),
            None => format!("`%({name})s` is not defined"),
        })?;
        if depth == DEPTH_MAX || result.len() > VALUE_BYTES_MAX {
            return Err(format!("`%({name})s` contains itself").into());
        }
        budget.take(found.len())?;
        append(&found, value, budget, depth + 1, result)?;
        rest = after;
    }
    *result += rest;
    Ok(())
}

/// Replaces tags such as `<mode>` in all values.
///
/// # Errors
/// If a value contains itself or exceeds the budget.
pub(super) fn replace_tags(
    values: &mut BTreeMap<String, String>,
    other: Lookup<'_>,
    budget: &Budget,
) -> Result<(), OptionError> {
    for _ in 0..ROUNDS_MAX {
        let mut has_changed = false;
        for name in values.keys().cloned().collect::<Vec<_>>() {
            let text = values[&name].clone();
            let replaced = replaced(&name, &text, values, other, budget);
            let replaced =
                replaced.map_err(|reason| OptionError { option: name.clone(), reason })?;
            has_changed |= replaced != text;
            values.insert(name, replaced);
        }
        if !has_changed {
            return Ok(());
        }
    }
    let option = values.keys().next().cloned().unwrap_or_default();
    Err(OptionError { option, reason: CONTAINS_ITSELF.into() })
}

fn replaced(
    name: &str,
    text: &str,
    values: &BTreeMap<String, String>,
    other: Lookup<'_>,
    budget: &Budget,
) -> Result<String, Reason> {
    let mut text = text.to_owned();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut start = 0;
    while let Some((at, tag)) = next_tag(&text, start) {
        let tag = tag.to_owned();
        let count = counts.entry(tag.clone()).or_insert(0);
        if tag == name || *count > TAG_REPLACEMENTS_MAX || text.len() > VALUE_BYTES_MAX {
            return Err(CONTAINS_ITSELF.into());
        }
        match values.get(&tag).cloned().or_else(|| other(&tag)) {
            Some(value) => {
                let tag = format!("<{tag}>");
                let added = text.matches(&*tag).count().saturating_mul(value.len());
                budget.take(text.len().saturating_add(added))?;
                text = text.replace(&tag, &value);
                *count += 1;
                start = (0..=at.min(text.len()))
                    .rev()
                    .find(|at| text.is_char_boundary(*at))
                    .unwrap_or(0);
            }
            None => start = at + tag.len() + 2,
        }
    }
    Ok(text)
}

/// The next tag at or after a position, and where it begins.
fn next_tag(text: &str, start: usize) -> Option<(usize, &str)> {
    let mut open = None;
    for (at, char) in text[start..].char_indices() {
        match (char, open) {
            ('<', _) => open = Some(start + at),
            (' ', _) => open = None,
            ('>', Some(open)) if start + at > open + 1 => {
                return Some((open, &text[open + 1..start + at]));
            }
            ('>', _) => open = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Budget, replace_tags};
    use crate::error::Reason;

    fn interpolate(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, Reason> {
        super::interpolate(text, value, &Budget::default())
    }

    #[test]
    fn values_are_put_into_values() {
        let value = |name: &str| match name {
            "a" => Some("1%(b)s".to_owned()),
            "b" => Some("2%%".to_owned()),
            "c" => Some("%(c)s".to_owned()),
            _ => None,
        };
        assert_eq!(interpolate("x%(A)s%%y", &value), Ok("x12%%y".to_owned()));
        assert_eq!(interpolate("%(d)s", &value), Err("`%(d)s` is not defined".into()));
        let known = interpolate("%(known/failregex)s", &value).expect_err("it is not defined");
        assert!(known.to_string().contains("put the file NAME.conf beside"), "{known}");
        assert_eq!(interpolate("%(c)s", &value), Err("`%(c)s` contains itself".into()));
        assert!(interpolate("50%", &value).is_err());
    }

    #[test]
    fn tags_may_hold_tags() {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut values = map(&[("mode", "b"), ("r", "^<x-<mode>> <HOST> <<x> >"), ("x-b", "<y>")]);
        let other = |name: &str| (name == "y").then(|| "Y".to_owned());
        replace_tags(&mut values, &other, &Budget::default()).expect("they end");
        assert_eq!(values["r"], "^Y <HOST> <<x> >");
        let mut endless = map(&[("a", "<b>"), ("b", "<a>")]);
        assert!(replace_tags(&mut endless, &other, &Budget::default()).is_err());
        let mut growing = map(&[("a", "<b><b>"), ("b", "<c><c>"), ("c", "<b>")]);
        assert!(replace_tags(&mut growing, &other, &Budget::default()).is_err());
    }
}
