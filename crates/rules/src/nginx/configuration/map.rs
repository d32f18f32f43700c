//! `map` and `geo`: variables whose value is looked up.

use std::collections::HashMap;

use weir_core::{BoundedRegex, PatternBudget, RegexOptions};

use super::template::Template;
use super::tokens::{Directive, Word};
use crate::error::RuleError;
use crate::networks::{Network, Networks};

/// A `map` or `geo` block.
#[derive(Debug)]
pub(crate) struct Map {
    /// The variable that it defines, without `$`.
    pub(crate) name: String,
    /// The text that is looked up.
    pub(crate) subject: Template,
    entries: Entries,
    /// The possible values, the default first.
    values: Vec<Template>,
}

/// The entries, with the numbers of their values.
#[derive(Debug)]
enum Entries {
    /// Of `map`: texts first, in lower case, then regular expressions in their order.
    Texts { texts: HashMap<Vec<u8>, usize>, expressions: Vec<(BoundedRegex, usize)> },
    /// Of `geo`: the longest network counts, and of equal ones the last.
    Networks(Networks),
}

impl Map {
    /// Reads a `map` or `geo` block. Parts that are not understood are added to `notes`.
    pub(super) fn parse(
        directive: &Directive,
        notes: &mut Vec<RuleError>,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let is_geo = directive.name.text == "geo";
        let (subject, name) = match &directive.arguments[..] {
            [subject, name] => (Template::parse(subject)?, name),
            [name] if is_geo => (Template::variable("remote_addr"), name),
            _ => return Err(directive.name.error("write: map $source $variable { … }")),
        };
        let Some(variable) = name.text.strip_prefix('$') else {
            return Err(name.error("a variable begins with `$`"));
        };
        let entries = if is_geo {
            Entries::Networks(Networks::default())
        } else {
            Entries::Texts { texts: HashMap::new(), expressions: Vec::new() }
        };
        let values = vec![Template { parts: Vec::new() }];
        let mut map = Self { name: variable.to_owned(), subject, entries, values };
        for entry in directive.block.iter().flatten() {
            map.read_entry(entry, notes, budget)?;
        }
        Ok(map)
    }

    fn read_entry(
        &mut self,
        entry: &Directive,
        notes: &mut Vec<RuleError>,
        budget: &PatternBudget,
    ) -> Result<(), RuleError> {
        let name = &entry.name;
        let [value] = &entry.arguments[..] else {
            if !matches!(&*name.text, "volatile" | "hostnames" | "ranges") {
                notes.push(name.error("an entry is a text and a value"));
            } else if name.text != "volatile" {
                notes.push(name.error("this parameter is not understood"));
            }
            return Ok(());
        };
        let value = Template::parse(value)?;
        let number = self.values.len();
        match (&*name.text, &mut self.entries) {
            ("default", _) => {
                self.values[0] = value;
                return Ok(());
            }
            ("include" | "proxy" | "delete", _) => {
                notes.push(name.error("this parameter is not understood"));
                return Ok(());
            }
            (_, Entries::Networks(networks)) => {
                let network = network(name)?;
                let number = u32::try_from(number).map_err(|_| name.error("too many networks"))?;
                networks.replace(network, number);
            }
            (text, Entries::Texts { texts, expressions }) => match expression(text, budget) {
                Some(Ok(expression)) => expressions.push((expression, number)),
                Some(Err(error)) => {
                    notes.push(name.error(format_args!("it is not understood: {error}")));
                    return Ok(());
                }
                None => {
                    let text = text.strip_prefix('\\').unwrap_or(text).to_ascii_lowercase();
                    if texts.insert(text.into_bytes(), number).is_some() {
                        return Err(name.error("the text stands twice, which nginx refuses"));
                    }
                }
            },
        }
        self.values.push(value);
        Ok(())
    }

    /// The possible values, by number.
    pub(crate) fn values(&self) -> &[Template] {
        &self.values
    }

    /// The number of the value for a subject.
    pub(crate) fn value(&self, subject: &[u8]) -> usize {
        let found = match &self.entries {
            Entries::Texts { texts, expressions } => {
                texts.get(&subject.to_ascii_lowercase()).copied().or_else(|| {
                    let mut expressions = expressions.iter();
                    Some(expressions.find(|(expression, _)| expression.is_match(subject))?.1)
                })
            }
            Entries::Networks(networks) => networks.longest(subject).map(|number| number as usize),
        };
        found.unwrap_or(0)
    }

    /// Whether one of its regular expressions sets the group with this name or number.
    pub(crate) fn captures(&self, name: &str) -> bool {
        let Entries::Texts { expressions, .. } = &self.entries else { return false };
        expressions.iter().any(|(expression, _)| has_group(expression.as_str(), name))
    }
}

/// Whether an expression seems to have a group with this name or number.
fn has_group(expression: &str, name: &str) -> bool {
    if let Ok(number) = name.parse() {
        let groups = expression.split('(').skip(1).filter(|inside| !inside.starts_with('?'));
        return (1..=groups.count()).contains(&number);
    }
    ["(?<", "(?P<"].iter().any(|start| {
        expression.split(start).skip(1).any(|inside| inside.split('>').next() == Some(name))
    })
}

/// The network of an entry of `geo`.
fn network(word: &Word) -> Result<Network, RuleError> {
    let (address, length) = match word.text.split_once('/') {
        Some((address, length)) => (address, length.parse().ok()),
        None => (&*word.text, Some(if word.text.contains(':') { 128 } else { 32 })),
    };
    let network = address.parse().ok().zip(length);
    let network = network.and_then(|(address, length)| Network::new(address, length));
    network.ok_or_else(|| word.error("it is not an address or a network"))
}

/// The regular expression after `~` or `~*`.
fn expression(text: &str, budget: &PatternBudget) -> Option<Result<BoundedRegex, regex::Error>> {
    let pattern = text.strip_prefix('~')?;
    let (pattern, ignores_case) = match pattern.strip_prefix('*') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let options = RegexOptions { ignores_case, ..RegexOptions::default() };
    Some(BoundedRegex::new(pattern, options, budget))
}
