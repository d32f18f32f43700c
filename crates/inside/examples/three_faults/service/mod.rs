//! A service that finds the session of a user, logs the request, and answers.

pub(crate) mod clients;
mod connection;
mod request_log;
mod sessions;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use weir_inside::{Metric, MetricKind, Part, Scrape};
use weir_view::RouteStage;

use connection::Connection;
use request_log::RequestLog;
use sessions::Sessions;

/// The faults of the service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// The key of a session contains the time, so no session is found again.
    pub(crate) cache: bool,
    /// Messages are formatted before the code checks whether the log is on.
    pub(crate) log: bool,
    /// Each read is of a few bytes, and the socket is registered again before it.
    pub(crate) socket: bool,
}

impl Faults {
    pub(crate) const ALL: Self = Self { cache: true, log: true, socket: true };

    /// Removes the faults of a comma-separated list; `None` if the list has an unknown name.
    pub(crate) fn without(mut self, names: &str) -> Option<Self> {
        for name in names.split(',') {
            match name {
                "cache" => self.cache = false,
                "log" => self.log = false,
                "socket" => self.socket = false,
                _ => return None,
            }
        }
        Some(self)
    }
}

/// The service. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    faults: Faults,
    sessions: Arc<Sessions>,
    log: Arc<RequestLog>,
}

impl Service {
    pub(crate) fn new(faults: Faults) -> Self {
        let sessions = Arc::new(Sessions::new(faults.cache));
        Self { faults, sessions, log: Arc::new(RequestLog::new(faults.log)) }
    }

    /// Serves all connections. They end when the future is dropped.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let connection = Connection::new(self.clone(), socket);
            connections.spawn(connection.serve());
        }
    }
}

static LOOKUPS: Metric = Metric {
    name: "three_faults_session_lookups",
    kind: MetricKind::Counter,
    labels: &["result"],
    help: "Lookups in the cache of sessions.",
};

impl Part for Service {
    fn collect(&self, scrape: &mut Scrape) {
        let (hits, misses) = self.sessions.lookups();
        scrape.add(&LOOKUPS, &["hit"], hits);
        scrape.add(&LOOKUPS, &["miss"], misses);
    }

    fn stages(&self) -> Vec<RouteStage> {
        Vec::new()
    }
}
