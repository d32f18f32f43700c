//! Parses fail2ban's configuration files: sections of options.
//!
//! Source: Python's `configparser`, as fail2ban uses it, with `;` for comments at the end of lines.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::error::RuleError;

/// The options of a section.
pub(super) type Section = BTreeMap<String, Value>;

/// The value of an option before interpolation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Value {
    /// Its lines, without indentation and comments.
    pub(super) text: String,
    /// The range of the option in its file, in bytes; empty after [`Ini::without_places`].
    pub(super) range: Range<usize>,
}

/// A file, or several merged files.
#[derive(Debug, Clone, Default)]
pub(super) struct Ini {
    /// The options of `[DEFAULT]`, which all sections have.
    pub(super) defaults: Section,
    /// In the order of the file.
    pub(super) sections: Vec<(String, Section)>,
    /// The positions of the sections by their names.
    positions: HashMap<String, usize>,
}

impl Ini {
    /// Parses a file.
    ///
    /// # Errors
    /// If a line is neither a section nor an option.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let mut parser = IniParser::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            parser.line(line, start)?;
            start += line.len();
        }
        let mut ini = parser.ini;
        for value in ini.values_mut() {
            value.text.truncate(value.text.trim_end().len());
        }
        Ok(ini)
    }

    /// Forgets the ranges of the options, if the file is not the text of the rule itself.
    pub(super) fn without_places(mut self) -> Self {
        self.values_mut().for_each(|value| value.range = 0..0);
        self
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let sections = self.sections.iter_mut().map(|(_, section)| section);
        sections.chain([&mut self.defaults]).flat_map(BTreeMap::values_mut)
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.positions.get(name).map(|position| &self.sections[*position].1)
    }

    /// Returns the section, after adding it if it is missing.
    pub(super) fn section_mut(&mut self, name: &str) -> &mut Section {
        let position = match self.positions.get(name) {
            Some(position) => *position,
            None => {
                self.positions.insert(name.to_owned(), self.sections.len());
                self.sections.push((name.to_owned(), Section::new()));
                self.sections.len() - 1
            }
        };
        &mut self.sections[position].1
    }

    /// The value of an option in a section, or else in `[DEFAULT]`.
    pub(super) fn value(&self, section: &str, option: &str) -> Option<&Value> {
        let own = self.section(section).and_then(|section| section.get(option));
        own.or_else(|| self.defaults.get(option))
    }

    /// Merges a file that is read after this one. Replaced options are kept with the prefix
    /// `known/`.
    pub(super) fn merge(&mut self, later: Self) {
        self.defaults.extend(later.defaults);
        for (name, section) in later.sections {
            let known = self.section_mut(&name);
            let replaced: Section = known
                .iter()
                .filter(|(option, _)| section.contains_key(*option))
                .map(|(option, value)| (option.clone(), value.clone()))
                .collect();
            known.extend(section);
            if !replaced.is_empty() {
                self.section_mut(&format!("KNOWN/{name}")).extend(replaced);
            }
        }
    }
}

#[derive(Default)]
struct IniParser {
    ini: Ini,
    /// The section and the option that the next line may continue.
    section: Option<String>,
    option: Option<String>,
    indentation: usize,
}

