//! The variables of a transaction, and the texts in rules that name them.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use weir_core::{PatternBudget, Record};

use super::binding::Binding;
use super::exclusion::{Control, EngineMode, Exclusion};
use super::request::Request;
use super::variable::{Source, needed_field, variable};

/// The most bytes of a variable's value. Rules may put a variable into itself again and again.
pub(super) const VALUE_BYTES_MAX: usize = 64 << 10;

/// The most bytes of the variables of a transaction together. Those of the OWASP Core Rule Set take
/// a few kilobytes.
pub(super) const VARIABLES_BYTES_MAX: usize = 4 << 20;

/// The memory of a variable beside its name and its value, about, in bytes.
const VARIABLE_BYTES: usize = 64;

/// The most work for a request: the bytes of the values that are read, transformed and tested, and
/// [`STEP_WORK`] for each. The OWASP Core Rule Set at its highest level needs less for a request of
/// 79 KB with 800 parameters, and at its lowest level for one of 500 KB.
pub(super) const WORK_MAX: u64 = 512 << 20;

/// The work for a value beside its bytes.
const STEP_WORK: usize = 64;

/// A part of a request, or the value of a variable.
pub(super) type Value = Rc<[u8]>;

/// The state while the rules are evaluated for a request.
pub(super) struct Transaction<'a> {
    pub(super) request: Request<'a>,
    pub(super) binding: &'a Binding,
    budget: &'a PatternBudget,
    /// The values of `TX`, by their names in lower case.
    variables: HashMap<String, Value>,
    /// The memory of the variables, in bytes.
    variables_bytes: usize,
    /// The values that the links of a rule matched so far.
    matched: Vec<Value>,
    /// The last value that any rule matched.
    last_matched: Option<Value>,
    /// The numbers of the rules that earlier ones have removed.
    removed: HashSet<u32>,
    /// By the number of a rule, the variables that earlier ones have excluded from it.
    targets: HashMap<u32, Vec<&'a Source>>,
    pub(super) mode: EngineMode,
    /// The number of searches that took too many steps.
    pub(super) abandoned: u64,
    pub(super) work_left: u64,
    /// Whether the evaluation was ended because it took too much work or memory.
    pub(super) is_cut: bool,
}

/// A change of a variable of the transaction.
#[derive(Debug, Clone)]
pub(super) struct SetVariable {
    /// In lower case.
    pub(super) name: String,
    /// `=`, `+` if the value is added, or `!` if the variable is removed.
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

    pub(super) fn text(&self, transaction: &mut Transaction<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &self.0 {
            if text.len() > VALUE_BYTES_MAX {
                break;
            }
            match piece {
                Piece::Text(piece) => text.extend_from_slice(piece),
                Piece::Variable(Some(source)) => {
                    let first = transaction.values(source, &[]).into_iter().next();
                    text.extend_from_slice(first.as_deref().unwrap_or_default());
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
        // The sign is a part of the number, so that nothing is added for `--5`.
        let operator = if value.starts_with(['+', '-']) { '+' } else { '=' };
        Some(Self { name, operator, value: Template::new(value, budget) })
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn new(
        record: &'a Record<'a>,
        binding: &'a Binding,
        budget: &'a PatternBudget,
    ) -> Self {
        Self {
            request: Request::new(record, binding),
            binding,
            budget,
            variables: HashMap::new(),
            variables_bytes: 0,
            matched: Vec::new(),
            last_matched: None,
            removed: HashSet::new(),
            targets: HashMap::new(),
            mode: EngineMode::On,
            abandoned: 0,
            work_left: WORK_MAX,
            is_cut: false,
        }
    }

    /// Counts the work for a value. Returns whether it may be done.
    pub(super) fn works(&mut self, bytes: usize) -> bool {
        match self.work_left.checked_sub(bytes.saturating_add(STEP_WORK) as u64) {
            Some(left) => self.work_left = left,
            None => self.is_cut = true,
        }
        !self.is_ended()
    }

    /// Whether nothing more is evaluated: the request took too much, or the replay is stopped.
    pub(super) fn is_ended(&self) -> bool {
        self.is_cut || self.budget.is_stopped()
    }

    /// The value of a variable by its name in lower case.
    pub(super) fn variable(&self, name: &str) -> Option<Value> {
        self.variables.get(name).cloned()
    }

    /// The values of a source, less those that are excluded.
    pub(super) fn values(&mut self, source: &Source, excluded: &[&Source]) -> Vec<Value> {
        let members = match source {
            Source::Transaction(names) if names.single().is_none() => self.variables.len(),
            Source::AllMatched => self.matched.len(),
            source => self.request.members(source).saturating_mul(excluded.len() + 1),
        };
        if !self.works(members.saturating_mul(STEP_WORK)) {
            return Vec::new();
        }
        match source {
            Source::Transaction(names) => match names.single() {
                Some(name) => self.variable(name).into_iter().collect(),
                None => {
                    let is_named = |(name, _): &(&String, _)| names.has(name.as_bytes());
                    let mut found: Vec<_> = self.variables.iter().filter(is_named).collect();
                    found.sort_unstable();
                    found.into_iter().map(|(_, value)| value.clone()).collect()
                }
            },
            Source::Matched => self.last_matched.clone().into_iter().collect(),
            Source::AllMatched => self.matched.clone(),
            source => self.request.values(source, excluded),
        }
    }

    pub(super) fn change(&mut self, set: &SetVariable) {
        if set.operator == '!' {
            self.unset(&set.name);
            return;
        }
        let text = set.value.text(self);
        if !self.works(text.len()) {
            return;
        }
        let value = match set.operator {
            '+' => {
                let known = self.variable(&set.name).map_or(0, |value| number(&value));
                // As in ModSecurity, a counter does not fall below zero.
                let sum = known.saturating_add(number(&text)).max(0);
                sum.to_string().into_bytes()
            }
            _ => text,
        };
        self.set(&set.name, value.into());
    }

    /// Sets a variable, unless all take too much memory then.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.unset(name);
        let bytes = self.variables_bytes + name.len() + value.len() + VARIABLE_BYTES;
        if bytes > VARIABLES_BYTES_MAX {
            self.is_cut = true;
            return;
        }
        self.variables_bytes = bytes;
        self.variables.insert(name.to_owned(), value);
    }

    fn unset(&mut self, name: &str) {
        if let Some(value) = self.variables.remove(name) {
            self.variables_bytes -= name.len() + value.len() + VARIABLE_BYTES;
        }
    }

    /// Begins a rule, of which no link has matched.
    pub(super) fn begin_rule(&mut self) {
        self.matched.clear();
    }

    /// Notes a value that a link matches.
    pub(super) fn note_match(&mut self, value: Value) {
        self.matched.push(value.clone());
        self.last_matched = Some(value);
    }

    pub(super) fn control(&mut self, control: &'a Control) {
        match control {
            Control::Exclude(exclusion) => self.exclude(exclusion),
            Control::SetMode(mode) => self.mode = *mode,
        }
    }

    /// Removes rules, or variables of them, for the rest of the transaction.
    fn exclude(&mut self, exclusion: &'a Exclusion) {
        let targets = exclusion.targets.as_ref().map_or(1, Vec::len);
        if !self.works(exclusion.numbers.len().saturating_mul(targets * size_of::<usize>())) {
            return;
        }
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
            self.unset(&digit.to_string());
        }
        for (digit, text) in groups.into_iter().take(10).enumerate() {
            self.set(&digit.to_string(), text.into());
        }
    }
}

/// The number that a text begins with, or 0, as `atoi` of C reads it.
pub(super) fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits.fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    if is_negative { -value } else { value }
}
