//! Records of requests that the server refuses before the gateway sees them.

use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{Field, Record};
use weir_net::HeadRefusal;

use super::open::{OpenRecord, timestamp};
use super::{EXTRA_FIELDS, Recorder};
use crate::header_fields::address_text::{ADDRESS_BYTES, push_address};

/// Records a refused request: with its address, its time and its status, and with its head if that
/// could be read. `X-Forwarded-For` is not considered, because it may be what could not be read.
pub(crate) fn record_refused_head(recorder: &Arc<Recorder>, refusal: HeadRefusal<'_>) {
    let HeadRefusal { peer, problem, bytes, request } = refusal;
    if let Some(request) = request {
        let record = OpenRecord::new(recorder, request, peer.ip());
        return record.refuse(problem.status(), problem.name(), bytes);
    }
    let mut client = Vec::with_capacity(ADDRESS_BYTES);
    if let Some(address) = peer.ip() {
        push_address(&mut client, address.to_canonical());
    }
    let status = problem.status();
    let mut record = Record::with_extra_fields(EXTRA_FIELDS.len());
    record.time = timestamp(SystemTime::now());
    record.put_text(Field::Client, peer.ip().map(|_| &client[..]));
    record.put_text(Field::Status, Some(status.as_str().as_bytes()));
    record.set_number(Field::Bytes, Some(bytes as u64));
    // The gateway has spent no time on it.
    record.set_number(Field::RequestTime, Some(0));
    record.set_number(Field::WaitTime, Some(0));
    if let Some(index) = EXTRA_FIELDS.iter().position(|name| *name == "outcome") {
        record.set_extra(index, problem.name().as_bytes());
    }
    recorder.put(&record);
    if recorder.meter().is_on() {
        recorder.meter().events.count_unanswered(problem.name());
    }
}
