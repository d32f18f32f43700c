//! Everything the server refuses, in one table: name, status, sentence.

use std::fmt;

use hyper::StatusCode;
use weir_view::{Failure, QueryError};

/// Why a request, a file or a query is refused. Names and statuses are part of
/// `docs/protocol.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request is for another host, or a page of another site sent it.
    Guard(weir_net::GuardError),
    /// No such address.
    NotFound,
    /// The address exists, but not for this method.
    MethodNotAllowed,
    /// The address is for WebSockets only.
    Handshake(weir_net::websocket::HandshakeError),
    /// There is no session of that id (any more).
    UnknownSession,
    /// There are as many sessions as may be.
    TooManySessions(usize),
    /// The system gave no random number for an id.
    NoRandomness,
    /// The query makes no sense for the data.
    BadQuery(String),
    /// A message or a parameter is not what `docs/protocol.md` says.
    BadRequest(String),
    /// The session has as many files as may be.
    TooManyFiles(usize),
    /// Bytes came without a file to belong to.
    NoFile,
    /// Another connection sends this file.
    FileBusy,
    /// No connection sends the file that another one would join.
    NotBegun,
    /// As many connections send the file as may.
    TooManyConnections(usize),
    /// One of the connections that send the file was lost.
    Interrupted,
    /// The file of that id is another one.
    FileChanged,
    /// The file ended before.
    FileOver(String),
    /// The file has fewer or more bytes than was said.
    WrongLength {
        /// Bytes that came.
        received: u64,
        /// Bytes that were to come.
        expected: u64,
    },
    /// More was sent than the window allows.
    WindowExceeded,
    /// Nothing came for so many seconds.
    Stalled(u64),
    /// The connection was gone for so many seconds.
    Abandoned(u64),
    /// The connection broke at this byte.
    Broken(u64),
    /// The data set has reached its limit of so many bytes.
    MemoryFull(usize),
    /// The compressed data is damaged or cut short, at this byte.
    Damaged {
        /// In compressed bytes.
        at: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The session was ended.
    SessionEnded,
}

impl Refusal {
    /// The fixed name, for programs.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// The HTTP status. Where a refusal comes over a WebSocket only, what it would be.
    pub fn status(&self) -> StatusCode {
        self.row().1
    }

    /// The refusal as a message over a WebSocket.
    pub(crate) fn failure(&self, file: Option<&str>) -> Failure {
        let file = file.map(str::to_owned);
        Failure { name: self.name().to_owned(), message: self.to_string(), file }
    }

