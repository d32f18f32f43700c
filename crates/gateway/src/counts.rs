//! The counts and gauges of a running gateway, as plain data.

use weir_net::socket::{ConnectionEndCounts, ConnectionLimit};

use weir_rules::GateUsage;

use crate::backend::{Backend, Instance};
use crate::meter::{DurationCounts, EventCounts, FailureCounts, InProgressCounts};
use crate::record::Recorder;
use crate::route::weight::BackendShare;
use crate::routing::Routing;
use crate::token::TokenCounters;
use crate::traces::SpanCounts;

/// A snapshot of the counts of a gateway. Counts start with [`GatewayHandle::measure`]. They start
/// over for a backend or an issuer whose configuration changes.
///
/// [`GatewayHandle::measure`]: crate::GatewayHandle::measure
#[derive(Debug, Clone)]
pub struct GatewayCounts {
    /// Open connections of clients.
    pub connections: usize,
    /// Connections of clients that were refused, or closed before their clients did.
    pub connection_ends: ConnectionEndCounts,
    /// The limit of open connections of clients.
    pub connections_max: usize,
    /// The configured backends and backend templates, in the order of their names.
    pub backends: Vec<BackendCounts>,
    /// The shares of the backends of routes with weights, since these weights were set.
    pub shares: Vec<BackendShare>,
    /// The token counters of each issuer, in the order of their names.
    pub issuers: Vec<(String, TokenCounters)>,
    /// The usage of each limit, by rule file and in the order of the files.
    pub limits: Vec<(String, GateUsage)>,
    /// Counts of events that most requests do not have.
    pub events: EventCounts,
    /// Bytes of records that wait for the pipeline.
    pub waiting_record_bytes: usize,
    /// Records that were dropped because the pipeline was too slow.
    pub records_dropped: u64,
    /// Lines that are missing from the access log.
    pub log_lines_lost: u64,
    /// Counts of spans, if traces are on.
    pub spans: Option<SpanCounts>,
}

/// The counts of a backend.
#[derive(Debug, Clone)]
pub struct BackendCounts {
    /// The name in the configuration, or the URL of a template.
    pub name: String,
    /// The index among the entries of the same name, from 0: several routes may have the same
    /// template.
    pub number: usize,
    /// The durations of requests, by status class.
    pub durations: Vec<DurationCounts>,
    /// The requests in progress.
    pub in_progress: InProgressCounts,
    /// The requests that failed: the gateway or the backend answered with a status from 500 on, or
    /// the response ended early.
    pub failures: FailureCounts,
    /// Its servers; empty for a template.
    pub servers: Vec<ServerCounts>,
}

/// The state of one server of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCounts {
    /// Its address, as in records.
    pub name: String,
    /// Whether the balancer may choose it.
    pub is_available: bool,
    /// Requests that it is answering.
    pub requests: usize,
    /// HTTP/1.1 connections in use.
    pub busy_connections: usize,
    /// Idle connections.
    pub idle_connections: usize,
}

impl GatewayCounts {
    pub(crate) fn read(
        routing: &Routing,
        recorder: &Recorder,
        connections: &ConnectionLimit,
    ) -> Self {
        let mut backends: Vec<BackendCounts> =
            routing.backends().map(|backend| BackendCounts::read(backend)).collect();
        backends.extend(routing.templates().map(|template| BackendCounts {
            name: template.text().to_owned(),
            number: 0,
            durations: template.durations().read(),
            in_progress: template.durations().in_progress.read(),
            failures: template.durations().failures.read(),
            servers: Vec::new(),
        }));
        backends.sort_by(|one, other| one.name.cmp(&other.name));
        number_equal_names(&mut backends);
        let verifiers = routing.verifiers();
        let mut issuers: Vec<_> =
            verifiers.map(|it| (it.name().to_owned(), it.counters())).collect();
        issuers.sort_by(|(one, _), (other, _)| one.cmp(other));
        let events = recorder.meter().events.read();
        // A rate needs the counter before its first event.
        let mut cache_lookups = routing.cache_results();
        cache_lookups.extend(&events.cache_lookups);
        let mut decisions = routing.limits.decisions();
        decisions.extend(events.decisions.clone());
        Self {
            connections: connections.open(),
            connection_ends: connections.ends(),
            connections_max: connections.connections_max(),
            backends,
            shares: routing.shares(),
            issuers,
            limits: routing.limits.usage().into_iter().collect(),
            events: EventCounts { cache_lookups, decisions, ..events.with_all() },
            waiting_record_bytes: recorder.waiting_bytes(),
            records_dropped: recorder.dropped(),
            log_lines_lost: recorder.access_log().lost(),
            spans: routing.traces.as_ref().map(|traces| traces.counts()),
        }
    }
}

/// Numbers adjacent entries of the same name.
fn number_equal_names(backends: &mut [BackendCounts]) {
    for index in 1..backends.len() {
        if let Some([one, other]) = backends.get_mut(index - 1..=index)
            && one.name == other.name
        {
            other.number = one.number + 1;
        }
    }
}

impl BackendCounts {
    fn read(backend: &Backend) -> Self {
        Self {
            name: backend.name().to_string(),
            number: 0,
            durations: backend.meter().durations.read(),
            in_progress: backend.meter().durations.in_progress.read(),
            failures: backend.meter().durations.failures.read(),
            servers: backend
                .instances()
                .iter()
                .map(|instance| ServerCounts::read(instance))
                .collect(),
        }
    }
}

impl ServerCounts {
    fn read(instance: &Instance) -> Self {
        Self {
            name: instance.name().to_string(),
            is_available: instance.is_available(),
            requests: instance.in_flight(),
            busy_connections: instance.pool.busy_connections(),
            idle_connections: instance.pool.idle_connections(),
        }
    }
}