impl IniParser {
    fn line(&mut self, line: &str, start: usize) -> Result<(), RuleError> {
        let (text, has_comment) = without_comment(line);
        let text = text.trim();
        let at = start + line.find(text).unwrap_or(0);
        let range = at..at + text.len();
        if text.is_empty() {
            if !has_comment && let Some(value) = self.value() {
                value.text.push('\n');
            }
            return Ok(());
        }
        let indentation = line.len() - line.trim_start().len();
        if indentation > self.indentation
            && let Some(value) = self.value()
        {
            value.text.push('\n');
            value.text += text;
            value.range.end = range.end;
            return Ok(());
        }
        self.indentation = indentation;
        if let Some(name) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            return self.begin_section(name, range);
        }
        self.begin_option(text, range)
    }

    fn value(&mut self) -> Option<&mut Value> {
        let (section, option) = (self.section.as_ref()?, self.option.as_ref()?);
        match &**section {
            "DEFAULT" => self.ini.defaults.get_mut(option),
            section => self.ini.section_mut(section).get_mut(option),
        }
    }

    fn begin_section(&mut self, name: &str, range: Range<usize>) -> Result<(), RuleError> {
        if name.is_empty() || self.ini.section(name).is_some() {
            let message =
                format!("the section [{name}] is there twice, or has no name; merge them");
            return Err(RuleError::new(range, message));
        }
        if name != "DEFAULT" {
            self.ini.section_mut(name);
        }
        self.section = Some(name.to_owned());
        self.option = None;
        Ok(())
    }

    fn begin_option(&mut self, text: &str, range: Range<usize>) -> Result<(), RuleError> {
        let Some(section) = &self.section else {
            let message = "fail2ban expects a section such as [sshd] or [Definition] first";
            return Err(RuleError::new(range, message));
        };
        let Some(split) = text.find(['=', ':']).filter(|split| *split > 0) else {
            let message = "this is neither a [section] nor an option: write `name = value`, and \
                           indent the further lines of a value";
            return Err(RuleError::new(range, message));
        };
        let name = text[..split].trim_end().to_lowercase();
        let value = Value { text: text[split + 1..].trim().to_owned(), range: range.clone() };
        let options = match &**section {
            "DEFAULT" => &mut self.ini.defaults,
            section => self.ini.section_mut(section),
        };
        if options.insert(name.clone(), value).is_some() {
            let range = range.start..range.start + split;
            let message = format!("`{name}` is set twice in this section; leave one out");
            return Err(RuleError::new(range, message));
        }
        self.option = Some(name);
        Ok(())
    }
}

/// Removes the comment of a line. Also returns whether there is one.
fn without_comment(line: &str) -> (&str, bool) {
    if line.trim_start().starts_with(['#', ';']) {
        return ("", true);
    }
    let starts = line.match_indices(';').map(|(start, _)| start);
    let is_comment = |start: &usize| line[..*start].ends_with(char::is_whitespace);
    match starts.into_iter().find(is_comment) {
        Some(start) => (&line[..start], true),
        None => (line, false),
    }
}

#[cfg(test)]
mod tests {
    use super::Ini;

    #[test]
    fn options_are_read_as_by_python() {
        let text = "# a comment\n[DEFAULT]\nBanTime = 1h ; an hour\n[a b]\nx : 1;2\n  # no\n   3\n\n  4 = 5\ny=\n[b]\n";
        let ini = Ini::parse(text).expect("it is valid");
        let value = |section: &str, option: &str| ini.value(section, option).expect("it is there");
        assert_eq!(value("a b", "x").text, "1;2\n3\n\n4 = 5");
        assert_eq!(value("a b", "y").text, "");
        assert_eq!(value("b", "bantime").text, "1h");
        assert_eq!(&text[value("a b", "x").range.clone()], "x : 1;2\n  # no\n   3\n\n  4 = 5");
        assert_eq!(value("b", "bantime").range, 22..34);
    }

    #[test]
    fn sections_are_found_by_name_after_a_merge() {
        let mut first = Ini::parse("[a]\nx = 1\n[b]\nx = 2\n").expect("it is valid");
        first.merge(Ini::parse("[b]\nx = 3\n[c]\nx = 4\n").expect("it is valid"));
        for (position, (name, _)) in first.sections.iter().enumerate() {
            assert_eq!(first.positions.get(name), Some(&position), "{name}");
        }
        let value = |section| first.value(section, "x").map(|value| &*value.text);
        let found = ["a", "b", "c", "KNOWN/b", "d"].map(value);
        assert_eq!(found, [Some("1"), Some("3"), Some("4"), Some("2"), None]);
    }

    #[test]
    fn mistakes_are_shown() {
        for (text, place) in [
            ("x = 1\n", "x = 1"),
            ("[a]\nfailregex\n", "failregex"),
            ("[a]\n[b]\n[a]\n", "[a]"),
            ("[a]\nx = 1\nX = 2\n", "X "),
        ] {
            let error = Ini::parse(text).expect_err(text);
            assert_eq!(&text[error.range.clone()], place, "{error}");
        }
    }
}
