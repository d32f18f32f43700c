//! All refusals of the server in one table: name, status, message.

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

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard(error) => error.fmt(formatter),
            Self::NoToken(TokenOrigin::File) => formatter.write_str(
                "this server requires its access token: append `?token=TOKEN` to the \
                 address, with the token of the server's token file, or send the token as \
                 `Authorization: Bearer TOKEN`",
            ),
            Self::NoToken(TokenOrigin::Random) => formatter.write_str(
                "this server requires its access token: open the link that it printed \
                 when it started, or send the token as `Authorization: Bearer TOKEN`",
            ),
            Self::NotFound => formatter.write_str("this address does not exist"),
            Self::MethodNotAllowed(methods) => {
                write!(formatter, "this address does not support the method; use {methods}")
            }
            Self::NotAcceptable(types) => write!(
                formatter,
                "the `Accept` field of the request excludes {types}; name one of them there, or \
                 leave the field out"
            ),
            Self::RangeNotSatisfiable(bytes) => write!(
                formatter,
                "the export has {bytes} bytes, and the range begins after them; ask for bytes \
                 before the end"
            ),
            Self::NoLines(why) => write!(
                formatter,
                "the lines cannot be exported: {why}. Write them with `weir export --to lines` \
                 from the log, or, if a page sent the log, with the page; the other formats need \
                 no lines"
            ),
            Self::NotAgain(why) => formatter.write_str(why),
            Self::Handshake(error) => error.fmt(formatter),
            Self::UnknownSession => formatter.write_str(
                "the session does not exist; it was ended, or was not used for a while. Open the \
                 log again",
            ),
            Self::UnknownSource => formatter.write_str(
                "the session has no such source; it was removed, or the number is wrong",
            ),
            Self::SessionDisplaced(limit) => write!(
                formatter,
                "this data set was dropped to make room for a newer one: the limit of {limit} \
                 data sets or that of their memory was reached, and no page showed this one. Open \
                 the log again"
            ),
            Self::TooManySessions(limit) => write!(
                formatter,
                "{limit} data sets are open in pages or still being read, which is the limit; \
                 close one of the pages and try again"
            ),
            Self::NoRandomness => {
                formatter.write_str("the system has no random numbers; try again later")
            }
            Self::BadQuery(why) | Self::BadRule(why) | Self::BadRequest(why) => {
                formatter.write_str(why)
            }
            Self::BadCondition(invalid) => write!(formatter, "{invalid}"),
            Self::TooSlow(seconds) => write!(
                formatter,
                "the answer took longer than {seconds} s; ask for less, for instance with fewer \
                 or simpler regular expressions"
            ),
            Self::Busy => formatter.write_str(
                "unread answers of other clients take up too much memory; try again later",
            ),
            Self::ClientGone => formatter.write_str(
                "the client closed its side of the connection before the answer was ready; keep \
                 it open until the answer arrives",
            ),
            Self::TooManyFiles(limit) => write!(
                formatter,
                "the limit of {limit} files in a session is reached; concatenate files, or open \
                 another session"
            ),
            Self::NoFile => formatter.write_str("bytes arrived before a `begin` named their file"),
            Self::FileBusy => formatter
                .write_str("another connection is still sending this file; try again later"),
            Self::NotBegun => formatter
                .write_str("no connection is sending this file; begin it before you join it"),
            Self::TooManyConnections(limit) => write!(
                formatter,
                "the limit of {limit} connections for one file is reached; wait until one of them \
                 has ended"
            ),
            Self::Interrupted => formatter.write_str(
                "a connection that sent blocks of this file was lost; begin the file again, and \
                 resume at the offset in `ready`",
            ),
            Self::FileChanged => formatter.write_str(
                "the file has changed since its upload began; choose the file again",
            ),
            Self::UnknownReplay => formatter.write_str(
                "no question of this session waits for the lines of this file: it was answered or \
                 replaced, or its page has gone; try the rule again",
            ),
            Self::FileOver(why) => {
                write!(formatter, "the upload of this file has already ended: {why}")
            }
            Self::WrongLength { received, expected } => write!(
                formatter,
                "{received} bytes arrived instead of {expected}: the file was changed while it \
                 was read; the lines read before are kept"
            ),
            Self::WindowExceeded => {
                formatter.write_str("more unacknowledged bytes arrived than the window allows")
            }
            Self::Stalled(seconds) => {
                write!(formatter, "no byte arrived for {seconds} s; the lines read before are kept")
            }
            Self::SlowUpload(how) => write!(formatter, "{how}; the lines read before are kept"),
            Self::Abandoned(seconds) => write!(
                formatter,
                "the connection was lost, and the upload was not resumed within {seconds} s; the \
                 lines read before are kept"
            ),
            Self::Broken(at) => {
                write!(formatter, "the connection broke at byte {at}; the lines before it are kept")
            }
            Self::MemoryFull(bytes) => write!(
                formatter,
                "the memory limit of {} MiB is reached; the lines read before are kept; start \
                 the server with a higher limit",
                bytes >> 20
            ),
            Self::TotalMemoryFull(bytes) => write!(
                formatter,
                "the memory limit of {} MiB for all data sets together is reached; the lines read \
                 before are kept; close the page of another data set and try again, or start the \
                 server with a higher limit",
                bytes >> 20
            ),
            Self::Damaged(damage) => damage.fmt(formatter),
            Self::UnsupportedPacking(why) => write!(formatter, "the file {why}"),
            Self::Incomplete(what) => write!(formatter, "not everything was read: {what}"),
            Self::SessionEnded => formatter.write_str("the session has ended"),
            Self::Stopping => formatter.write_str(
                "the server is being stopped, and its data sets end with it; send the log again from \
                 its beginning, to another server or to this one when it is back",
            ),
            Self::Internal(cause) => {
                write!(formatter, "the server failed: {cause}; please report this defect")
            }
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
            ExportError::Encode(error) => Self::internal(error),
            // Nobody waits for it any longer.
            ExportError::Stopped => Self::ClientGone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use weir_ingest::{StreamDefect, StreamError};
    use weir_net::GuardError;
    use weir_net::websocket::HandshakeError;

    use weir_query::InvalidCondition;

    use super::{Refusal, TokenOrigin};

    const FIRST: Refusal = Refusal::Guard(GuardError::InvalidHost);

    /// Returns the next refusal in the order of the variants. The match has no wildcard, so a new
    /// variant does not compile until it is added here and documented.
    fn next(refusal: &Refusal) -> Option<Refusal> {
        use HandshakeError::{InvalidKey, NotGet, NotHttp11, NotUpgrade, UnsupportedVersion};
        Some(match refusal {
            Refusal::Guard(GuardError::InvalidHost) => {
                Refusal::Guard(GuardError::MisdirectedHost("a.example:80".to_owned()))
            }
            Refusal::Guard(GuardError::MisdirectedHost(_)) => {
                Refusal::Guard(GuardError::ForeignOrigin)
            }
            Refusal::Guard(GuardError::ForeignOrigin) => Refusal::NoToken(TokenOrigin::File),
            Refusal::NoToken(_) => Refusal::NotFound,
            Refusal::NotFound => Refusal::MethodNotAllowed("GET"),
            Refusal::MethodNotAllowed(_) => Refusal::NotAcceptable(String::new()),
            Refusal::NotAcceptable(_) => Refusal::RangeNotSatisfiable(1),
            Refusal::RangeNotSatisfiable(_) => Refusal::NoLines(String::new()),
            Refusal::NoLines(_) => Refusal::NotAgain(String::new()),
            Refusal::NotAgain(_) => Refusal::Handshake(NotGet),
            Refusal::Handshake(NotGet) => Refusal::Handshake(NotHttp11),
            Refusal::Handshake(NotHttp11) => Refusal::Handshake(NotUpgrade),
            Refusal::Handshake(NotUpgrade) => Refusal::Handshake(UnsupportedVersion),
            Refusal::Handshake(UnsupportedVersion) => Refusal::Handshake(InvalidKey),
            Refusal::Handshake(InvalidKey) => Refusal::UnknownSession,
            Refusal::UnknownSession => Refusal::SessionDisplaced(1),
            Refusal::SessionDisplaced(_) => Refusal::UnknownSource,
            Refusal::UnknownSource => Refusal::TooManySessions(1),
            Refusal::TooManySessions(_) => Refusal::NoRandomness,
            Refusal::NoRandomness => Refusal::BadQuery(String::new()),
            Refusal::BadQuery(_) => Refusal::BadRule(String::new()),
            Refusal::BadRule(_) => Refusal::BadCondition(InvalidCondition {
                number: 0,
                text: String::new(),
                error: weir_core::ConditionError { range: 0..0, message: String::new() },
            }),
            Refusal::BadCondition(_) => Refusal::TooSlow(1),
            Refusal::TooSlow(_) => Refusal::Busy,
            Refusal::Busy => Refusal::ClientGone,
            Refusal::ClientGone => Refusal::BadRequest(String::new()),
            Refusal::BadRequest(_) => Refusal::TooManyFiles(1),
            Refusal::TooManyFiles(_) => Refusal::NoFile,
            Refusal::NoFile => Refusal::FileBusy,
            Refusal::FileBusy => Refusal::NotBegun,
            Refusal::NotBegun => Refusal::TooManyConnections(1),
            Refusal::TooManyConnections(_) => Refusal::Interrupted,
            Refusal::Interrupted => Refusal::FileChanged,
            Refusal::FileChanged => Refusal::UnknownReplay,
            Refusal::UnknownReplay => Refusal::FileOver(String::new()),
            Refusal::FileOver(_) => Refusal::WrongLength { received: 1, expected: 2 },
            Refusal::WrongLength { .. } => Refusal::WindowExceeded,
            Refusal::WindowExceeded => Refusal::Stalled(1),
            Refusal::Stalled(_) => Refusal::SlowUpload(String::new()),
            Refusal::SlowUpload(_) => Refusal::Abandoned(1),
            Refusal::Abandoned(_) => Refusal::Broken(1),
            Refusal::Broken(_) => Refusal::MemoryFull(1),
            Refusal::MemoryFull(_) => Refusal::TotalMemoryFull(1),
            Refusal::TotalMemoryFull(_) => Refusal::Damaged(StreamError {
                packing: None,
                at: 1,
                defect: StreamDefect::Truncated,
            }),
            Refusal::Damaged(error) if error.defect == StreamDefect::Truncated => {
                let defect = StreamDefect::NeedsMemory(String::new());
                Refusal::Damaged(StreamError { defect, ..error.clone() })
            }
            Refusal::Damaged(_) => Refusal::UnsupportedPacking(String::new()),
            Refusal::UnsupportedPacking(_) => Refusal::Incomplete(String::new()),
            Refusal::Incomplete(_) => Refusal::SessionEnded,
            Refusal::SessionEnded => Refusal::Stopping,
            Refusal::Stopping => Refusal::Internal(String::new()),
            Refusal::Internal(_) => return None,
        })
    }

    /// The names and their statuses, from the table in `docs/protocol.md`.
    fn documented() -> BTreeMap<String, BTreeSet<String>> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().skip_while(|line| *line != "| name | status | close | when |");
        let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
        rows.map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let statuses = cells[2].split(", ").filter(|status| !status.is_empty());
            (cells[1].trim_matches('`').to_owned(), statuses.map(str::to_owned).collect())
        })
        .collect()
    }

    #[test]
    fn docs_protocol_lists_every_refusal() {
        let documented = documented();
        let mut implemented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for refusal in std::iter::successors(Some(FIRST), next) {
            let statuses = implemented.entry(refusal.name().to_owned()).or_default();
            statuses.insert(refusal.status().as_u16().to_string());
        }
        let names = |table: &BTreeMap<String, _>| table.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&documented), names(&implemented));
        // A refusal that is only sent over WebSockets has no status in the table.
        for (name, statuses) in documented.iter().filter(|(_, statuses)| !statuses.is_empty()) {
            assert_eq!(statuses, &implemented[name], "{name}");
        }
    }
}
