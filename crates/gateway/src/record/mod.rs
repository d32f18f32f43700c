//! Records: what is remembered of each request.
//!
//! A record is opened when a request arrives, filled on its way, and written when the last byte of the
//! answer has gone, or the client has. It becomes a row of the data set without being a line of text first.

mod open;
mod recorder;

use weir_core::{Field, RecordLayout};

pub(crate) use self::open::OpenRecord;
pub use self::recorder::Recorder;

/// The fields of the gateway's own, in the order in which [`OpenRecord`] writes them.
pub(crate) const EXTRA_FIELDS: [&str; 10] = [
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
];

/// The known fields that records have.
const FIELDS: [Field; 14] = [
    Field::Client,
    Field::User,
    Field::Host,
    Field::Method,
    Field::Path,
    Field::Query,
    Field::Protocol,
    Field::Status,
    Field::Referer,
    Field::UserAgent,
    Field::Bytes,
    Field::RequestTime,
    Field::UpstreamTime,
    Field::Time,
];

/// The form of the gateway's records.
pub(crate) fn layout() -> RecordLayout {
    let extra = EXTRA_FIELDS.iter().map(|name| (*name).to_owned()).collect();
    RecordLayout::new("GATEWAY", FIELDS.to_vec(), extra)
}
