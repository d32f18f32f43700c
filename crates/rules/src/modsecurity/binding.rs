//! What the rules can test in records with some fields.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::{FieldAccessor, RecordFields};

use super::engine::Rules;
use super::sec_rule::SecRule;
use super::title;
use super::variable::{CLIENT, Source, needed_field};

/// The fields that some records have of those that the rules test.
#[derive(Debug, Default)]
pub(super) struct Binding {
    accessors: HashMap<String, FieldAccessor>,
    /// By the number of a rule that cannot be evaluated, the first field that it lacks.
    lacking: BTreeMap<u32, Arc<str>>,
    /// The numbers of the rules that may match a part of a request that the records do not have.
    pub(super) partial: BTreeSet<u32>,
    /// The names of these parts.
    pub(super) missing: BTreeSet<String>,
    /// Whether texts have no escapes of the log.
    pub(super) has_plain_texts: bool,
    /// Why no rule about a request can be evaluated.
    pub(super) error: Option<String>,
}

impl Binding {
    /// Decides for each rule whether records with some fields have enough of what it tests: at least
    /// one variable of each link, and all variables of the arguments of operators.
    fn new(rules: &Rules, fields: &RecordFields) -> Self {
        let mut binding = Self { has_plain_texts: fields.has_plain_texts(), ..Self::default() };
        let links = rules.all().flatten();
        for name in links.flat_map(needed_fields).chain([CLIENT]) {
            if !binding.accessors.contains_key(name)
                && let Ok(accessor) = fields.accessor(name)
            {
                binding.accessors.insert(name.to_owned(), accessor);
            }
        }
        let (mut first_error, mut is_useful) = (None, false);
        for (number, links) in (0..).zip(rules.all()) {
            if links.iter().any(|link| link.obstacle.is_some()) {
                continue;
            }
            match links.iter().find_map(|link| binding.lacks(link)) {
                Some(name) => {
                    let error = || fields.accessor(name).err();
                    first_error =
                        first_error.or_else(|| Some(format!("{}: {}", title(&links[0]), error()?)));
                    let known = binding.lacking.values().find(|known| ***known == *name);
                    let name = known.cloned().unwrap_or_else(|| name.into());
                    binding.lacking.insert(number, name);
                }
                None => {
                    is_useful |= links.iter().flat_map(needed_fields).next().is_some();
                    binding.note_missing(number, links);
                }
            }
        }
        binding.error = first_error.filter(|_| !is_useful);
        binding
    }

    /// The field without which a link cannot be tested.
    fn lacks<'r>(&self, link: &'r SecRule) -> Option<&'r str> {
        let is_absent = |name: &&str| !self.accessors.contains_key(*name);
        let mut tested = tested_sources(link).peekable();
        let has_any = tested.peek().is_none() || tested.any(|source| self.has_source(source));
        let first = || tested_sources(link).filter_map(needed_field).find(is_absent);
        (!has_any).then(first).flatten().or_else(|| argument_fields(link).find(is_absent))
    }

    /// Notes the variables of a rule that the records do not have.
    fn note_missing(&mut self, number: u32, links: &[SecRule]) {
        for link in links {
            let absent = tested_sources(link).filter(|source| !self.has_source(source));
            let absent = absent.filter_map(needed_field).map(str::to_owned);
            let missing: Vec<String> = link.missing.iter().cloned().chain(absent).collect();
            if !missing.is_empty() {
                self.partial.insert(number);
                self.missing.extend(missing);
            }
        }
    }

    /// Whether the records have a variable.
    pub(super) fn has_source(&self, source: &Source) -> bool {
        needed_field(source).is_none_or(|name| self.accessors.contains_key(name))
    }

    pub(super) fn accessor(&self, name: &str) -> Option<FieldAccessor> {
        self.accessors.get(name).copied()
    }

    /// Whether a rule cannot be evaluated.
    pub(super) fn leaves_out(&self, number: u32) -> bool {
        self.lacking.contains_key(&number)
    }
}

/// The variables that a link tests.
fn tested_sources(link: &SecRule) -> impl Iterator<Item = &Source> {
    let tested = link.variables.iter().filter(|variable| !variable.is_excluded);
    tested.map(|variable| &variable.source)
}

/// The fields of the variables in the argument of a link's operator.
fn argument_fields(link: &SecRule) -> impl Iterator<Item = &str> {
    link.dynamic_operator.iter().flat_map(|(_, argument)| argument.needed_fields())
}

fn needed_fields(link: &SecRule) -> impl Iterator<Item = &str> {
    tested_sources(link).filter_map(needed_field).chain(argument_fields(link))
}

/// The bindings of a replay, by the fields of the records.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    known: Mutex<Vec<(RecordFields, Arc<Binding>)>>,
    is_answered: AtomicBool,
}

impl Bindings {
    /// The binding to records with some fields. The first one after an answer begins a new replay,
    /// over a log that may have got other records.
    pub(super) fn get(&self, rules: &Rules, fields: &RecordFields) -> Arc<Binding> {
        let mut bindings = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_answered.swap(false, Ordering::Relaxed) {
            bindings.clear();
            rules.reset_counts();
        }
        if let Some((_, binding)) = bindings.iter().find(|(known, _)| known == fields) {
            return binding.clone();
        }
        let binding = Arc::new(Binding::new(rules, fields));
        bindings.push((fields.clone(), binding.clone()));
        binding
    }

    /// Ends a replay. What was found stays until the next one.
    pub(super) fn end_replay(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn all(&self) -> Vec<Arc<Binding>> {
        let bindings = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        bindings.iter().map(|(_, binding)| binding.clone()).collect()
    }
}

/// Why a rule was not evaluated for some or all records; `None` if it was.
pub(super) fn lack(bindings: &[Arc<Binding>], number: u32) -> Option<String> {
    let mut fields = bindings.iter().filter_map(|binding| binding.lacking.get(&number));
    let field = fields.next()?;
    let log = if fields.count() + 1 == bindings.len() { "the log" } else { "a part of the log" };
    Some(format!("{log} has no field `{field}`"))
}
