//! All refusals of the server in one table: name, status, message.

mod message;

use std::fmt;

use hyper::StatusCode;
use weir_ingest::{StreamDefect, StreamError};
use weir_query::ExportError;
use weir_query::{InvalidCondition, QueryError};
use weir_view::Failure;

/// Why a request, a file or a query is refused. `docs/protocol.md` lists names and statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request names another host, or was sent by a page of another site.
    Guard(weir_net::GuardError),
    /// The request has no access token, or another one.
    NoToken(TokenOrigin),
    /// The address does not exist.
    NotFound,
    /// The address exists, but only for these methods, separated as in `Allow`.
    MethodNotAllowed(&'static str),
    /// The client does not accept these media types, of which the answer would have one.
    NotAcceptable(String),
    /// The export has this number of bytes, and the requested range begins after them.
    RangeNotSatisfiable(u64),
    /// Lines of a source cannot be read again. The text says of which, and why.
    NoLines(String),
    /// A source cannot be read again in another format. The text says why.
    NotAgain(String),
    /// The address is for WebSockets only.
    Handshake(weir_net::websocket::HandshakeError),
    /// No session has this id; it may have ended.
    UnknownSession,
    /// The session was ended to make room for another one. Nothing used it, and the limit of this
    /// number of sessions, or the memory limit, was reached.
    SessionDisplaced(usize),
    /// The session has no source of this number; it may have been removed.
    UnknownSource,
    /// The program serves the session, so a request cannot end it.
    ServedSession,
    /// The limit of this number of sessions is reached, and all have users.
    TooManySessions(usize),
    /// The system has no random numbers for the id of a session.
    NoRandomness,
    /// The query is not valid for the data. The text is the message.
    BadQuery(String),
    /// The answer took longer than this number of seconds.
    TooSlow(u64),
    /// Answers that clients do not read take too much memory.
    Busy,
    /// The client closed its sending side, and the answer took too long after that.
    ClientGone,
    /// A text is not a rule, or the rule cannot be replayed over the data. The text is the message.
    BadRule(String),
    /// A condition of a query is not valid.
    BadCondition(InvalidCondition),
    /// A message or a parameter does not follow `docs/protocol.md`. The text is the message.
    BadRequest(String),
    /// The session has reached the limit of this number of files.
    TooManyFiles(usize),
    /// Bytes arrived before a file was begun.
    NoFile,
    /// Another connection owns the file.
    FileBusy,
    /// No connection owns the file that should be joined.
    NotBegun,
    /// The limit of this number of connections for one file is reached.
    TooManyConnections(usize),
    /// A connection that had joined the file was lost.
    Interrupted,
    /// The file was begun with another size before.
    FileChanged,
    /// No question waits for the lines of the file.
    UnknownReplay,
    /// The file has ended already, for this reason.
    FileOver(String),
    /// The file has fewer or more bytes than its size.
    WrongLength {
        /// The number of bytes received.
        received: u64,
        /// The size that the page sent.
        expected: u64,
    },
    /// The page sent more unacknowledged bytes than the window allows.
    WindowExceeded,
    /// No byte arrived for this number of seconds.
    Stalled(u64),
    /// The body of a request arrived too slowly. The text says how slowly.
    SlowUpload(String),
    /// The connection was lost, and the file was not resumed for this number of seconds.
    Abandoned(u64),
    /// The connection of a request broke after this number of bytes.
    Broken(u64),
    /// The data set has reached its limit of this number of bytes.
    MemoryFull(usize),
    /// All data sets together have reached their limit of this number of bytes.
    TotalMemoryFull(usize),
    /// The compressed data is damaged or cut short, or needs too much memory to unpack.
    Damaged(StreamError),
    /// The file is packed in a way that is not read. The text is a clause that says how, and what to
    /// do.
    UnsupportedPacking(String),
    /// Parts of an upload were not read completely. The text says which, and why.
    Incomplete(String),
    /// The session was ended.
    SessionEnded,
    /// The server is being stopped.
    Stopping,
    /// A defect of the server. The text is the cause.
    Internal(String),
}

/// Where an access token comes from, which decides how a person finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOrigin {
    /// The server made it, and printed a link with it.
    Random,
    /// A file of the user has it. The server prints it nowhere.
    File,
}

impl Refusal {
    /// Returns the name for programs, which never changes.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// Returns the HTTP status. Refusals that are only sent over WebSockets have one too.
    pub fn status(&self) -> StatusCode {
        self.row().1
    }

    /// Returns the refusal as a WebSocket message.
    pub(crate) fn failure(&self, file: Option<&str>) -> Failure {
        let file = file.map(str::to_owned);
        let (message, place) = match self {
            Self::BadCondition(invalid) => (invalid.error.to_string(), Some(invalid.place())),
            _ => (self.to_string(), None),
        };
        Failure { name: self.name().to_owned(), message, file, place }
    }

    /// Returns the refusal of a message that does not follow the protocol.
    pub(crate) fn unreadable(error: weir_view::JsonError) -> Self {
        Self::BadRequest(format!("the message cannot be read: {error}"))
    }

    /// Returns the refusal for a defect of the server.
    pub(crate) fn internal(error: impl fmt::Display) -> Self {
        Self::Internal(error.to_string())
    }

