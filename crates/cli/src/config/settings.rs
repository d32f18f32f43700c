//! The settings of the files, and the mistakes in them.

use std::fmt;
use std::ops::Range;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, Id};
use toml::de::{DeTable, DeValue};
use weir_core::nearest_name;

use super::{ConfigFile, WITHOUT};
use crate::display::safe;

/// The table of `weir` without a command.
pub(super) const SERVE: &str = "serve";

/// The options that only make sense when they are typed.
const ONLY_TYPED: [&str; 3] = ["help", "version", "no-config"];

/// What all files say; later files win.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) settings: Vec<Setting>,
    pub(super) problems: Vec<Problem>,
}

/// The value of an option of one command.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The name of the command, or [`SERVE`].
    pub(super) command: String,
    /// The long name of the option.
    pub(super) option: String,
    pub(super) id: Id,
    pub(super) values: Vec<String>,
    is_list: bool,
    place: String,
}

/// A mistake, and where it is.
#[derive(Debug)]
pub(super) struct Problem {
    place: String,
    sentence: String,
    /// The command in whose table it is; `None` if it concerns all.
    command: Option<String>,
}

impl Problem {
    /// Whether a command cannot run with the mistake.
    pub(super) fn concerns(&self, command: &str) -> bool {
        self.command.as_deref().is_none_or(|name| name == command)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.sentence)
    }
}

impl Setting {
    /// The value, as a file has it.
    pub(super) fn value(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|value| literal(value)).collect();
        match &values[..] {
            [value] if !self.is_list => value.clone(),
            values => format!("[{}]", values.join(", ")),
        }
    }

    /// The file and the line.
    pub(super) fn place(&self) -> String {
        safe(&self.place)
    }
}

impl Settings {
    /// Adds the settings of a file.
    pub(super) fn add(&mut self, file: &ConfigFile, weir: &Command) {
        let Some(text) = &file.text else { return };
        let mut reader = FileReader { settings: self, file, text, weir };
        match DeTable::parse(text) {
            Ok(document) => reader.read(document.get_ref()),
            Err(error) => {
                let sentence = error.message().replace('\n', ", ");
                reader.problem(error.span().unwrap_or(0..0), sentence, None);
            }
        }
    }

    /// Adds a setting, in place of one of the same option.
    fn set(&mut self, setting: Setting) {
        self.settings.retain(|it| (&it.command, &it.id) != (&setting.command, &setting.id));
        self.settings.push(setting);
    }
}

/// Reads one file.
struct FileReader<'a> {
    settings: &'a mut Settings,
    file: &'a ConfigFile,
    text: &'a str,
    weir: &'a Command,
}

impl FileReader<'_> {
    /// Reads the document: first what is for all commands, whose own tables win.
    fn read(&mut self, document: &DeTable<'_>) {
        let weir = self.weir;
        for (key, value) in document.iter().filter(|(_, value)| !value.get_ref().is_table()) {
            let with_option: Vec<_> = commands(weir)
                .filter_map(|(name, command)| {
                    Some((name, command, option(command, key.get_ref())?))
                })
                .collect();
            if with_option.is_empty() {
                let known = commands(weir).flat_map(|(_, command)| option_names(command));
                let sentence = unknown("an option of any command", key.get_ref(), known);
                self.problem(key.span(), sentence, None);
            }
            for (name, command, arg) in with_option {
                self.read_value(name, command, arg, key.get_ref(), value.span(), value.get_ref());
            }
        }
        for (key, value) in document {
            let Some(table) = value.get_ref().as_table() else { continue };
            let name = key.get_ref();
            match commands(weir).find(|(known, _)| known == name) {
                Some((name, command)) => self.read_table(name, command, table),
                None => {
                    let known = commands(weir).map(|(name, _)| name);
                    self.problem(key.span(), unknown("a command", name, known), None);
                }
            }
        }
    }

    fn read_table(&mut self, name: &str, command: &Command, table: &DeTable<'_>) {
        for (key, value) in table {
            match option(command, key.get_ref()) {
                Some(arg) => {
                    let span = value.span();
                    self.read_value(name, command, arg, key.get_ref(), span, value.get_ref());
                }
                None => {
                    let what = match name {
                        SERVE => "an option of `weir`".to_owned(),
                        name => format!("an option of `weir {name}`"),
                    };
                    let sentence = unknown(&what, key.get_ref(), option_names(command));
                    self.problem(key.span(), sentence, Some(name));
                }
            }
        }
    }

    fn read_value(
        &mut self,
        name: &str,
        command: &Command,
        arg: &Arg,
        key: &str,
        span: Range<usize>,
        value: &DeValue<'_>,
    ) {
        let values =
            values(arg, value).and_then(|values| check(command, arg, &values).map(|()| values));
        match values {
            Ok(values) => {
                let place = self.place(&span, false);
                let (command, option) = (name.to_owned(), key.to_owned());
                let is_list = value.is_array();
                let id = arg.get_id().clone();
                self.settings.set(Setting { command, option, id, values, is_list, place });
            }
            Err(sentence) => self.problem(span, format!("`{key}` {sentence}"), Some(name)),
        }
    }

    fn problem(&mut self, span: Range<usize>, sentence: String, command: Option<&str>) {
        let place = self.place(&span, true);
        let command = command.map(str::to_owned);
        let is_known = |it: &Problem| it.place == place && it.sentence == sentence;
        // A setting for all commands is wrong in each of them.
        if let Some(known) = self.settings.problems.iter_mut().find(|it| is_known(it)) {
            known.command = None;
            return;
        }
        self.settings.problems.push(Problem { place, sentence, command });
    }

    /// The place of some bytes of the file.
    fn place(&self, span: &Range<usize>, with_column: bool) -> String {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        let path = self.file.path.display();
        if with_column { format!("{path}:{line}:{column}") } else { format!("{path}:{line}") }
    }
}

