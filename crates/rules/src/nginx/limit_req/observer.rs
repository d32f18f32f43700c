//! Emits the requests that have a `limit_req`.

use weir_core::Field;

use super::Limit;
use crate::event::{EventHead, Events};
use crate::nginx::key::KEY_BYTES_MAX;
use crate::nginx::observer::LimitObserver;
use crate::rule::{Line, Observer};

/// Emits an event for each request that has a limit. Its tag is the number of the limit set, and its
/// texts are the keys of the limits in order, empty if a limit does not apply.
impl Observer for LimitObserver<Limit> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let duration_ns = record.number(Field::RequestTime).filter(|_| !self.time_is_arrival());
        let Some((set, texts)) = self.limits(record, KEY_BYTES_MAX) else { return };
        let head = EventHead {
            line: line.number,
            time_ns: record.time.map(|time| time.unix_ns),
            duration_ns: duration_ns.unwrap_or(0),
            tag: set as u32,
        };
        events.put(head, texts.iter().map(Vec::as_slice));
    }
}
