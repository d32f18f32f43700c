//! The limits enforced, in zones that have a size as in nginx.

use std::sync::Arc;

use weir_core::{Record, RecordFields};

use super::limit::{ConnectionLimit, ConnectionZone};
use super::observer::KEY_BYTES_MAX;
use crate::gate::{
    CannotEnforce, ConcurrencyGate, ConcurrencyLimit, ConcurrencyLimitSet, ConcurrencyZone,
    GateOptions, RequestKeys,
};
use crate::nginx::configuration::{Configuration, LimitSet, Zone};
use crate::nginx::observer::LimitObserver;

/// The bytes of a node without its key: `ngx_rbtree_node_t` up to its color, and
/// `ngx_http_limit_conn_node_t` up to its data, with 64 bits.
const NODE_BYTES: usize = 36;

/// Makes the gate of a configuration, for requests with these fields.
///
/// # Errors
/// If a key has a variable that requests do not have when they arrive.
pub(super) fn gate(
    configuration: &Arc<Configuration<ConnectionLimit>>,
    fields: &RecordFields,
    options: GateOptions,
) -> Result<ConcurrencyGate<LimitObserver<ConnectionLimit>>, CannotEnforce> {
    let observer = LimitObserver::new(configuration, fields)?;
    let zone = |zone: &Zone<ConnectionZone>| {
        let bytes_max = zone.bytes.unwrap_or(usize::MAX).min(options.bytes_max);
        ConcurrencyZone::new(&zone.name, GateOptions { bytes_max, ..options })
    };
    let limit = |limit: &ConnectionLimit| {
        let zone = &configuration.zones[limit.zone];
        ConcurrencyLimit::new(&zone.name, limit.zone, limit.connections)
    };
    let limit_set = |set: &LimitSet<ConnectionLimit>| ConcurrencyLimitSet {
        limits: set.limits.iter().map(limit).collect(),
        is_dry_run: set.is_dry_run,
    };
    let zones = configuration.zones.iter().map(zone).collect();
    let limit_sets = configuration.limit_sets.iter().map(limit_set).collect();
    Ok(ConcurrencyGate::new(observer, zones, limit_sets, node_bytes))
}

impl RequestKeys for LimitObserver<ConnectionLimit> {
    const EMPTY_IS_KEY: bool = false;

    fn keys(&mut self, record: &Record<'_>) -> Option<(usize, &[Vec<u8>])> {
        self.limits(record, KEY_BYTES_MAX)
    }
}

/// The bytes that a node takes in a zone of nginx: a power of two (`ngx_slab_alloc_locked`). A key
/// has 255 bytes at most.
fn node_bytes(key_bytes: usize) -> usize {
    (NODE_BYTES + key_bytes).next_power_of_two()
}
