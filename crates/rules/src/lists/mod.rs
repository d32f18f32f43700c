//! Lists of networks and conditions that are allowed or denied.
//!
//! `allow` and `deny` lines are those of nginx (ngx_http_access_module.c): the first that matches
//! decides, and a request that none matches passes. A line may also be a network or an address
//! alone, which is denied. [`language`] reads the lines.

mod gate;
mod language;

use std::sync::Arc;

use weir_core::{Field, PatternBudget, Record, RecordFields, RecordPredicate};

use self::gate::ListGate;
pub(crate) use self::language::looks_like;
use self::language::{Entry, Matcher};
use crate::condition::RuleCondition;
use crate::deny_replay::{DenyReplay, Entries, NO_ENTRY};
use crate::error::RuleError;
use crate::event::{EventHead, Events};
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::networks::Networks;
use crate::report::Exactness;
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};

/// A list.
#[derive(Debug)]
pub(crate) struct ListRule {
    name: String,
    table: Arc<Table>,
    /// The conditions with their entry numbers, in order.
    conditions: Vec<(u32, RuleCondition)>,
    notes: Vec<RuleError>,
}

/// The entries of a list, except for the conditions.
#[derive(Debug, Default)]
struct Table {
    /// Whether an entry denies, by its number.
    denies: Vec<bool>,
    networks: Networks,
    /// The number of the first entry that matches everything.
    all: Option<u32>,
}

impl Table {
    fn denies(&self, entry: u32) -> bool {
        self.denies.get(entry as usize).copied().unwrap_or(false)
    }
}

impl ListRule {
    /// Reads a list.
    ///
    /// # Errors
    /// If an `allow` or `deny` line is not valid, or no line is.
    pub(crate) fn parse(text: &str, name: &str, budget: &PatternBudget) -> Result<Self, RuleError> {
        let (entries, notes) = language::parse(text, budget)?;
        let (mut table, mut conditions) = (Table::default(), Vec::new());
        for Entry { denies, matcher } in entries {
            let number = table.denies.len() as u32;
            table.denies.push(denies);
            match matcher {
                Matcher::All => table.all = table.all.or(Some(number)),
                Matcher::Network(network) => table.networks.add(network, number),
                Matcher::Condition(condition) => conditions.push((number, *condition)),
            }
        }
        Ok(Self { name: name.to_owned(), table: Arc::new(table), conditions, notes })
    }
}

impl Entries for ListRule {
    fn denies(&self, entry: u32) -> bool {
        self.table.denies(entry)
    }

    fn texts(&self) -> Vec<Option<String>> {
        let Table { denies, networks, all } = &*self.table;
        let mut texts = vec![None; denies.len()];
        let condition =
            |(number, condition): &(u32, RuleCondition)| (*number, condition.text().to_owned());
        let conditions = self.conditions.iter().map(condition);
        let all = all.map(|number| (number, "all".to_owned()));
        for (number, text) in networks.texts().chain(conditions).chain(all) {
            texts[number as usize] = Some(text);
        }
        texts
    }

    fn notes(&self, _: &[u64]) -> Vec<String> {
        Vec::new()
    }

    fn exactness(&self, _: &[u64]) -> Exactness {
        Exactness::Exact
    }
}

impl Rule for ListRule {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::Lists
    }

    fn description(&self) -> String {
        let denies = &self.table.denies;
        let denied = denies.iter().filter(|denies| **denies).count();
        let allowed = denies.len() - denied;
        match allowed {
            0 => format!("{denied} denied"),
            allowed => format!("{denied} denied, {allowed} allowed, the first that matches"),
        }
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn named_fields(&self) -> Vec<String> {
        let conditions = self.conditions.iter().map(|(_, condition)| condition);
        conditions.flat_map(RuleCondition::fields).map(str::to_owned).collect()
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        Ok(Box::new(ListObserver(EntryFinder::new(self, fields)?)))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(DenyReplay::new(self))
    }

    fn gate(
        &self,
        fields: &RecordFields,
        _options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        self.conditions.iter().try_for_each(|(_, condition)| condition.check_arrival(fields))?;
        let finder = EntryFinder::new(self, fields)?.to_static();
        Ok(Box::new(ListGate::new(&self.name, finder)))
    }
}

/// Finds the first entry that matches a record.
struct EntryFinder<'r> {
    table: Arc<Table>,
    conditions: Vec<(u32, RecordPredicate<'r>)>,
}

impl<'r> EntryFinder<'r> {
    /// Resolves a list against the fields of records.
    ///
    /// # Errors
    /// If the records lack a field of a condition, or the client.
    fn new(list: &'r ListRule, fields: &RecordFields) -> Result<Self, MissingField> {
        if !fields.fills(Field::Client) && !list.table.networks.is_empty() {
            let message = "the list has addresses, and the log has no `client`: add $remote_addr \
                           to log_format";
            return Err(MissingField::new("client", message));
        }
        let bind =
            |(number, condition): &'r (u32, RuleCondition)| Ok((*number, condition.bind(fields)?));
        let conditions = list.conditions.iter().map(bind).collect::<Result<_, MissingField>>()?;
        Ok(Self { table: Arc::clone(&list.table), conditions })
    }

    /// Makes a copy that does not borrow from the list.
    fn to_static(&self) -> EntryFinder<'static> {
        let conditions = self.conditions.iter();
        let conditions = conditions.map(|(number, predicate)| (*number, predicate.to_static()));
        EntryFinder { table: Arc::clone(&self.table), conditions: conditions.collect() }
    }

    fn denies(&self, entry: u32) -> bool {
        self.table.denies(entry)
    }

    /// The number of the first entry that matches a record, and its client.
    fn entry<'a>(&self, record: &Record<'a>) -> (Option<u32>, &'a [u8]) {
        let client = record.text(Field::Client).unwrap_or_default();
        let network = self.table.networks.first(client);
        let first = [network, self.table.all].into_iter().flatten().min();
        let before = |number: u32| first.is_none_or(|first| number < first);
        let mut conditions = self.conditions.iter().take_while(|(number, _)| before(*number));
        let condition = conditions.find(|(_, predicate)| predicate.accepts(record));
        (condition.map(|(number, _)| *number).or(first), client)
    }
}

/// Emits an event for each request, with the client as its text.
struct ListObserver<'r>(EntryFinder<'r>);

impl Observer for ListObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let (entry, client) = self.0.entry(record);
        let time_ns = record.time.map(|time| time.unix_ns);
        let tag = entry.unwrap_or(NO_ENTRY);
        events.put(EventHead { line: line.number, time_ns, duration_ns: 0, tag }, [client]);
    }
}
