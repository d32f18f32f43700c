//! Finds the keys of requests.

use weir_core::{Field, Record, RecordFields, RecordPredicate};

use super::key::BoundKey;
use super::limit::{Algorithm, Limit};
use crate::condition::RuleCondition;
use crate::event::{EventHead, Events};
use crate::rule::{Line, MissingField, Observer};

/// The tag of an event whose time stamp is that of the end of the request.
const STAMP_IS_END: u32 = 0;

/// A bit of the tag of an event: its time stamp is that of its arrival.
pub(super) const STAMP_IS_ARRIVAL: u32 = 1;

/// A bit of the tag of an event: its request is not rejected, whatever the count is.
pub(super) const IS_SPARED: u32 = 2;

/// Finds the key of each request that the limit is about.
pub(super) struct KeyFinder<'r> {
    predicate: Option<RecordPredicate<'r>>,
    /// Which of the requests that count may be rejected.
    rejects: Option<RecordPredicate<'r>>,
    key: BoundKey,
    text: Vec<u8>,
}

impl<'r> KeyFinder<'r> {
    /// Resolves a limit among the fields of some records.
    ///
    /// # Errors
    /// If the records lack a field.
    pub(super) fn new(limit: &'r Limit, fields: &RecordFields) -> Result<Self, MissingField> {
        let key = BoundKey::new(&limit.key, fields)?;
        let bind = |condition: &'r Option<RuleCondition>| {
            condition.as_ref().map(|condition| condition.bind(fields)).transpose()
        };
        let (predicate, rejects) = (bind(&limit.condition)?, bind(&limit.effect.rejects)?);
        Ok(Self { predicate, rejects, key, text: Vec::new() })
    }

    /// The same, without borrowing from the limit.
    pub(super) fn to_static(&self) -> KeyFinder<'static> {
        let predicate = self.predicate.as_ref().map(RecordPredicate::to_static);
        let rejects = self.rejects.as_ref().map(RecordPredicate::to_static);
        KeyFinder { predicate, rejects, key: self.key.clone(), text: Vec::new() }
    }

    /// Whether a request that counts is not rejected, whatever the count is.
    #[inline]
    pub(super) fn spares(&self, record: &Record<'_>) -> bool {
        self.rejects.as_ref().is_some_and(|predicate| !predicate.accepts(record))
    }

    /// The key of a record; `None` if the limit is not about it.
    #[inline]
    pub(super) fn key(&mut self, record: &Record<'_>) -> Option<&[u8]> {
        self.text_of_key(record).map(Vec::as_slice)
    }

    /// The buffer with the key of a record.
    #[inline]
    pub(super) fn text_of_key(&mut self, record: &Record<'_>) -> Option<&Vec<u8>> {
        if self.predicate.as_ref().is_some_and(|predicate| !predicate.accepts(record)) {
            return None;
        }
        self.key.write(record, &mut self.text).then_some(&self.text)
    }
}

/// Puts an event with one text, the key, for each request that the limit is about.
pub(super) struct WindowObserver<'r> {
    keys: KeyFinder<'r>,
    tag: u32,
}

impl<'r> WindowObserver<'r> {
    /// Resolves a limit among the fields of some records.
    ///
    /// # Errors
    /// If the records lack a field.
    pub(super) fn new(limit: &'r Limit, fields: &RecordFields) -> Result<Self, MissingField> {
        if limit.algorithm == Algorithm::Concurrency && !fields.fills(Field::RequestTime) {
            return Err(MissingField::new(
                "request_time",
                "requests at once cannot be counted without the time that each took: add \
                 $request_time to log_format",
            ));
        }
        let tag = if fields.has_arrival_times() { STAMP_IS_ARRIVAL } else { STAMP_IS_END };
        Ok(Self { keys: KeyFinder::new(limit, fields)?, tag })
    }
}

impl Observer for WindowObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let spared = if self.keys.spares(record) { IS_SPARED } else { 0 };
        let Some(key) = self.keys.key(record) else { return };
        let head = EventHead {
            line: line.number,
            time_ns: record.time.map(|time| time.unix_ns),
            duration_ns: record.number(Field::RequestTime).unwrap_or(0),
            tag: self.tag | spared,
        };
        events.put(head, [key]);
    }
}
