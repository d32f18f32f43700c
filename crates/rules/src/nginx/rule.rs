//! The limits of one kind in an nginx configuration, as a rule.

use std::sync::Arc;

use weir_core::{PatternBudget, RecordFields};

use super::configuration::{Configuration, Directives, LimitKind, LimitSet, Zone};
use super::key::Keys;
use crate::arrivals::{Arrival, Arrivals, NO_KEY, applying};
use crate::engine::Outcome;
use crate::error::RuleError;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::keys::Interner;
use crate::report::Decision;
use crate::rule::{Family, MissingField, Observer, Replay, Rule};
use crate::settings::RuleSettings;

/// The limits of one kind in an nginx configuration.
#[derive(Debug)]
pub(crate) struct NginxRule<L: LimitKind> {
    pub(crate) name: String,
    pub(crate) configuration: Arc<Configuration<L>>,
    /// The language and the notes, if the configuration was made from another language.
    origin: Option<(Family, Vec<RuleError>)>,
}

/// How the limits of a kind are replayed and enforced.
pub(crate) trait RuleKind: LimitKind {
    /// The family of the rule.
    const FAMILY: Family;

    /// See [`Rule::bind`].
    fn observer(
        rule: &NginxRule<Self>,
        fields: &RecordFields,
    ) -> Result<Box<dyn Observer>, MissingField>;

    /// See [`Rule::limit_settings`].
    fn limit_settings(_rule: &NginxRule<Self>) -> Vec<(String, RuleSettings)> {
        Vec::new()
    }

    /// See [`Rule::replay`].
    fn replay(rule: &NginxRule<Self>) -> Box<dyn Replay + '_>;

    /// See [`Rule::gate`].
    fn gate(
        rule: &NginxRule<Self>,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce>;
}

impl<L: LimitKind> NginxRule<L> {
    /// Reads the zones and limits in the directives of a configuration.
    ///
    /// # Errors
    /// If there is no limit, or one is not valid.
    pub(crate) fn read(
        directives: &Directives,
        name: &str,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let configuration = Configuration::<L>::read(directives, budget)?;
        let name = match &configuration.zones[..] {
            [zone] => &zone.name,
            _ => name,
        };
        Ok(Self { name: name.to_owned(), configuration: Arc::new(configuration), origin: None })
    }

    /// Sets the language that the configuration was made from, and the notes about its text.
    pub(super) fn set_origin(&mut self, family: Family, notes: &[RuleError]) {
        // What the order of the limits means is said in the words of the other language.
        let is_order = |note: &&RuleError| {
            L::DECIDES_BEFORE.is_some_and(|(_, of_order)| note.message == of_order)
        };
        let own = self.configuration.notes.iter().filter(|note| !is_order(note));
        // Their places are in the lines that were made.
        let own =
            own.map(|note| RuleError::new(0..0, format!("in the lines that it makes: {note}")));
        self.origin = Some((family, notes.iter().cloned().chain(own).collect()));
    }

    /// The zones, by number.
    pub(crate) fn zones(&self) -> &[Zone<L::Zone>] {
        &self.configuration.zones
    }

    /// The limit sets by number; the limits of a set apply to a request together.
    pub(crate) fn limit_sets(&self) -> &[LimitSet<L>] {
        &self.configuration.limit_sets
    }

    /// The limits of a set.
    #[inline]
    pub(crate) fn limits(&self, set: u32) -> &[L] {
        &self.configuration.limit_sets[set as usize].limits
    }

    /// Whether no request has more than one limit, so that its only limit rejects it.
    pub(crate) fn limits_are_alone(&self) -> bool {
        self.limit_sets().iter().all(|set| set.limits.len() == 1)
    }

    /// The limit, if there is only one.
    pub(crate) fn single_limit(&self) -> Option<&L> {
        let [set] = self.limit_sets() else { return None };
        let [limit] = &set.limits[..] else { return None };
        Some(limit)
    }

    /// The names of the zones, with the keys of a replay.
    pub(crate) fn zone_keys<'z>(
        &'z self,
        keys: &'z [Interner],
    ) -> impl ExactSizeIterator<Item = (&'z str, &'z Interner)> {
        self.zones().iter().map(|zone| &*zone.name).zip(keys)
    }

    /// The positions of the requests of each key, by zone and key, in this order.
    pub(crate) fn sequences(&self, arrivals: &Arrivals, order: &[u32]) -> Vec<Vec<Vec<u32>>> {
        let mut zones: Vec<Vec<Vec<u32>>> = self.zones().iter().map(|_| Vec::new()).collect();
        for position in order {
            let arrival = &arrivals.list[*position as usize];
            let limits = self.limits(arrival.set);
            for (limit, key) in applying(limits, arrivals.keys_of(arrival, limits.len())) {
                let lists = &mut zones[limit.zone()];
                lists.resize_with(lists.len().max(key as usize + 1), Vec::new);
                lists[key as usize].push(*position);
            }
        }
        zones
    }

    /// Calls `decide` with the decisions of a replay in the order of the log. `keys` are those of
    /// each zone.
    pub(crate) fn decide(
        &self,
        arrivals: &Arrivals,
        keys: &[Interner],
        outcomes: &[Outcome],
        decide: &mut dyn FnMut(&Decision<'_>),
    ) {
        let key = |arrival: &Arrival, position: usize| {
            let limits = self.limits(arrival.set);
            match arrivals.keys_of(arrival, limits.len())[position] {
                NO_KEY => &b""[..],
                key => keys[limits[position].zone()].text(key),
            }
        };
        arrivals.decide(outcomes, key, decide);
    }
}

impl<L: RuleKind> Rule for NginxRule<L> {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        self.origin.as_ref().map_or(L::FAMILY, |(family, _)| *family)
    }

    fn description(&self) -> String {
        self.configuration.description()
    }

    fn notes(&self) -> &[RuleError] {
        self.origin.as_ref().map_or(&self.configuration.notes, |(_, notes)| notes)
    }

    fn limit_settings(&self) -> Vec<(String, RuleSettings)> {
        L::limit_settings(self)
    }

    fn reads(&self) -> Option<Vec<String>> {
        Some(self.configuration.fields())
    }

    fn named_fields(&self) -> Vec<String> {
        self.configuration.fields()
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        L::observer(self, fields)
    }

    fn left_out_of(&self, fields: &RecordFields) -> Vec<String> {
        let missing = Keys::resolve_known(&self.configuration, fields).map(|(_, missing)| missing);
        let missing = missing.unwrap_or_default();
        missing.iter().map(|error| format!("the limits of a zone are left out: {error}")).collect()
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        L::replay(self)
    }

    fn gate(
        &self,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        L::gate(self, fields, options)
    }
}
