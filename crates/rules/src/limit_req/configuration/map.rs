//! `map` and `geo`: variables whose value is looked up.

use regex::bytes::{Regex, RegexBuilder};
use weir_core::AddressBlock;

use super::template::Template;
use super::tokens::{Directive, Word};
use crate::error::RuleError;

/// A `map` or `geo` block.
#[derive(Debug, Clone)]
pub(in crate::limit_req) struct Map {
    /// The variable that it makes, without `$`.
    pub(in crate::limit_req) name: String,
    /// What is looked up.
    pub(in crate::limit_req) subject: Template,
    entries: Entries,
    default: Template,
}

#[derive(Debug, Clone)]
enum Entries {
    /// Of `map`: texts first, whatever their case, then regular expressions in their order.
    Texts { texts: Vec<(String, Template)>, expressions: Vec<(Regex, Template)> },
    /// Of `geo`: the longest network wins.
    Networks(Vec<(AddressBlock, u8, Template)>),
}

impl Map {
    /// Reads a `map` or `geo` block. What is not understood is added to `notes`.
    pub(super) fn parse(
        directive: &Directive,
        notes: &mut Vec<RuleError>,
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
        let mut default = Template { parts: Vec::new() };
        let (mut texts, mut expressions, mut networks) = (Vec::new(), Vec::new(), Vec::new());
        for entry in directive.block.iter().flatten() {
            let [value] = &entry.arguments[..] else {
                if !matches!(&*entry.name.text, "volatile" | "hostnames" | "ranges") {
                    notes.push(entry.name.error("an entry is a text and a value"));
                } else if entry.name.text != "volatile" {
                    notes.push(entry.name.error("this parameter is not understood"));
                }
                continue;
            };
            let value = Template::parse(value)?;
            match &*entry.name.text {
                "default" => default = value,
                "include" | "proxy" | "delete" => {
                    notes.push(entry.name.error("this parameter is not understood"));
                }
                _ if is_geo => networks.push(network(&entry.name, value)?),
                text => match expression(text) {
                    Some(Ok(expression)) => expressions.push((expression, value)),
                    Some(Err(error)) => {
                        notes.push(entry.name.error(format_args!("it is not understood: {error}")));
                    }
                    None => {
                        let text = text.strip_prefix('\\').unwrap_or(text);
                        texts.push((text.to_ascii_lowercase(), value));
                    }
                },
            }
        }
        networks.sort_by_key(|(_, bits, _)| std::cmp::Reverse(*bits));
        let entries = match is_geo {
            true => Entries::Networks(networks),
            false => Entries::Texts { texts, expressions },
        };
        Ok(Self { name: variable.to_owned(), subject, entries, default })
    }

    /// All values that it may have.
    pub(in crate::limit_req) fn values(&self) -> Vec<&Template> {
        let mut values = vec![&self.default];
        match &self.entries {
            Entries::Texts { texts, expressions } => {
                values.extend(texts.iter().map(|(_, value)| value));
                values.extend(expressions.iter().map(|(_, value)| value));
            }
            Entries::Networks(networks) => {
                values.extend(networks.iter().map(|(_, _, value)| value));
            }
        }
        values
    }

    /// The value for a subject.
    pub(in crate::limit_req) fn value(&self, subject: &[u8]) -> &Template {
        let found = match &self.entries {
            Entries::Texts { texts, expressions } => {
                let text =
                    texts.iter().find(|(text, _)| text.as_bytes().eq_ignore_ascii_case(subject));
                text.map(|(_, value)| value).or_else(|| {
                    let matching = |(expression, _): &&(Regex, _)| expression.is_match(subject);
                    expressions.iter().find(matching).map(|(_, value)| value)
                })
            }
            Entries::Networks(networks) => {
                let matching = networks.iter().find(|(network, ..)| network.contains(subject));
                matching.map(|(_, _, value)| value)
            }
        };
        found.unwrap_or(&self.default)
    }
}

/// A network, and the number of its bits.
fn network(word: &Word, value: Template) -> Result<(AddressBlock, u8, Template), RuleError> {
    let network = AddressBlock::parse(&word.text);
    let network = network.ok_or_else(|| word.error("it is not an address or a network"))?;
    let bits = word.text.split_once('/').and_then(|(_, bits)| bits.parse().ok());
    Ok((network, bits.unwrap_or(if word.text.contains(':') { 128 } else { 32 }), value))
}

/// The regular expression after `~` or `~*`.
fn expression(text: &str) -> Option<Result<Regex, regex::Error>> {
    let pattern = text.strip_prefix('~')?;
    Some(match pattern.strip_prefix('*') {
        Some(pattern) => RegexBuilder::new(pattern).case_insensitive(true).build(),
        None => Regex::new(pattern),
    })
}
