//! Lists of networks and conditions that are allowed or denied.
//!
//! `allow` and `deny` lines are those of nginx (ngx_http_access_module.c): the first that matches
//! decides, and a request that none matches passes. A line may also be a network or an address
//! alone, which is denied. [`language`] reads the lines.

mod language;

use weir_core::{Field, RecordFields, RecordPredicate};

pub(crate) use self::language::looks_like;
use self::language::{Entry, Matcher};
use crate::condition::RuleCondition;
use crate::deny_replay::{DenyReplay, Entries, NO_ENTRY};
use crate::error::RuleError;
use crate::event::Events;
use crate::networks::Networks;
use crate::report::Exactness;
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};

/// A list.
#[derive(Debug)]
pub(crate) struct ListRule {
    name: String,
    /// Whether an entry denies, by its number.
    denies: Vec<bool>,
    networks: Networks,
    /// With the numbers of their entries, in their order.
    conditions: Vec<(u32, RuleCondition)>,
    /// The number of the first entry that matches everything.
    all: Option<u32>,
    notes: Vec<RuleError>,
}

impl ListRule {
    /// Reads a list.
    ///
    /// # Errors
    /// If an `allow` or `deny` line is not valid, or no line is.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, RuleError> {
        let (entries, notes) = language::parse(text)?;
        let mut list = Self {
            name: name.to_owned(),
            denies: Vec::with_capacity(entries.len()),
            networks: Networks::default(),
            conditions: Vec::new(),
            all: None,
            notes,
        };
        for Entry { denies, matcher } in entries {
            let number = list.denies.len() as u32;
            list.denies.push(denies);
            match matcher {
                Matcher::All => list.all = list.all.or(Some(number)),
                Matcher::Network(network) => list.networks.add(network, number),
                Matcher::Condition(condition) => list.conditions.push((number, condition)),
            }
        }
        Ok(list)
    }
}

impl Entries for ListRule {
    fn denies(&self, entry: u32) -> bool {
        self.denies.get(entry as usize).copied().unwrap_or(false)
    }

    fn texts(&self) -> Vec<Option<String>> {
        let mut texts = vec![None; self.denies.len()];
        let condition =
            |(number, condition): &(u32, RuleCondition)| (*number, condition.text().to_owned());
        let conditions = self.conditions.iter().map(condition);
        let all = self.all.map(|number| (number, "all".to_owned()));
        for (number, text) in self.networks.texts().chain(conditions).chain(all) {
            texts[number as usize] = Some(text);
        }
        texts
    }

    fn notes(&self, _: &[u64]) -> Vec<String> {
        Vec::new()
    }

    fn exactness(&self) -> Exactness {
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
        let denied = self.denies.iter().filter(|denies| **denies).count();
        let allowed = self.denies.len() - denied;
        match allowed {
            0 => format!("{denied} denied"),
            allowed => format!("{denied} denied, {allowed} allowed, the first that matches"),
        }
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        if !fields.fills(Field::Client) && !self.networks.is_empty() {
            let message = "the list has addresses, and the log has no `client`: add $remote_addr \
                           to log_format";
            return Err(MissingField::new("client", message));
        }
        let bind =
            |(number, condition): &'r (u32, RuleCondition)| Ok((*number, condition.bind(fields)?));
        let conditions = self.conditions.iter().map(bind).collect::<Result<_, MissingField>>()?;
        Ok(Box::new(ListObserver { list: self, conditions }))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(DenyReplay::new(self))
    }
}

/// Puts an event for each request, with the client as its text.
struct ListObserver<'r> {
    list: &'r ListRule,
    conditions: Vec<(u32, RecordPredicate<'r>)>,
}

impl Observer for ListObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let client = record.text(Field::Client).unwrap_or_default();
        let network = self.list.networks.first(client);
        let first = [network, self.list.all].into_iter().flatten().min();
        let before = |number: u32| first.is_none_or(|first| number < first);
        let mut conditions = self.conditions.iter().take_while(|(number, _)| before(*number));
        let condition = conditions.find(|(_, predicate)| predicate.accepts(record));
        let entry = condition.map(|(number, _)| *number).or(first).unwrap_or(NO_ENTRY);
        let time_ns = record.time.map(|time| time.unix_ns);
        events.put((line.number, entry), (time_ns, 0), [client]);
    }
}
