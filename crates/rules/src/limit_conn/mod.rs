//! nginx's `limit_conn`, decision for decision.
//!
//! The algorithm is that of ngx_http_limit_conn_module.c (nginx 1.22). A request is counted in a
//! zone, under its key, from its arrival until it has been answered. It is rejected, and counted in
//! no zone, if a zone already counts as many as the limit. A connection that waits for its next
//! request is not counted, but each HTTP/2 stream is.
//!
//! A request is logged when it ends, so it arrived at the time stamp minus the request time.
//! Without the request time, nothing can be decided. [`exact`] is a replay with times to the
//! millisecond, [`bounded`] one with times to the second, and [`gate`] decides about requests as
//! they arrive. Zones, keys, servers and locations are read as those of `limit_req`.

mod bounded;
mod exact;
mod gate;
mod limit;
mod observer;
mod replay;
mod requests;
mod summary;

use std::sync::Arc;

use weir_core::RecordFields;

use self::gate::ConnectionGate;
use self::limit::{ConnectionLimit, ConnectionZone};
use self::observer::ConnectionObserver;
use self::replay::ConnectionReplay;
use crate::error::RuleError;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::limit_req::configuration::{Configuration, LimitSet, directive_place};
use crate::rule::{Family, MissingField, Observer, Replay, Rule};

/// The connection limits in an nginx configuration.
#[derive(Debug)]
pub(crate) struct LimitConn {
    name: String,
    configuration: Arc<Configuration<ConnectionLimit>>,
}

impl LimitConn {
    /// Reads `limit_conn_zone` and `limit_conn` lines, or a whole configuration.
    ///
    /// # Errors
    /// If the text is not a configuration, or has no limit.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, RuleError> {
        let mut configuration = Configuration::<ConnectionLimit>::parse(text)?;
        if let Some(place) = directive_place(text, "limit_req")? {
            configuration.notes.push(RuleError::new(
                place,
                "`limit_req`: nginx applies it before `limit_conn`; requests that it rejects or \
                 delays are counted from their arrival",
            ));
        }
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
        Ok(text.contains("limit_conn") && directive_place(text, "limit_conn")?.is_some())
    }

    /// Makes the name different from that of another rule of the same text.
    pub(crate) fn add_kind_to_name(&mut self) {
        self.name.push_str("-limit_conn");
    }

    fn zones(&self) -> &[ConnectionZone] {
        &self.configuration.zones
    }

    /// The limit sets by number; the limits of a set apply to a request together.
    fn limit_sets(&self) -> &[LimitSet<ConnectionLimit>] {
        &self.configuration.limit_sets
    }

    /// Whether no request has more than one limit, so that its only limit rejects it.
    fn limits_are_alone(&self) -> bool {
        self.limit_sets().iter().all(|set| set.limits.len() == 1)
    }

    /// Whether, in addition, all limits of a zone are equal, so that a peak over the limit means a
    /// rejection.
    fn peaks_decide(&self) -> bool {
        let mut limits = vec![None; self.zones().len()];
        self.limits_are_alone()
            && self.limit_sets().iter().flat_map(|set| &set.limits).all(|limit| {
                *limits[limit.zone].get_or_insert(limit.connections) == limit.connections
            })
    }
}

impl Rule for LimitConn {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::LimitConn
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
        Ok(Box::new(ConnectionObserver::new(&self.configuration, fields)?))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(ConnectionReplay::new(self))
    }

    fn gate(
        &self,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        Ok(Box::new(ConnectionGate::new(&self.configuration, fields, options)?))
    }
}
