//! How a server works, and why it may not start.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use weir_ingest::{FormatChoice, Keep, PipelineOptions};
use weir_net::socket::BindError;
use weir_view::UnknownZone;

/// How a server works and what it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; port 0 takes a free one. Default: a free port of 127.0.0.1.
    pub address: SocketAddr,
    /// Memory for the data set of each session, in bytes. Default 4 GiB.
    pub memory_bytes_max: usize,
    /// What becomes of the records of each session. Default: they are kept.
    pub keep: Keep,
    /// Sessions at a time, those of [`Server::new_session`](crate::Server::new_session)
    /// included. Each has its parser threads and up to
    /// [`memory_bytes_max`](Self::memory_bytes_max). Default 16.
    pub sessions_max: usize,
    /// Parser threads of each session, and threads for answering one question.
    pub jobs: usize,
    /// The format of what is uploaded.
    pub format: FormatChoice,
    /// The zone of times, where a query names none; `None` for the log's own offset.
    pub zone: Option<String>,
    /// How long a session that nobody looks at, or a file whose connection is lost, is kept.
    /// Default 60 s.
    pub grace: Duration,
    /// How long an upload may bring no byte though it could. Default 60 s.
    pub stall: Duration,
    /// Whether the addresses are there by which a page measures uploads. Default: no.
    pub bench: bool,
}

impl Default for Options {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            memory_bytes_max: 4 << 30,
            keep: Keep::Segments,
            sessions_max: 16,
            jobs,
            format: FormatChoice::Detect,
            zone: None,
            grace: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            bench: false,
        }
    }
}

impl Options {
    /// How the pipeline of each session works.
    pub(crate) fn pipeline(&self) -> PipelineOptions {
        let options = PipelineOptions::new(self.jobs, self.keep);
        PipelineOptions { memory_bytes_max: self.memory_bytes_max, ..options }
    }
}

/// Why a server could not start.
#[derive(Debug)]
pub enum StartError {
    /// The address cannot be bound.
    Bind(BindError),
    /// The zone of the options does not exist.
    Zone(UnknownZone),
}

impl StartError {
    /// Whether another program listens at the address.
    pub fn is_address_in_use(&self) -> bool {
        matches!(self, Self::Bind(BindError::InUse(_)))
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(error) => error.fmt(formatter),
            Self::Zone(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for StartError {}
