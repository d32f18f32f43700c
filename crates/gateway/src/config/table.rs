//! Reads the keys of a TOML table, and reports unknown keys.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_core::{nearest_name, parse_duration_ns};

use super::problem::Problems;

/// The longest duration, a hundred years: the end of a longer one may not be a valid time.
const DURATION_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

/// A table that is read key by key. Keys that were not read before [`Self::finish`] are mistakes.
#[derive(Debug)]
pub(super) struct TableReader<'a> {
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// The path of the table with a trailing dot; empty for the document.
    prefix: String,
    known: RefCell<Vec<&'static str>>,
    problems: &'a Problems<'a>,
}

/// A value with its byte range and the path of its key.
#[derive(Debug, Clone)]
pub(super) struct LocatedValue<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
    pub(super) key: String,
}

/// A list of strings.
type LocatedStrings<'a> = LocatedValue<Vec<LocatedValue<&'a str>>>;

impl<'a> TableReader<'a> {
    /// Creates a reader of the whole document.
    pub(super) fn document(table: &'a DeTable<'a>, problems: &'a Problems<'a>) -> Self {
        Self { table, span: 0..0, prefix: String::new(), known: RefCell::default(), problems }
    }

    fn nested(&self, table: &'a DeTable<'a>, span: Range<usize>, key: &str) -> TableReader<'a> {
        let prefix = format!("{key}.");
        TableReader { table, span, prefix, known: RefCell::default(), problems: self.problems }
    }

    /// The path of this table.
    pub(super) fn path(&self) -> &str {
        self.prefix.trim_end_matches('.')
    }

    /// Notes a problem of the table as a whole.
    pub(super) fn complain(&self, message: impl Display) {
        self.problems.add(&self.span, self.path(), message);
    }

    /// Notes something about the table as a whole that is not a mistake.
    pub(super) fn warn(&self, message: impl Display) {
        self.problems.warn(&self.span, self.path(), message);
    }

    /// Notes a problem of one value.
    pub(super) fn complain_at<T>(&self, located: &LocatedValue<T>, message: impl Display) {
        self.problems.add(&located.span, &located.key, message);
    }

    /// Notes something about one value that is not a mistake.
    pub(super) fn warn_at<T>(&self, located: &LocatedValue<T>, message: impl Display) {
        self.problems.warn(&located.span, &located.key, message);
    }

    fn value(&self, name: &'static str) -> Option<LocatedValue<&'a DeValue<'a>>> {
        self.known.borrow_mut().push(name);
        let (_, value) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some(LocatedValue {
            value: value.get_ref(),
            span: value.span(),
            key: format!("{}{name}", self.prefix),
        })
    }

    /// Reads the value of a key with `read`, or notes that `expected` was expected.
    fn typed<T>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<LocatedValue<T>> {
        let LocatedValue { value, span, key } = self.value(name)?;
        match read(value) {
            Some(value) => Some(LocatedValue { value, span, key }),
            None => {
                let message = format!("this is {}; write {expected}", kind_of(value));
                self.problems.add(&span, &key, message);
                None
            }
        }
    }

    /// Like [`typed`](Self::typed), but names the value if it is of the expected kind.
    fn valid<T>(
        &self,
        name: &'static str,
        expected: &str,
        is_kind: fn(&DeValue<'_>) -> bool,
        read: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<LocatedValue<T>> {
        let located = self.value(name)?;
        if !is_kind(located.value) {
            return self.typed(name, expected, |_| None);
        }
        let value = read(located.value);
        if value.is_none() {
            let text = text_of(located.value);
            self.complain_at(&located, format!("`{text}` is not valid here; write {expected}"));
        }
        Some(LocatedValue { value: value?, span: located.span, key: located.key })
    }

    /// Reads an optional string.
    pub(super) fn string(&self, name: &'static str) -> Option<LocatedValue<&'a str>> {
        self.typed(name, "a text in quotes", DeValue::as_str)
    }

    /// The text of a key, if it has one; mistakes are noted when it is read.
    pub(super) fn text(&self, name: &'static str) -> Option<&'a str> {
        self.table.iter().find(|(key, _)| key.get_ref() == name)?.1.get_ref().as_str()
    }

    /// Reads a required string.
    pub(super) fn required_string(&self, name: &'static str) -> Option<LocatedValue<&'a str>> {
        let is_there = self.table.iter().any(|(key, _)| key.get_ref() == name);
        if !is_there {
            self.complain(format!("`{name}` is missing"));
        }
        self.string(name)
    }

    /// Reads an optional boolean.
    pub(super) fn boolean(&self, name: &'static str) -> Option<bool> {
        self.typed(name, "true or false", DeValue::as_bool).map(|located| located.value)
    }

    /// Reads an optional whole number of at least `min`.
    pub(super) fn number(&self, name: &'static str, min: u64) -> Option<LocatedValue<u64>> {
        let expected = format!("a whole number of {min} or more");
        let is_kind = |value: &DeValue<'_>| value.is_integer();
        self.valid(name, &expected, is_kind, |value| {
            unsigned(value).filter(|number| *number >= min)
        })
    }

    /// Reads an optional number from 0 to 1, with decimals or without.
    pub(super) fn share(&self, name: &'static str) -> Option<f64> {
        let read = |value: &'a DeValue<'a>| {
            let decimals = value.as_float().and_then(|it| it.as_str().parse().ok());
            let share = decimals.or_else(|| unsigned(value).map(|it| it as f64));
            share.filter(|share| (0.0..=1.0).contains(share))
        };
        let is_kind = |value: &DeValue<'_>| value.is_integer() || value.is_float();
        let share = self.valid(name, "a number from 0 to 1, such as 0.01", is_kind, read)?;
        Some(share.value)
    }

    /// Reads an optional duration such as `60s`.
    pub(super) fn duration(&self, name: &'static str) -> Option<Duration> {
        self.located_duration(name).map(|located| located.value)
    }

    /// Like [`duration`](Self::duration), with its position.
    pub(super) fn located_duration(&self, name: &'static str) -> Option<LocatedValue<Duration>> {
        let expected = "a duration in quotes, such as \"500ms\", \"60s\", \"10m\" or \"1h\"";
        let text = self.typed(name, expected, DeValue::as_str)?;
        let duration = parse_duration_ns(text.value).map(Duration::from_nanos);
        let message = match duration {
            Ok(value) if value <= DURATION_MAX => {
                return Some(LocatedValue { value, span: text.span, key: text.key });
            }
            Ok(_) => format!("`{}` is more than a hundred years", text.value),
            Err(error) => error.to_string(),
        };
        self.complain_at(&text, message);
        None
    }

    /// Reads an optional list of strings, or a single string as a list of one.
    pub(super) fn strings(&self, name: &'static str) -> Option<LocatedStrings<'a>> {
        let LocatedValue { value, span, key } = self.value(name)?;
        Some(self.items(value, span, key))
    }

    /// Reads all keys of this table with their lists of strings, for a table whose keys the user
    /// chooses.
    pub(super) fn list_entries(&self) -> Vec<(&'a str, LocatedStrings<'a>)> {
        let mut entries = Vec::new();
        for (key, value) in self.table {
            let path = format!("{}{}", self.prefix, key.get_ref());
            let items = self.items(value.get_ref(), value.span(), path);
            entries.push((key.get_ref().as_ref(), items));
        }
        entries
    }

    fn items(&self, value: &'a DeValue<'a>, span: Range<usize>, key: String) -> LocatedStrings<'a> {
        let item = |value: &'a DeValue<'a>, span: Range<usize>| match value.as_str() {
            Some(value) => Some(LocatedValue { value, span, key: key.clone() }),
            None => {
                let message = format!("this is {}; write a text in quotes", kind_of(value));
                self.problems.add(&span, &key, message);
                None
            }
        };
        let items = match value {
            DeValue::Array(array) => {
                array.iter().filter_map(|value| item(value.get_ref(), value.span())).collect()
            }
            value => item(value, span.clone()).into_iter().collect(),
        };
        LocatedValue { value: items, span, key }
    }

    /// Reads an optional table.
    pub(super) fn table(&self, name: &'static str) -> Option<TableReader<'a>> {
        let located = self.typed(name, "a table, as in { key = value }", as_table)?;
        Some(self.nested(located.value, located.span, &located.key))
    }

    /// Reads an array of tables, `[[name]]`.
    pub(super) fn tables(&self, name: &'static str) -> Vec<TableReader<'a>> {
        let expected = format!("one or more tables, each under [[{name}]]");
        let Some(list) = self.typed(name, &expected, |value| tables_of(value)) else {
            return Vec::new();
        };
        let nested = |(index, (table, span)): (usize, (&'a DeTable<'a>, Range<usize>))| {
            self.nested(table, span, &format!("{}[{}]", list.key, index + 1))
        };
        list.value.into_iter().enumerate().map(nested).collect()
    }

    /// Reads the tables of a table with their names: `[name.NAME]`.
    pub(super) fn named_tables(
        &self,
        name: &'static str,
    ) -> Vec<(LocatedValue<&'a str>, TableReader<'a>)> {
        let expected = format!("tables, each under [{name}.NAME]");
        let Some(all) = self.typed(name, &expected, as_table) else { return Vec::new() };
        let mut named = Vec::new();
        for (key, value) in all.value {
            let path = format!("{}.{}", all.key, key.get_ref());
            match value.get_ref() {
                DeValue::Table(table) => {
                    let located = LocatedValue {
                        value: key.get_ref().as_ref(),
                        span: key.span(),
                        key: path.clone(),
                    };
                    named.push((located, self.nested(table, key.span(), &path)));
                }
                other => {
                    let message = format!("this is {}; write {expected}", kind_of(other));
                    self.problems.add(&value.span(), &path, message);
                }
            }
        }
        named
    }

    /// Reads all keys of this table with their strings, for a table whose keys the user chooses.
    pub(super) fn entries(&self) -> Vec<(&'a str, LocatedValue<&'a str>)> {
        let mut entries = Vec::new();
        for (key, value) in self.table {
            let path = format!("{}{}", self.prefix, key.get_ref());
            match value.get_ref().as_str() {
                Some(text) => {
                    let located = LocatedValue { value: text, span: value.span(), key: path };
                    entries.push((key.get_ref().as_ref(), located));
                }
                None => {
                    let message =
                        format!("this is {}; write a text in quotes", kind_of(value.get_ref()));
                    self.problems.add(&value.span(), &path, message);
                }
            }
        }
        entries
    }

    /// Whether a key is present. The key counts as read.
    pub(super) fn has(&self, name: &'static str) -> bool {
        self.known.borrow_mut().push(name);
        self.table.iter().any(|(key, _)| key.get_ref() == name)
    }

    /// Whether a key is present, perhaps misspelt. Used where the absence of a key is a mistake of
    /// another one.
    pub(super) fn may_have(&self, name: &'static str) -> bool {
        let is_meant = |key: &str| nearest_name(key, [name]).is_some();
        self.has(name) || self.table.iter().any(|(key, _)| is_meant(key.get_ref()))
    }

    /// Whether the value of a key is a table that has another key.
    pub(super) fn is_table_with(&self, name: &'static str, key: &str) -> bool {
        let value = self.table.iter().find(|(it, _)| it.get_ref() == name).map(|(_, value)| value);
        let table = value.and_then(|value| as_table(value.get_ref()));
        table.is_some_and(|table| table.iter().any(|(it, _)| it.get_ref() == key))
    }

    /// Whether the value of a key is a table.
    pub(super) fn is_table(&self, name: &'static str) -> bool {
        self.value(name).is_some_and(|located| as_table(located.value).is_some())
    }

    /// Whether the value of a key is a list.
    pub(super) fn is_list(&self, name: &'static str) -> bool {
        self.value(name).is_some_and(|located| matches!(located.value, DeValue::Array(_)))
    }

    /// Notes the keys that were not read.
    pub(super) fn finish(self) {
        let known = self.known.into_inner();
        for (key, _) in self.table {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let mut names: Vec<&str> = known.clone();
            names.sort_unstable();
            names.dedup();
            let hint = match nearest_name(name, names.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("known here: {}", names.join(", ")),
            };
            let path = format!("{}{name}", self.prefix);
            self.problems.add(&key.span(), &path, format!("this key is not known; {hint}"));
        }
    }
}

fn as_table<'a>(value: &'a DeValue<'a>) -> Option<&'a DeTable<'a>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn tables_of<'a>(value: &'a DeValue<'a>) -> Option<Vec<(&'a DeTable<'a>, Range<usize>)>> {
    let DeValue::Array(array) = value else { return None };
    let table = |value: &'a Spanned<DeValue<'a>>| Some((as_table(value.get_ref())?, value.span()));
    array.iter().map(table).collect()
}

fn unsigned(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A text or number as written, for messages.
fn text_of<'a>(value: &'a DeValue<'_>) -> &'a str {
    match value {
        DeValue::String(text) => text,
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => kind_of(value),
    }
}

/// The kind of a value, for messages.
fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with decimals",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
