//! nginx's `limit_req`, decision for decision.
//!
//! The algorithm is that of ngx_http_limit_req_module.c (nginx 1.22): integers in thousandths of a
//! request, a zone of nodes by key, and a rejected request that changes nothing. [`bucket`] is the
//! arithmetic of one key, [`exact`] a replay with arrival times to the millisecond, [`bounded`] one
//! with times to the second, and [`gate`] decides about requests as they arrive.
//!
//! A request is logged when it ends, so it arrived at the time stamp minus the request time.
//! Without the request time, the stamp is used.

mod bounded;
mod bounded_by_key;
mod bucket;
mod columns;
#[cfg(test)]
mod estimate_tests;
mod exact;
mod exact_by_key;
mod gate;
mod level;
mod limit;
mod nodes;
mod observer;
mod replay;
mod spans;
#[cfg(test)]
mod tests;
mod unlimited;

use weir_core::RecordFields;

use self::gate::LimitGate;
pub(super) use self::limit::Limit;
use self::limit::RequestZone;
use self::replay::LimitReplay;
use super::observer::LimitObserver;
use super::rule::{NginxRule, RuleKind};
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::rule::{Family, MissingField, Observer, Replay};
use crate::settings::RuleSettings;

/// The request limits in an nginx configuration.
pub(crate) type LimitReq = NginxRule<Limit>;

impl LimitReq {
    /// The zones, each with the largest burst of its limits.
    fn zones_with_bursts(&self) -> impl Iterator<Item = (&RequestZone, i64)> {
        self.zones().iter().enumerate().map(|(number, zone)| {
            let limits = self.limit_sets().iter().flat_map(|set| &set.limits);
            let bursts = limits.filter(|limit| limit.zone == number).map(|limit| limit.burst);
            (zone, bursts.max().unwrap_or(0))
        })
    }
}

impl RuleKind for Limit {
    const FAMILY: Family = Family::LimitReq;

    fn observer(rule: &LimitReq, fields: &RecordFields) -> Result<Box<dyn Observer>, MissingField> {
        Ok(Box::new(LimitObserver::of_log(&rule.configuration, fields)?))
    }

    fn limit_settings(rule: &LimitReq) -> Vec<(String, RuleSettings)> {
        if rule.single_limit().is_some() {
            return Vec::new();
        }
        let of_zone = |(number, zone): (usize, &RequestZone)| {
            let limits = rule.limit_sets().iter().flat_map(|set| &set.limits);
            let mut limits = limits.filter(|limit| limit.zone == number);
            let first = limits.next()?;
            // Locations with other bursts would need numbers of their own.
            limits.all(|limit| limit == first).then(|| (zone.name.clone(), first.settings(zone)))
        };
        rule.zones().iter().enumerate().filter_map(of_zone).collect()
    }

    fn replay(rule: &LimitReq) -> Box<dyn Replay + '_> {
        Box::new(LimitReplay::new(rule))
    }

    fn gate(
        rule: &LimitReq,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        Ok(Box::new(LimitGate::new(&rule.configuration, fields, options)?))
    }
}
