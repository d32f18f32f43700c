//! Records of requests.
//!
//! A record is opened when a request arrives and filled as the request proceeds. It is written
//! after the last byte of the answer, or when the client disconnects. It becomes a row of the data
//! set without being formatted as text.

mod open;
mod recorder;
mod refused_head;

use weir_core::{Field, RecordLayout};

use crate::limits::ARRIVAL_FIELDS;

pub(crate) use self::open::OpenRecord;
pub use self::recorder::Recorder;
pub(crate) use self::refused_head::record_refused_head;

/// The extra fields of the gateway's records, in the order in which [`OpenRecord`] writes them.
pub(crate) const EXTRA_FIELDS: [&str; 14] = [
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
    "ssl_client_s_dn",
    "crawler_verified",
];

/// The known fields that are added to [`ARRIVAL_FIELDS`] after the answer.
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

/// Returns the layout of the gateway's records.
pub(crate) fn layout() -> RecordLayout {
    let extra = EXTRA_FIELDS.iter().map(|name| (*name).to_owned()).collect();
    RecordLayout::new("GATEWAY", [&ARRIVAL_FIELDS[..], &ANSWER_FIELDS].concat(), extra)
}