    fn row(&self) -> (&'static str, StatusCode) {
        match self {
            Self::Guard(weir_net::GuardError::MisdirectedHost) => {
                ("foreign_host", StatusCode::MISDIRECTED_REQUEST)
            }
            Self::Guard(weir_net::GuardError::ForeignOrigin) => {
                ("foreign_origin", StatusCode::FORBIDDEN)
            }
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND),
            Self::MethodNotAllowed => ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED),
            Self::Handshake(error) => ("not_a_websocket", error.status()),
            Self::UnknownSession => ("unknown_session", StatusCode::NOT_FOUND),
            Self::TooManySessions(_) => ("too_many_sessions", StatusCode::SERVICE_UNAVAILABLE),
            Self::NoRandomness => ("no_randomness", StatusCode::INTERNAL_SERVER_ERROR),
            Self::BadQuery(_) => ("bad_query", StatusCode::BAD_REQUEST),
            Self::BadRequest(_) => ("bad_request", StatusCode::BAD_REQUEST),
            Self::TooManyFiles(_) => ("too_many_files", StatusCode::INSUFFICIENT_STORAGE),
            Self::NoFile => ("no_file", StatusCode::BAD_REQUEST),
            Self::FileBusy => ("file_busy", StatusCode::CONFLICT),
            Self::NotBegun => ("not_begun", StatusCode::CONFLICT),
            Self::TooManyConnections(_) => ("too_many_connections", StatusCode::CONFLICT),
            Self::Interrupted => ("interrupted", StatusCode::CONFLICT),
            Self::FileChanged => ("file_changed", StatusCode::CONFLICT),
            Self::FileOver(_) => ("file_over", StatusCode::GONE),
            Self::WrongLength { .. } => ("wrong_length", StatusCode::BAD_REQUEST),
            Self::WindowExceeded => ("window_exceeded", StatusCode::BAD_REQUEST),
            Self::Stalled(_) => ("stalled", StatusCode::REQUEST_TIMEOUT),
            Self::Abandoned(_) => ("abandoned", StatusCode::REQUEST_TIMEOUT),
            Self::Broken(_) => ("broken", StatusCode::BAD_REQUEST),
            Self::MemoryFull(_) => ("memory_full", StatusCode::INSUFFICIENT_STORAGE),
            Self::Damaged { .. } => ("damaged", StatusCode::UNPROCESSABLE_ENTITY),
            Self::SessionEnded => ("session_ended", StatusCode::GONE),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard(refused) => refused.fmt(formatter),
            Self::NotFound => formatter.write_str("there is nothing at this address"),
            Self::MethodNotAllowed => formatter.write_str("this address does not take that method"),
            Self::Handshake(error) => error.fmt(formatter),
            Self::UnknownSession => formatter.write_str(
                "there is no such session; it was ended, or nobody looked at it for a while. \
                 Open the log again",
            ),
            Self::TooManySessions(limit) => write!(
                formatter,
                "there are {limit} sessions already, which is the limit; close a page, or end \
                 a session with DELETE /api/sessions/ID"
            ),
            Self::NoRandomness => {
                formatter.write_str("the system has no random numbers; try again later")
            }
            Self::BadQuery(why) | Self::BadRequest(why) => formatter.write_str(why),
            Self::TooManyFiles(limit) => write!(
                formatter,
                "the session has {limit} files, which is the limit; join them, or open another \
                 session"
            ),
            Self::NoFile => formatter.write_str("bytes came before a `begin` said of which file"),
            Self::FileBusy => formatter.write_str("another connection sends this file"),
            Self::NotBegun => {
                formatter.write_str("no connection has begun this file, so none can join it")
            }
            Self::TooManyConnections(limit) => {
                write!(formatter, "{limit} connections send this file, which is the limit")
            }
            Self::Interrupted => formatter.write_str(
                "a connection that sent blocks of this file was lost; begin it again, and go on \
                 from the offset that is answered",
            ),
            Self::FileChanged => formatter.write_str(
                "the file was begun with another size; it was changed meanwhile. Choose it again \
                 to read it anew",
            ),
            Self::FileOver(why) => write!(formatter, "the file has ended before: {why}"),
            Self::WrongLength { received, expected } => write!(
                formatter,
                "{expected} bytes were to come and {received} came: the file was changed while \
                 it was read. What was read stands"
            ),
            Self::WindowExceeded => {
                formatter.write_str("more bytes came than the window allows unacknowledged")
            }
            Self::Stalled(seconds) => {
                write!(formatter, "no byte came for {seconds} s; what was read stands")
            }
            Self::Abandoned(seconds) => write!(
                formatter,
                "the connection was lost and not taken up again for {seconds} s; what was read \
                 stands"
            ),
            Self::Broken(at) => {
                write!(formatter, "the connection broke at byte {at}; what was read stands")
            }
            Self::MemoryFull(bytes) => write!(
                formatter,
                "the memory limit of {} MiB is reached; what was read stands (see --memory)",
                bytes >> 20
            ),
            Self::Damaged { at, what } => {
                write!(formatter, "the {what} at byte {at}; what was read before it stands")
            }
            Self::SessionEnded => formatter.write_str("the session was ended"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<weir_net::GuardError> for Refusal {
    fn from(refused: weir_net::GuardError) -> Self {
        Self::Guard(refused)
    }
}

impl From<weir_net::websocket::HandshakeError> for Refusal {
    fn from(error: weir_net::websocket::HandshakeError) -> Self {
        Self::Handshake(error)
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        Self::BadQuery(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use weir_net::GuardError;
    use weir_net::websocket::HandshakeError;

    use super::Refusal;

    const FIRST: Refusal = Refusal::Guard(GuardError::MisdirectedHost);

    /// The refusal after this one, in the order of the type. The match has no wildcard: a new
    /// variant does not compile until it has a place here, and then has to be documented.
    fn next(refusal: &Refusal) -> Option<Refusal> {
        use HandshakeError::{InvalidKey, NotGet, NotHttp11, NotUpgrade, UnsupportedVersion};
        Some(match refusal {
            Refusal::Guard(GuardError::MisdirectedHost) => {
                Refusal::Guard(GuardError::ForeignOrigin)
            }
            Refusal::Guard(GuardError::ForeignOrigin) => Refusal::NotFound,
            Refusal::NotFound => Refusal::MethodNotAllowed,
            Refusal::MethodNotAllowed => Refusal::Handshake(NotGet),
            Refusal::Handshake(NotGet) => Refusal::Handshake(NotHttp11),
            Refusal::Handshake(NotHttp11) => Refusal::Handshake(NotUpgrade),
            Refusal::Handshake(NotUpgrade) => Refusal::Handshake(UnsupportedVersion),
            Refusal::Handshake(UnsupportedVersion) => Refusal::Handshake(InvalidKey),
            Refusal::Handshake(InvalidKey) => Refusal::UnknownSession,
            Refusal::UnknownSession => Refusal::TooManySessions(1),
            Refusal::TooManySessions(_) => Refusal::NoRandomness,
            Refusal::NoRandomness => Refusal::BadQuery(String::new()),
            Refusal::BadQuery(_) => Refusal::BadRequest(String::new()),
            Refusal::BadRequest(_) => Refusal::TooManyFiles(1),
            Refusal::TooManyFiles(_) => Refusal::NoFile,
            Refusal::NoFile => Refusal::FileBusy,
            Refusal::FileBusy => Refusal::NotBegun,
            Refusal::NotBegun => Refusal::TooManyConnections(1),
            Refusal::TooManyConnections(_) => Refusal::Interrupted,
            Refusal::Interrupted => Refusal::FileChanged,
            Refusal::FileChanged => Refusal::FileOver(String::new()),
            Refusal::FileOver(_) => Refusal::WrongLength { received: 1, expected: 2 },
            Refusal::WrongLength { .. } => Refusal::WindowExceeded,
            Refusal::WindowExceeded => Refusal::Stalled(1),
            Refusal::Stalled(_) => Refusal::Abandoned(1),
            Refusal::Abandoned(_) => Refusal::Broken(1),
            Refusal::Broken(_) => Refusal::MemoryFull(1),
            Refusal::MemoryFull(_) => Refusal::Damaged { at: 1, what: String::new() },
            Refusal::Damaged { .. } => Refusal::SessionEnded,
            Refusal::SessionEnded => return None,
        })
    }

    /// The statuses of each name in the table of the page.
    fn documented() -> BTreeMap<String, BTreeSet<String>> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
        let page = std::fs::read_to_string(path).unwrap();
        let rows = page.lines().skip_while(|line| *line != "| name | status | close | when |");
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
        // A refusal that is only sent over a WebSocket has no status on the page.
        for (name, statuses) in documented.iter().filter(|(_, statuses)| !statuses.is_empty()) {
            assert_eq!(statuses, &implemented[name], "{name}");
        }
    }
}
