//! nginx's `limit_req`, decision for decision.
//!
//! The algorithm is that of ngx_http_limit_req_module.c (nginx 1.22): integers in thousandths of a
//! request, a zone of nodes by key, and a rejected request that changes nothing. [`bucket`] is the
//! arithmetic of one key, [`exact`] a replay with arrival times to the millisecond, [`bounded`] one
//! with times to the second, [`gate`] decides about requests as they arrive, and [`configuration`]
//! is the language.
//!
//! A request is logged when it ends, so it arrived at the time stamp minus the request time.
//! Without the request time, the stamp is used.

mod bounded;
mod bounded_by_key;
mod bucket;
mod by_key;
mod columns;
pub(crate) mod configuration;
mod exact;
mod exact_by_key;
mod gate;
mod idle_queue;
mod key;
mod level;
pub(crate) mod observer;
mod replay;
pub(crate) mod summary;
mod unlimited;

use std::sync::Arc;

use weir_core::RecordFields;

use self::configuration::{Configuration, Limit, LimitSet, Zone, directive_place};
use self::gate::LimitGate;
use self::observer::LimitObserver;
use self::replay::LimitReplay;
use crate::error::RuleError;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::rule::{Family, MissingField, Observer, Replay, Rule};

/// The request limits in an nginx configuration.
#[derive(Debug)]
pub(crate) struct LimitReq {
    name: String,
    configuration: Arc<Configuration>,
}

impl LimitReq {
    /// Reads `limit_req_zone` and `limit_req` lines, or a whole configuration.
    ///
    /// # Errors
    /// If the text is not a configuration, or has no limit.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, RuleError> {
        let configuration = Configuration::<Limit>::parse(text)?;
        let name = match &configuration.zones[..] {
            [zone] => zone.name.clone(),
            _ => name.to_owned(),
        };
        Ok(Self { name, configuration: Arc::new(configuration) })
    }

    /// Whether a text has such a limit.
    ///
    /// # Errors
    /// If the text is not a configuration.
    pub(crate) fn is_in(text: &str) -> Result<bool, RuleError> {
        Ok(directive_place(text, "limit_req")?.is_some())
    }

    /// The zones, by number.
    fn zones(&self) -> &[Zone] {
        &self.configuration.zones
    }

    /// The zones, each with the largest burst of its limits.
    fn zones_with_bursts(&self) -> impl Iterator<Item = (&Zone, i64)> {
        self.zones().iter().enumerate().map(|(number, zone)| {
            let limits = self.limit_sets().iter().flat_map(|set| &set.limits);
            let bursts = limits.filter(|limit| limit.zone == number).map(|limit| limit.burst);
            (zone, bursts.max().unwrap_or(0))
        })
    }

    /// The limit, if there is only one.
    fn single_limit(&self) -> Option<&Limit> {
        let [set] = self.limit_sets() else { return None };
        let [limit] = &set.limits[..] else { return None };
        Some(limit)
    }

    /// The limit sets by number; the limits of a set apply to a request together.
    fn limit_sets(&self) -> &[LimitSet] {
        &self.configuration.limit_sets
    }
}

impl Rule for LimitReq {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::LimitReq
    }

    fn description(&self) -> String {
        self.configuration.description()
    }

    fn notes(&self) -> &[RuleError] {
        &self.configuration.notes
    }

    fn reads(&self) -> Option<Vec<String>> {
        Some(self.configuration.fields())
    }

    fn named_fields(&self) -> Vec<String> {
        self.configuration.fields()
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        Ok(Box::new(LimitObserver::new(&self.configuration, fields)?))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(LimitReplay::new(self))
    }

    fn gate(
        &self,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        Ok(Box::new(LimitGate::new(&self.configuration, fields, options)?))
    }
}
