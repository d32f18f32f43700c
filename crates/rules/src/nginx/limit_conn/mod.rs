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
mod doubt;
mod exact;
mod gate;
mod limit;
mod observer;
mod replay;

use weir_core::RecordFields;

use self::limit::ConnectionLimit;
use self::observer::ConnectionObserver;
use self::replay::ConnectionReplay;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::nginx::rule::{NginxRule, RuleKind};
use crate::rule::{Family, MissingField, Observer, Replay};

/// The connection limits in an nginx configuration.
pub(crate) type LimitConn = NginxRule<ConnectionLimit>;

impl LimitConn {
    /// Whether no request has more than one limit, and all limits of a zone are equal, so that a peak
    /// over the limit means a rejection.
    fn peaks_decide(&self) -> bool {
        let mut limits = vec![None; self.zones().len()];
        self.limits_are_alone()
            && self.limit_sets().iter().flat_map(|set| &set.limits).all(|limit| {
                *limits[limit.zone].get_or_insert(limit.connections) == limit.connections
            })
    }
}

impl RuleKind for ConnectionLimit {
    const FAMILY: Family = Family::LimitConn;

    fn observer(
        rule: &LimitConn,
        fields: &RecordFields,
    ) -> Result<Box<dyn Observer>, MissingField> {
        Ok(Box::new(ConnectionObserver::new(&rule.configuration, fields)?))
    }

    fn replay(rule: &LimitConn) -> Box<dyn Replay + '_> {
        Box::new(ConnectionReplay::new(rule))
    }

    fn gate(
        rule: &LimitConn,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        Ok(Box::new(gate::gate(&rule.configuration, fields, options)?))
    }
}
