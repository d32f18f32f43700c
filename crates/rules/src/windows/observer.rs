//! Finds the keys of requests.

use weir_core::{Field, RecordFields, RecordPredicate, UnknownField};

use super::key::BoundKey;
use super::limit::{Algorithm, Limit};
use crate::event::Events;
use crate::rule::{Line, MissingField, Observer};

/// The tag of an event whose time stamp is that of the end of the request.
const STAMP_IS_END: u32 = 0;

/// The tag of an event whose time stamp is that of its arrival.
pub(super) const STAMP_IS_ARRIVAL: u32 = 1;

/// Puts an event with one text, the key, for each request that the limit is about.
pub(super) struct WindowObserver<'r> {
    predicate: Option<RecordPredicate<'r>>,
    key: BoundKey<'r>,
    tag: u32,
    text: Vec<u8>,
}

impl<'r> WindowObserver<'r> {
    /// Resolves a limit among the fields of some records.
    ///
    /// # Errors
    /// If the records lack a field.
    pub(super) fn new(limit: &'r Limit, fields: &RecordFields) -> Result<Self, MissingField> {
        let lacks = |error: UnknownField| MissingField { message: error.to_string() };
        if limit.algorithm == Algorithm::Concurrency && !fields.fills(Field::RequestTime) {
            return Err(MissingField {
                message: "requests at once cannot be counted without the time that each took: add \
                          $request_time to log_format"
                    .to_owned(),
            });
        }
        let key = BoundKey::new(&limit.key, fields).map_err(lacks)?;
        let condition = limit.condition.as_ref();
        let predicate = condition.map(|condition| condition.bind(fields)).transpose()?;
        let tag = if fields.has_arrival_times() { STAMP_IS_ARRIVAL } else { STAMP_IS_END };
        Ok(Self { predicate, key, tag, text: Vec::new() })
    }
}

impl Observer for WindowObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        if self.predicate.as_ref().is_some_and(|predicate| !predicate.accepts(record)) {
            return;
        }
        if !self.key.write(record, &mut self.text) {
            return;
        }
        let duration_ns = record.number(Field::RequestTime).unwrap_or(0);
        let time = (record.time.map(|time| time.unix_ns), duration_ns);
        events.put((line.number, self.tag), time, [&self.text[..]]);
    }
}
