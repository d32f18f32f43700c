//! Sessions in short, for programs that look for them.

use weir_view::{SessionList, SessionSummary};

use crate::hub::Hub;
use crate::refusal::Refusal;
use crate::session::Session;

/// Returns the sessions of a server. The id of an upload is the only key to it, so uploads are listed
/// only for those who have the access token.
pub(crate) fn list(hub: &Hub) -> SessionList {
    let mut sessions = hub.sessions();
    sessions.retain(|session| session.is_served() || hub.options.token.is_some());
    sessions.sort_by_key(|session| (!session.is_served(), session.number()));
    // A session that has ended meanwhile is left out.
    SessionList { sessions: sessions.iter().filter_map(|session| summary(session).ok()).collect() }
}

/// Returns what a session has read so far.
///
/// # Errors
/// Fails if the session has ended.
pub(crate) fn summary(session: &Session) -> Result<SessionSummary, Refusal> {
    let data = session.data()?;
    let sources = data.sources();
    let reads = sources.iter().map(|source| source.read_counts());
    let (lines, records) = reads
        .fold((0, 0), |(lines, records), reads| (lines + reads.lines, records + reads.records));
    Ok(SessionSummary {
        id: session.id().to_owned(),
        path: session.path(),
        is_served: session.is_served(),
        started_unix_ms: session.started_unix_ms(),
        sources: sources.len() as u64,
        complete: !sources.is_empty() && sources.iter().all(|source| source.end().is_some()),
        lines,
        records,
        memory_bytes: data.memory_bytes() as u64,
        users: session.users() as u64,
    })
}