/// The commands that can be configured, with the names of their tables.
pub(super) fn commands(weir: &Command) -> impl Iterator<Item = (&str, &Command)> {
    let named = weir.get_subcommands().map(|command| (command.get_name(), command));
    let named = named.filter(|(name, command)| !WITHOUT.contains(name) && !command.is_hide_set());
    std::iter::once((SERVE, weir)).chain(named)
}

/// The options of a command that can be configured.
fn options(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let named = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    named.filter(|(name, arg)| !ONLY_TYPED.contains(name) && !arg.is_hide_set())
}

fn option_names(command: &Command) -> impl Iterator<Item = &str> {
    options(command).map(|(name, _)| name)
}

/// The option of that long name.
fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    options(command).find(|(long, _)| *long == name).map(|(_, arg)| arg)
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let nearest = nearest_name(name, known).map(|near| format!("; did you mean `{near}`?"));
    format!("`{name}` is not {what}{}", nearest.unwrap_or_default())
}

/// Returns the values of an option, as they would be typed.
fn values(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    if !arg.get_action().takes_values() {
        return match value {
            DeValue::Boolean(is_set) => Ok(vec![is_set.to_string()]),
            other => Err(format!("must be true or false, not {}", kind(other))),
        };
    }
    let is_list =
        matches!(arg.get_action(), ArgAction::Append) || arg.get_value_delimiter().is_some();
    match value {
        DeValue::Array(items) if is_list => {
            items.iter().map(|item| one_value(item.get_ref())).collect()
        }
        DeValue::Array(_) => Err("takes one value, not a list".to_owned()),
        value => Ok(vec![one_value(value)?]),
    }
}

fn one_value(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        other => Err(format!("must be a text or a number, not {}", kind(other))),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(number) if number.radix() != 10 => "a number that is not decimal",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a time without quotes",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Checks that an option takes the values, as if they were typed.
fn check(command: &Command, arg: &Arg, values: &[String]) -> Result<(), String> {
    if !arg.get_action().takes_values() {
        return Ok(());
    }
    let long = arg.get_long().unwrap_or_default();
    let typed = values.iter().map(|value| format!("--{long}={value}"));
    let line = std::iter::once(command.get_name().to_owned()).chain(typed);
    match command.clone().try_get_matches_from(line) {
        Err(error) if is_of_value(error.kind()) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(format!("is not valid: {}", first.trim_start_matches("error: ")))
        }
        // What else the command needs is typed later.
        _ => Ok(()),
    }
}

fn is_of_value(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::InvalidUtf8)
}

/// A value as a file has it.
fn literal(value: &str) -> String {
    // A number with a sign or zeros in front is a text in TOML.
    let is_number = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if matches!(value, "true" | "false") || is_number {
        return value.to_owned();
    }
    let mut text = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => text += &format!("\\u{:04X}", letter as u32),
            letter => text.push(letter),
        }
    }
    text + "\""
}
