//! What a running gateway tells of itself, as plain data.

use weir_net::socket::ConnectionLimit;

use weir_rules::GateUsage;

use crate::backend::{Backend, Instance};
use crate::meter::{DurationCounts, EventCounts};
use crate::record::Recorder;
use crate::routing::Routing;
use crate::token::TokenCounters;
use crate::traces::SpanCounts;

/// The numbers of a gateway at one moment. Counts begin with [`GatewayHandle::measure`], and anew for a
/// backend or an issuer whose configuration changes.
///
/// [`GatewayHandle::measure`]: crate::GatewayHandle::measure
#[derive(Debug, Clone)]
pub struct GatewayCounts {
    /// Open connections of clients.
    pub connections: usize,
    /// Connections of clients that may be open.
    pub connections_max: usize,
    /// The backends of the configuration, and the templates of backends, in the order of their names.
    pub backends: Vec<BackendCounts>,
    /// What happened to the tokens of each issuer, in the order of their names.
    pub issuers: Vec<(String, TokenCounters)>,
    /// How full the limits are, by their rule files, in the order of these.
    pub limits: Vec<(String, GateUsage)>,
    /// What does not happen to most requests.
    pub events: EventCounts,
    /// Bytes of records that wait to be handed to the pipeline.
    pub waiting_record_bytes: usize,
    /// Records that were dropped because those before them were not taken in time.
    pub records_dropped: u64,
    /// Lines that are missing in the access log.
    pub log_lines_lost: u64,
    /// What became of spans, if they are asked for.
    pub spans: Option<SpanCounts>,
}

/// The numbers of a backend.
#[derive(Debug, Clone)]
pub struct BackendCounts {
    /// The name in the configuration; of a template, its URL.
    pub name: String,
    /// Which of those with this name it is, from 0: routes may have the same template.
    pub number: usize,
    /// How long requests took, by the class of their status.
    pub durations: Vec<DurationCounts>,
    /// Its servers; none for a template.
    pub servers: Vec<ServerCounts>,
}

/// The state of one server of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCounts {
    /// Its address, as in records.
    pub name: String,
    /// Whether requests may go to it.
    pub is_available: bool,
    /// Requests that it is answering.
    pub requests: usize,
    /// HTTP/1.1 connections that requests use.
    pub busy_connections: usize,
    /// Connections that are kept for the next request.
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
            servers: Vec::new(),
        }));
        backends.sort_by(|one, other| one.name.cmp(&other.name));
        number_equal_names(&mut backends);
        let verifiers = routing.verifiers();
        let mut issuers: Vec<_> =
            verifiers.map(|it| (it.name().to_owned(), it.counters())).collect();
        issuers.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self {
            connections: connections.open(),
            connections_max: connections.connections_max(),
            backends,
            issuers,
            limits: routing.limits.usage().into_iter().collect(),
            events: recorder.meter().events.read(),
            waiting_record_bytes: recorder.waiting_bytes(),
            records_dropped: recorder.dropped(),
            log_lines_lost: recorder.access_log().lost(),
            spans: routing.traces.as_ref().map(|traces| traces.counts()),
        }
    }
}

/// Numbers the backends that have the same name and stand beside each other.
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
