//! The options of a server, and the errors that prevent its start.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weir_core::DerivedCatalog;
use weir_ingest::{
    AllowedMemory, FormatChoice, PipelineOptions, Retention, SourceSnapshot, TotalMemory,
};
use weir_net::socket::{Address, BindError, BindOptions};
use weir_net::{PublicUrl, ServeOptions};
use weir_query::UnknownZone;
use weir_view::Report;

use crate::access_token::AccessToken;

/// The settings and limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The addresses to listen on: TCP, TLS and Unix sockets. Port 0 chooses a free port. Default:
    /// a free port of 127.0.0.1.
    pub listen: Vec<Address>,
    /// The TLS certificate and the permissions of Unix sockets.
    pub bind: BindOptions,
    /// The token that clients must present at every address. Required if other machines can reach
    /// an address. Default: none.
    pub token: Option<AccessToken>,
    /// The token to use if [`token`](Self::token) is `None` and other machines can reach an
    /// address.
    pub public_token: Option<AccessToken>,
    /// Whether other machines may connect without TLS. Default: false.
    pub allows_insecure_http: bool,
    /// The URL at which browsers reach the server through a reverse proxy. The server answers to
    /// it as to its own address. Default: none.
    pub public_url: Option<PublicUrl>,
    /// The memory limit of each session's data set, in bytes. Default: 4 GiB.
    pub memory_bytes_max: usize,
    /// The memory limit of all sessions' data sets together, in bytes. At this limit, uploads end
    /// with the lines read so far, and new sessions are refused. Feeds continue, because each drops
    /// its oldest records at its own limit. Default: what [`AllowedMemory::for_data`]
    /// returns, or [`memory_bytes_max`](Self::memory_bytes_max) if that is more or the memory is
    /// unknown.
    pub total_memory_bytes_max: Option<usize>,
    /// Which records each session keeps. Default: all.
    pub retention: Retention,
    /// The maximum number of sessions at a time, including those of
    /// [`Server::new_session`](crate::Server::new_session). Each has its own parser threads and up
    /// to [`memory_bytes_max`](Self::memory_bytes_max). Default: 16.
    pub sessions_max: usize,
    /// The number of parser threads of each session, and of threads that answer one query.
    pub jobs: usize,
    /// The format of uploaded logs.
    pub format: FormatChoice,
    /// The derived fields that questions may name, besides those of the format. Default: none.
    pub derived: Option<Arc<dyn DerivedCatalog>>,
    /// The time zone of queries that name none; `None` for the log's own offset.
    pub zone: Option<String>,
    /// How long a session without users, or a file whose connection was lost, is kept. Default: 60
    /// s.
    pub grace: Duration,
    /// How long an upload may send no byte although the window allows it. Default: 60 s.
    pub stall: Duration,
    /// The maximum time for one answer. Above it the query is refused. 4 million records take a
    /// tenth of a second. Default: 20 s.
    pub answer_time_max: Duration,
    /// The maximum number of open connections, at least 1. The limit of open files may lower it.
    /// Default: 1,024.
    pub connections_max: usize,
    /// Advice for users about the limits of a report.
    pub remedies: Remedies,
    /// Returns memory that was freed to the system. Is called on a blocking thread after a session
    /// has ended, and after each view that is made while others wait for room. Default: does
    /// nothing.
    pub return_memory: fn(),
    /// Writes a report as one HTML page. Without it, reports are only served as JSON. Default: none.
    pub html_report: Option<HtmlReport>,
    /// Whether to serve the addresses that measure the speed of uploads. Default: false.
    pub bench: bool,
}

/// Writes a report on sources as one HTML page that needs no other file. All text of the log in it is
/// escaped.
pub type HtmlReport = fn(&Report, &[SourceSnapshot]) -> String;

/// Sentences appended to the notes on a report's limits. Only the program that runs the server
/// knows the names of its options; by default they name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedies {
    /// Follows the note that no line of a source has a known format, if the page cannot take one.
    pub unknown_format: String,
    /// Follows the notes that the memory limit is reached.
    pub memory_limit: String,
    /// Follows the reason why a rule that looks at lines cannot be replayed.
    pub lines_gone: String,
}

impl Default for Remedies {
    fn default() -> Self {
        Self {
            unknown_format: "Start the server with the log format from the web server's \
                             configuration."
                .to_owned(),
            memory_limit: "Start the server with a higher memory limit.".to_owned(),
            lines_gone: "Replay the rule over the files themselves.".to_owned(),
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            listen: vec![Address::Tcp("127.0.0.1:0".to_owned())],
            bind: BindOptions::default(),
            token: None,
            public_token: None,
            allows_insecure_http: false,
            public_url: None,
            memory_bytes_max: 4 << 30,
            total_memory_bytes_max: None,
            retention: Retention::Segments,
            sessions_max: 16,
            jobs,
            format: FormatChoice::Detect,
            derived: None,
            zone: None,
            grace: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            answer_time_max: Duration::from_secs(20),
            connections_max: ServeOptions::default().connections_max,
            remedies: Remedies::default(),
            return_memory: || {},
            html_report: None,
            bench: false,
        }
    }
}

impl ServerOptions {
    /// Returns the memory limit of all sessions together.
    pub(crate) fn total_memory(&self) -> TotalMemory {
        let share = AllowedMemory::read().map_or(0, |allowed| allowed.for_data());
        let default = share.max(self.memory_bytes_max);
        TotalMemory::new(self.total_memory_bytes_max.unwrap_or(default))
    }

    /// Returns the options of each session's pipeline.
    pub(crate) fn pipeline(&self) -> PipelineOptions {
        let options = PipelineOptions::new(self.jobs, self.retention);
        PipelineOptions { memory_bytes_max: self.memory_bytes_max, ..options }
    }
}

/// Why a server could not start.
#[derive(Debug)]
pub enum StartError {
    /// The address cannot be bound.
    Bind(BindError),
    /// Other machines can reach the address, and there is no [`ServerOptions::token`].
    NoToken(Address),
    /// Other machines can reach the address, it is not encrypted, and
    /// [`ServerOptions::allows_insecure_http`] is false.
    Insecure(Address),
    /// [`ServerOptions::zone`] is not a known time zone.
    Zone(UnknownZone),
}

impl StartError {
    /// Returns whether another program listens at the address.
    pub fn is_address_in_use(&self) -> bool {
        matches!(self, Self::Bind(BindError::InUse(_)))
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(error) => error.fmt(formatter),
            Self::NoToken(address) => {
                write!(formatter, "other machines can reach {address}, and there is no token")
            }
            Self::Insecure(address) => write!(
                formatter,
                "other machines can reach {address}, and what they send and read there is not \
                 encrypted"
            ),
            Self::Zone(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for StartError {}
