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
        Refusal::Guard(GuardError::MisdirectedHost(_)) => Refusal::Guard(GuardError::ForeignOrigin),
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
        Refusal::UnknownSource => Refusal::ServedSession,
        Refusal::ServedSession => Refusal::TooManySessions(1),
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
        Refusal::TotalMemoryFull(_) => {
            Refusal::Damaged(StreamError { packing: None, at: 1, defect: StreamDefect::Truncated })
        }
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
