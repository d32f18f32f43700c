//! Records: what is remembered of each request.
//!
//! A record is opened when a request arrives, filled on its way, and written when the last byte of the
//! answer has gone, or the client has. It becomes a row of the data set without being a line of text first.

mod open;
mod recorder;

use weir_core::{Field, RecordLayout};

use crate::limits::ARRIVAL_FIELDS;

pub(crate) use self::open::OpenRecord;
pub use self::recorder::Recorder;

/// The fields of the gateway's own, in the order in which [`OpenRecord`] writes them.
pub(crate) const EXTRA_FIELDS: [&str; 12] = [
    "route",
    "backend",
    "backend_address",
    "claim",
    "token_cache",
    "lookup_cache",
    "session_cache",
    "limit",
    "verdict",
    "outcome",
    "request_id",
    "trace_id",
];

/// The known fields that are added to those of a request that has arrived.
const ANSWER_FIELDS: [Field; 8] = [
    Field::Status,
    Field::Bytes,
    Field::RequestTime,
    Field::UpstreamTime,
    Field::UpstreamConnectTime,
    Field::UpstreamHeaderTime,
    Field::WaitTime,
    Field::BodyTime,
];

/// The form of the gateway's records.
pub(crate) fn layout() -> RecordLayout {
    let extra = EXTRA_FIELDS.iter().map(|name| (*name).to_owned()).collect();
    RecordLayout::new("GATEWAY", [&ARRIVAL_FIELDS[..], &ANSWER_FIELDS].concat(), extra)
}
