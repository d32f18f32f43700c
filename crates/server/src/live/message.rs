//! Reads the messages of a live connection.

use std::sync::Arc;

use weir_query::{Now, WrittenQuery};
use weir_view::{LiveRequest, Query};

use super::QUERY_BYTES_MAX;
use super::rules::{NETWORK_BYTES_MAX, NETWORKS_MAX, RULE_BYTES_MAX};
use crate::query_string::TOP_MAX;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::Effort;

/// The maximum length of a message, in bytes. In JSON, an escape may double each character, and a
/// message has two texts if rules are compared.
pub(crate) const MESSAGE_BYTES_MAX: usize =
    2 * 2 * RULE_BYTES_MAX + QUERY_BYTES_MAX + NETWORKS_MAX * NETWORK_BYTES_MAX;

/// A message that was read.
pub(super) struct Message {
    pub(super) request: LiveRequest,
    /// The id of its query.
    pub(super) id: Option<u64>,
    /// Its query, parsed; `None` if it has none.
    pub(super) query: Result<Option<WrittenQuery>, Refusal>,
}

/// Reads a message and parses its query, on a blocking thread.
///
/// # Errors
/// Fails if the message is not one of the protocol.
pub(super) async fn read_message(session: &Arc<Session>, text: String) -> Result<Message, Refusal> {
    let zone = session.zone().cloned();
    let read = move || {
        let mut request =
            weir_view::from_json::<LiveRequest>(&text).map_err(Refusal::unreadable)?;
        let Some(query) = request.query_mut() else {
            return Ok(Message { request, id: None, query: Ok(None) });
        };
        query.zone = query.zone.take().or(zone);
        query.top = query.top.min(TOP_MAX);
        let (id, query) = (Some(query.id), parse(query, text.len()));
        Ok(Message { request, id, query: query.map(Some) })
    };
    session.turns().check(Effort::Short, read).await?
}

fn parse(query: &Query, message_bytes: usize) -> Result<WrittenQuery, Refusal> {
    let json = || weir_view::to_json(query).map_err(Refusal::internal);
    if message_bytes > QUERY_BYTES_MAX && json()?.len() > QUERY_BYTES_MAX {
        let why = format!("the query is too long: it can have {} KiB", QUERY_BYTES_MAX >> 10);
        return Err(Refusal::BadRequest(why));
    }
    Ok(WrittenQuery::parse(query, Now::read())?)
}
