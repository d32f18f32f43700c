//! Finds the connection limits of requests.

use std::sync::Arc;

use weir_core::{Field, RecordFields};

use super::limit::ConnectionLimit;
use crate::event::{EventHead, Events};
use crate::nginx::configuration::Configuration;
use crate::nginx::observer::LimitObserver;
use crate::rule::{Line, MissingField, Observer};

/// The longest key, in bytes; nginx does not limit requests with a longer one.
pub(super) const KEY_BYTES_MAX: usize = 255;

/// Emits an event for each request that has a limit. Its texts are the keys of the limits in order,
/// empty if a limit does not apply. Without a request time, the event has no time.
pub(super) struct ConnectionObserver {
    limits: LimitObserver<ConnectionLimit>,
    stamp_is_arrival: bool,
}

/// The tag of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    /// The number of the limit set.
    pub(super) set: u32,
    /// Whether the time stamp is that of the arrival instead of the end.
    pub(super) stamp_is_arrival: bool,
}

impl From<Tag> for u32 {
    fn from(tag: Tag) -> Self {
        tag.set << 1 | Self::from(tag.stamp_is_arrival)
    }
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Self { set: tag >> 1, stamp_is_arrival: tag & 1 == 1 }
    }
}

impl ConnectionObserver {
    /// Resolves the keys of a configuration against the fields of records.
    ///
    /// # Errors
    /// If the format lacks a variable of each key, or the request time.
    pub(super) fn new(
        configuration: &Arc<Configuration<ConnectionLimit>>,
        fields: &RecordFields,
    ) -> Result<Self, MissingField> {
        if !fields.fills(Field::RequestTime) {
            return Err(MissingField::new(
                "request_time",
                "connections at the same time cannot be counted without the time that each request \
                 took: add $request_time to log_format",
            ));
        }
        let limits = LimitObserver::of_log(configuration, fields)?;
        Ok(Self { limits, stamp_is_arrival: fields.has_arrival_times() })
    }
}

impl Observer for ConnectionObserver {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let duration_ns = record.number(Field::RequestTime);
        let time_ns = record.time.map(|time| time.unix_ns).filter(|_| duration_ns.is_some());
        let Some((set, texts)) = self.limits.limits(record, KEY_BYTES_MAX) else { return };
        let tag = Tag { set: set as u32, stamp_is_arrival: self.stamp_is_arrival };
        let duration_ns = duration_ns.unwrap_or(0);
        let head = EventHead { line: line.number, time_ns, duration_ns, tag: tag.into() };
        events.put(head, texts.iter().map(Vec::as_slice));
    }
}