    fn row(&self) -> (&'static str, StatusCode) {
        match self {
            Self::Guard(weir_net::GuardError::InvalidHost) => {
                ("invalid_host", StatusCode::BAD_REQUEST)
            }
            Self::Guard(weir_net::GuardError::MisdirectedHost(_)) => {
                ("foreign_host", StatusCode::MISDIRECTED_REQUEST)
            }
            Self::Guard(weir_net::GuardError::ForeignOrigin) => {
                ("foreign_origin", StatusCode::FORBIDDEN)
            }
            Self::NoToken(_) => ("no_token", StatusCode::UNAUTHORIZED),
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND),
            Self::MethodNotAllowed(_) => ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED),
            Self::NotAcceptable(_) => ("not_acceptable", StatusCode::NOT_ACCEPTABLE),
            Self::RangeNotSatisfiable(_) => {
                ("range_not_satisfiable", StatusCode::RANGE_NOT_SATISFIABLE)
            }
            Self::NoLines(_) => ("no_lines", StatusCode::CONFLICT),
            Self::NotAgain(_) => ("not_read_again", StatusCode::CONFLICT),
            Self::Handshake(error) => ("not_a_websocket", error.status()),
            Self::UnknownSession => ("unknown_session", StatusCode::NOT_FOUND),
            Self::SessionDisplaced(_) => ("session_displaced", StatusCode::NOT_FOUND),
            Self::UnknownSource => ("unknown_source", StatusCode::NOT_FOUND),
            Self::ServedSession => ("served_session", StatusCode::CONFLICT),
            Self::TooManySessions(_) => ("too_many_sessions", StatusCode::SERVICE_UNAVAILABLE),
            Self::NoRandomness => ("no_randomness", StatusCode::INTERNAL_SERVER_ERROR),
            Self::BadQuery(_) | Self::BadCondition(_) => ("bad_query", StatusCode::BAD_REQUEST),
            Self::BadRule(_) => ("bad_rule", StatusCode::BAD_REQUEST),
            Self::TooSlow(_) => ("too_slow", StatusCode::SERVICE_UNAVAILABLE),
            Self::Busy => ("busy", StatusCode::SERVICE_UNAVAILABLE),
            Self::ClientGone => ("client_gone", StatusCode::REQUEST_TIMEOUT),
            Self::BadRequest(_) => ("bad_request", StatusCode::BAD_REQUEST),
            Self::TooManyFiles(_) => ("too_many_files", StatusCode::INSUFFICIENT_STORAGE),
            Self::NoFile => ("no_file", StatusCode::BAD_REQUEST),
            Self::FileBusy => ("file_busy", StatusCode::CONFLICT),
            Self::NotBegun => ("not_begun", StatusCode::CONFLICT),
            Self::TooManyConnections(_) => ("too_many_connections", StatusCode::CONFLICT),
            Self::Interrupted => ("interrupted", StatusCode::CONFLICT),
            Self::FileChanged => ("file_changed", StatusCode::CONFLICT),
            Self::UnknownReplay => ("unknown_replay", StatusCode::NOT_FOUND),
            Self::FileOver(_) => ("file_over", StatusCode::GONE),
            Self::WrongLength { .. } => ("wrong_length", StatusCode::BAD_REQUEST),
            Self::WindowExceeded => ("window_exceeded", StatusCode::BAD_REQUEST),
            Self::Stalled(_) => ("stalled", StatusCode::REQUEST_TIMEOUT),
            Self::SlowUpload(_) => ("slow_upload", StatusCode::REQUEST_TIMEOUT),
            Self::Abandoned(_) => ("abandoned", StatusCode::REQUEST_TIMEOUT),
            Self::Broken(_) => ("broken", StatusCode::BAD_REQUEST),
            Self::MemoryFull(_) => ("memory_full", StatusCode::INSUFFICIENT_STORAGE),
            Self::TotalMemoryFull(_) => ("total_memory_full", StatusCode::SERVICE_UNAVAILABLE),
            Self::Damaged(StreamError { defect: StreamDefect::NeedsMemory(_), .. }) => {
                ("needs_memory", StatusCode::UNPROCESSABLE_ENTITY)
            }
            Self::Damaged(_) => ("damaged", StatusCode::UNPROCESSABLE_ENTITY),
            Self::UnsupportedPacking(_) => {
                ("unsupported_packing", StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::Incomplete(_) => ("incomplete", StatusCode::UNPROCESSABLE_ENTITY),
            Self::SessionEnded => ("session_ended", StatusCode::GONE),
            Self::Stopping => ("stopping", StatusCode::SERVICE_UNAVAILABLE),
            Self::Internal(_) => ("internal_error", StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<weir_net::GuardError> for Refusal {
    fn from(error: weir_net::GuardError) -> Self {
        Self::Guard(error)
    }
}

impl From<weir_net::websocket::HandshakeError> for Refusal {
    fn from(error: weir_net::websocket::HandshakeError) -> Self {
        Self::Handshake(error)
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Condition(invalid) => Self::BadCondition(invalid),
            error => Self::BadQuery(error.to_string()),
        }
    }
}

impl From<ExportError> for Refusal {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Query(error) => error.into(),
            ExportError::Column(error) => Self::BadQuery(format!("columns: {error}")),
            ExportError::Encode(error) => Self::internal(error),
            // Nobody waits for it any longer.
            ExportError::Stopped => Self::ClientGone,
        }
    }
}

#[cfg(test)]
mod tests;
