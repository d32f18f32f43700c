//! A bucket and its events.

use std::borrow::Cow;
use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::bucket::Tokens;
use super::expression::Fields;
use super::observer::TEXTS_BEFORE_FIELDS;
use super::scenario::{BucketKind, Scenario};
use super::summary::Place;

/// The memory of one distinct value in a bucket.
pub(super) const DISTINCT_VALUE_BYTES: usize = 8;

/// An event in a bucket.
#[derive(Debug)]
pub(super) struct BufferedEvent {
    /// The number of the subject.
    pub(super) subject: u32,
    /// The memory that an alert about the subject will take, in bytes; 0 if the subject is that of
    /// the previous event.
    pub(super) alert_bytes: u32,
    pub(super) place: Place,
    /// The values of [`Scenario::queue_fields`].
    pub(super) values: Box<[Box<[u8]>]>,
}

/// A bucket with at least one event.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) first_ns: i64,
    /// The last event that was counted; `None` before the first.
    pub(super) last_ns: Option<i64>,
    pub(super) tokens: Option<Tokens>,
    /// The number of events counted.
    pub(super) total: u64,
    /// The numbers of the distinct values.
    pub(super) distinct_values: HashSet<u32, FixedState>,
    pub(super) queue: VecDeque<BufferedEvent>,
}

impl Bucket {
    pub(super) fn new(kind: BucketKind, now_ns: i64) -> Self {
        let tokens = match kind {
            BucketKind::Leaky { capacity, leak_ns } => {
                Some(Tokens::full(capacity, leak_ns, now_ns))
            }
            _ => None,
        };
        Self {
            first_ns: now_ns,
            last_ns: None,
            tokens,
            total: 0,
            distinct_values: HashSet::default(),
            queue: VecDeque::new(),
        }
    }

    /// Removes the oldest event and returns the memory that it took.
    pub(super) fn drop_oldest(&mut self) -> usize {
        let Some(mut oldest) = self.queue.pop_front() else { return 0 };
        if let Some(next) = self.queue.front_mut().filter(|next| next.subject == oldest.subject) {
            next.alert_bytes = std::mem::take(&mut oldest.alert_bytes);
        }
        oldest.bytes()
    }

    /// The memory of the bucket's events and distinct values.
    pub(super) fn bytes(&self) -> usize {
        self.queue.iter().map(BufferedEvent::bytes).sum::<usize>()
            + self.distinct_values.len() * DISTINCT_VALUE_BYTES
    }
}

impl BufferedEvent {
    pub(super) fn bytes(&self) -> usize {
        let values = self.values.iter().map(|value| size_of::<Box<[u8]>>() + value.len());
        let line_of_ban = size_of::<(u32, u64)>();
        size_of::<Self>() + line_of_ban + self.alert_bytes as usize + values.sum::<usize>()
    }
}

/// An event on its way into a bucket.
pub(super) struct Pour<'e> {
    pub(super) subject: u32,
    pub(super) place: Place,
    pub(super) distinct: Option<u32>,
    pub(super) is_cancelling: bool,
    pub(super) values: Vec<Cow<'e, [u8]>>,
}

impl Pour<'_> {
    pub(super) fn buffered(&self, scenario: &Scenario) -> BufferedEvent {
        debug_assert!(self.values.len() <= scenario.queue_fields.len() + TEXTS_BEFORE_FIELDS);
        let values = self.values.iter().map(|value| Box::from(&value[..])).collect();
        BufferedEvent { subject: self.subject, alert_bytes: 0, place: self.place, values }
    }
}

/// The events of a bucket and the latest event, as the fields of an expression.
pub(super) struct BucketFields<'b> {
    pub(super) scenario: &'b Scenario,
    pub(super) queue: &'b VecDeque<BufferedEvent>,
    pub(super) values: &'b [Cow<'b, [u8]>],
}

impl BucketFields<'_> {
    fn position(&self, field: usize) -> Option<usize> {
        self.scenario.queue_fields.iter().position(|kept| *kept == field)
    }
}

impl Fields for BucketFields<'_> {
    fn value(&self, field: usize) -> Cow<'_, [u8]> {
        let value = self.position(field).and_then(|position| self.values.get(position));
        Cow::Borrowed(value.map_or(&b""[..], |value| value))
    }

    fn queue_length(&self) -> usize {
        self.queue.len()
    }

    fn queue_value(&self, event: usize, field: usize) -> &[u8] {
        let buffered = self.queue.get(event);
        let value = self
            .position(field)
            .zip(buffered)
            .and_then(|(position, buffered)| buffered.values.get(position));
        value.map_or(b"", |value| value)
    }
}
