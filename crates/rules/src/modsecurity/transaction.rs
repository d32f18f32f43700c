//! The variables of a transaction, and the texts in rules that name them.

use std::collections::{HashMap, HashSet};

use weir_core::{PatternBudget, Record, RecordFields};

use super::exclusion::{EngineMode, Exclusion};
use super::variable::{Request, Source, needed_field, variable};

/// The most bytes of a variable's value. Rules may put a variable into itself again and again.
pub(super) const VALUE_BYTES_MAX: usize = 64 << 10;

/// The state while the rules are evaluated for a request.
pub(super) struct Transaction<'a> {
    pub(super) request: Request,
    pub(super) record: &'a Record<'a>,
    pub(super) fields: &'a RecordFields,
    /// The values of `TX`, by their names in lower case.
    pub(super) variables: HashMap<String, Vec<u8>>,
    /// The values that the last link of a rule matched.
    pub(super) matched: Vec<Vec<u8>>,
    /// The numbers of the rules that earlier ones have removed.
    removed: HashSet<u32>,
    /// By the number of a rule, the variables that earlier ones have excluded from it.
    targets: HashMap<u32, Vec<&'a Source>>,
    pub(super) mode: EngineMode,
    /// The number of searches that took too many steps.
    pub(super) abandoned: u64,
}

/// A change of a variable of the transaction.
#[derive(Debug, Clone)]
pub(super) struct SetVariable {
    /// In lower case.
    pub(super) name: String,
    /// `=`, `+`, `-`, or `!` if it is removed.
    pub(super) operator: char,
    pub(super) value: Template,
}

/// A text with variables in it, such as `%{tx.score}`.
#[derive(Debug, Clone, Default)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Text(Vec<u8>),
    /// A variable; `None` if an access log does not have it, so that it is empty.
    Variable(Option<Source>),
}

impl Template {
    pub(super) fn new(text: &str, budget: &PatternBudget) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, inner)) = rest.split_once("%{") {
            let Some((name, after)) = inner.split_once('}') else { break };
            let name = name.replacen('.', ":", 1);
            pieces.push(Piece::Text(before.into()));
            pieces.push(Piece::Variable(variable(&name, budget).ok().map(|it| it.source)));
            rest = after;
        }
        pieces.push(Piece::Text(rest.into()));
        Self(pieces)
    }

    /// Whether the text has variables.
    pub(super) fn is_dynamic(&self) -> bool {
        self.0.len() > 1
    }

    /// Whether the text has variables that an access log does not have.
    pub(super) fn is_unknown(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Variable(None)))
    }

    /// The fields of a log that the variables need.
    pub(super) fn needed_fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Variable(Some(source)) => needed_field(source),
            Piece::Variable(None) | Piece::Text(_) => None,
        })
    }

    pub(super) fn text(&self, transaction: &Transaction<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &self.0 {
            if text.len() > VALUE_BYTES_MAX {
                break;
            }
            match piece {
                Piece::Text(piece) => text.extend_from_slice(piece),
                Piece::Variable(Some(source)) => {
                    let first = transaction.values(source, &[]).into_iter().next();
                    text.extend(first.unwrap_or_default());
                }
                Piece::Variable(None) => {}
            }
        }
        text.truncate(VALUE_BYTES_MAX);
        text
    }
}

impl SetVariable {
    /// Reads a change of a variable of the transaction. Variables of other collections last longer
    /// than a request, and are left out.
    pub(super) fn new(text: &str, budget: &PatternBudget) -> Option<Self> {
        let (name, value) = text.split_once('=').unwrap_or((text, "1"));
        let name = name.trim().to_ascii_lowercase();
        if let Some(name) = name.strip_prefix("!tx.") {
            return Some(Self { name: name.to_owned(), operator: '!', value: Template::default() });
        }
        let name = name.strip_prefix("tx.")?.to_owned();
        let (operator, value) = match value.chars().next() {
            Some(sign @ ('+' | '-')) => (sign, &value[1..]),
            _ => ('=', value),
        };
        Some(Self { name, operator, value: Template::new(value, budget) })
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn new(record: &'a Record<'a>, fields: &'a RecordFields) -> Self {
        Self {
            request: Request::new(record),
            record,
            fields,
            variables: HashMap::new(),
            matched: Vec::new(),
            removed: HashSet::new(),
            targets: HashMap::new(),
            mode: EngineMode::On,
            abandoned: 0,
        }
    }

    /// The values of a source, less those that are excluded.
    pub(super) fn values(&self, source: &Source, excluded: &[&Source]) -> Vec<Vec<u8>> {
        match source {
            Source::Transaction(names) => {
                let mut found: Vec<_> = match names.single() {
                    Some(name) => self.variables.get_key_value(name).into_iter().collect(),
                    None => {
                        let is_named = |(name, _): &(&String, _)| names.has(name.as_bytes());
                        self.variables.iter().filter(is_named).collect()
                    }
                };
                found.sort_unstable();
                found.into_iter().map(|(_, value)| value.clone()).collect()
            }
            Source::Matched => self.matched.last().cloned().into_iter().collect(),
            Source::AllMatched => self.matched.clone(),
            source => self.request.values(source, self.record, self.fields, excluded),
        }
    }

    pub(super) fn change(&mut self, set: &SetVariable) {
        if set.operator == '!' {
            self.variables.remove(&set.name);
            return;
        }
        let value = set.value.text(self);
        let known = self.variables.entry(set.name.clone()).or_default();
        let sum = match set.operator {
            '+' => number(known).saturating_add(number(&value)),
            '-' => number(known).saturating_sub(number(&value)),
            _ => {
                *known = value;
                return;
            }
        };
        *known = sum.to_string().into_bytes();
    }

    /// Removes rules, or variables of them, for the rest of the transaction.
    pub(super) fn exclude(&mut self, exclusion: &'a Exclusion) {
        let numbers = exclusion.numbers.iter().copied();
        match &exclusion.targets {
            None => self.removed.extend(numbers),
            Some(targets) => {
                numbers.for_each(|number| self.targets.entry(number).or_default().extend(targets));
            }
        }
    }

    /// The variables that are excluded from a rule; `None` if the rule is removed.
    pub(super) fn excluded(&self, number: u32) -> Option<Vec<&'a Source>> {
        let is_removed = self.removed.contains(&number);
        (!is_removed).then(|| self.targets.get(&number).cloned().unwrap_or_default())
    }

    /// Sets the variables `TX:0` to `TX:9` to the texts of groups.
    pub(super) fn capture(&mut self, groups: Vec<Vec<u8>>) {
        for digit in 0..10 {
            self.variables.remove(&digit.to_string());
        }
        for (digit, text) in groups.into_iter().take(10).enumerate() {
            self.variables.insert(digit.to_string(), text);
        }
    }
}

/// The number that a text begins with, or 0.
pub(super) fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii();
    let is_number = |(at, byte): &(usize, &u8)| byte.is_ascii_digit() || *at == 0 && **byte == b'-';
    let length = text.iter().enumerate().take_while(is_number).count();
    std::str::from_utf8(&text[..length]).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
