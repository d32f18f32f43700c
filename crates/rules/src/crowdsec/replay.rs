//! The buckets of a scenario over the events of a log.
//!
//! The order of the steps is that of CrowdSec's `PourItemToBucket` and `LeakRoutine`
//! (pkg/leakybucket): a bucket that has ended makes room for a new one, an event with a known
//! distinct value is left out, the event is counted, and conditions are asked.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::blackhole::Blackhole;
use super::bucket::Tokens;
use super::expression::Fields;
use super::observer::{CANCELS, FAILED, HAS_DISTINCT, TEXTS_BEFORE_FIELDS};
use super::scenario::{BucketKind, Scenario, Scope};
use super::subject::{Subject, subjects_of};
use super::summary::{Place, Summary, alert_bytes};
use crate::event::Event;
use crate::interner::Interner;
use crate::report::{Alert, Ban, Decision, RuleReport};
use crate::rule::Replay;

/// How long after its end a bucket is kept at least, for lines that are out of order.
const SLACK_NS: i64 = 3_600 * 1_000_000_000;

/// How many events come between two searches for buckets that have ended, at least.
const SWEEP_EVENTS_MIN: usize = 1 << 16;

/// The memory of a distinct value of a bucket.
const SEEN_BYTES: usize = 8;

/// An event in a bucket.
#[derive(Debug)]
struct Held {
    /// The number of the subject.
    subject: u32,
    /// The memory that an alert about the subject will take, in bytes; 0 if it is that of the event
    /// before.
    alert_bytes: u32,
    place: Place,
    /// The values of [`Scenario::queue_fields`].
    values: Box<[Box<[u8]>]>,
}

/// A bucket with at least one event.
#[derive(Debug)]
struct Bucket {
    first_ns: i64,
    /// The last event that was counted; `None` before the first.
    last_ns: Option<i64>,
    tokens: Option<Tokens>,
    /// The events that were counted.
    total: u64,
    /// The numbers of the distinct values.
    seen: HashSet<u32, FixedState>,
    queue: VecDeque<Held>,
}

/// The replay of a scenario.
///
/// # Memory
///
/// 24 bytes for each event, about 200 for each key, and the texts of keys and distinct values. While a
/// bucket lives, 200 bytes for it, 8 for each distinct value, and 64 for each event that it keeps, with
/// the fields that its conditions name. It keeps at most one event more than its capacity or
/// `cache_size`; with a capacity of -1 and no `cache_size` it keeps all. An alert takes about 200 bytes
/// and its texts, and a ban 16 for each line that it lists, of which there are 100 at most. This memory
/// is counted as soon as the events are in a bucket, because one event may end many buckets.
#[derive(Debug)]
pub(super) struct ScenarioReplay<'r> {
    scenario: &'r Scenario,
    keys: Interner,
    subjects: Interner,
    distinct: Interner,
    buckets: HashMap<u32, Bucket, FixedState>,
    /// The ends of counters, with their keys.
    deadlines: BTreeSet<(i64, u32)>,
    blackhole: Blackhole,
    summary: Summary,
    /// When the ban of a subject ends.
    banned_until: HashMap<u32, i64, FixedState>,
    /// Events until the next search for buckets that have ended.
    until_sweep: usize,
    /// The memory of the events and distinct values in buckets.
    bucket_bytes: usize,
}

impl<'r> ScenarioReplay<'r> {
    pub(super) fn new(scenario: &'r Scenario) -> Self {
        Self {
            scenario,
            keys: Interner::default(),
            subjects: Interner::default(),
            distinct: Interner::default(),
            buckets: HashMap::default(),
            deadlines: BTreeSet::new(),
            blackhole: Blackhole::default(),
            summary: Summary::default(),
            banned_until: HashMap::default(),
            until_sweep: SWEEP_EVENTS_MIN,
            bucket_bytes: 0,
        }
    }

    /// Counts an event in its bucket.
    fn pour(&mut self, key: u32, event: Pour<'_>) {
        let scenario = self.scenario;
        let now_ns = event.place.time_ns;
        self.end_counters(now_ns);
        if scenario.kind == BucketKind::Trigger {
            let held = VecDeque::from([event.held(scenario)]);
            self.overflow(key, now_ns, &held, 1, &event.values);
            return;
        }
        let lifetime_ns = scenario.lifetime_ns();
        let has_ended = |bucket: &Bucket| {
            let is_counter = matches!(scenario.kind, BucketKind::Counter { .. });
            !is_counter
                && bucket.last_ns.is_some_and(|last| now_ns > last.saturating_add(lifetime_ns))
        };
        if self.buckets.get(&key).is_some_and(has_ended) {
            self.remove(key);
        }
        let bucket = self.buckets.entry(key).or_insert_with(|| {
            if let BucketKind::Counter { duration_ns } = scenario.kind {
                self.deadlines.insert((now_ns.saturating_add(duration_ns), key));
            }
            Bucket::new(scenario.kind, now_ns)
        });
        if let Some(value) = event.distinct {
            if !bucket.seen.insert(value) {
                return;
            }
            self.bucket_bytes += SEEN_BYTES;
        }
        if event.is_cancelling {
            self.remove(key);
            return;
        }
        bucket.total += 1;
        bucket.last_ns = Some(now_ns);
        let is_full = match (scenario.kind, &mut bucket.tokens) {
            (BucketKind::Leaky { capacity, leak_ns }, Some(tokens)) => {
                !tokens.take(capacity, leak_ns, now_ns)
            }
            _ => false,
        };
        if bucket.queue.len() >= scenario.queue_max {
            self.bucket_bytes -= bucket.drop_oldest();
        }
        let mut held = event.held(scenario);
        if bucket.queue.back().is_none_or(|last| last.subject != held.subject) {
            let bytes = alert_bytes(scenario, self.subjects.text(held.subject));
            held.alert_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        self.bucket_bytes += held.bytes();
        bucket.queue.push_back(held);
        let holds = |condition: &super::expression::Expression| {
            let fields = BucketFields { scenario, queue: &bucket.queue, values: &event.values };
            condition.holds(&fields).map_err(|failure| failure.message)
        };
        let is_over = is_full
            || match scenario.condition.as_ref().map(holds) {
                Some(Ok(holds)) => holds,
                Some(Err(message)) => {
                    self.summary.fail(message.as_bytes());
                    false
                }
                None => false,
            };
        if is_over && let Some(bucket) = self.remove(key) {
            self.overflow(key, now_ns, &bucket.queue, bucket.total, &event.values);
        }
    }

    fn remove(&mut self, key: u32) -> Option<Bucket> {
        let bucket = self.buckets.remove(&key)?;
        self.bucket_bytes -= bucket.bytes();
        if let BucketKind::Counter { duration_ns } = self.scenario.kind {
            self.deadlines.remove(&(bucket.first_ns.saturating_add(duration_ns), key));
        }
        Some(bucket)
    }

    /// Lets the counters overflow whose time has come.
    fn end_counters(&mut self, now_ns: i64) {
        while let Some((end_ns, key)) = self.deadlines.first().copied()
            && end_ns <= now_ns
        {
            let Some(bucket) = self.remove(key) else {
                self.deadlines.remove(&(end_ns, key));
                continue;
            };
            self.overflow(key, end_ns, &bucket.queue, bucket.total, &[]);
        }
    }

    /// Raises an alert for each subject of the events, unless it is muted.
    fn overflow(
        &mut self,
        key: u32,
        now_ns: i64,
        queue: &VecDeque<Held>,
        events: u64,
        values: &[Cow<'_, [u8]>],
    ) {
        let scenario = self.scenario;
        if let Some(filter) = &scenario.overflow_filter {
            match filter.holds(&BucketFields { scenario, queue, values }) {
                Ok(true) => {}
                Ok(false) => return,
                Err(failure) => self.summary.fail(failure.message.as_bytes()),
            }
        }
        if let Some(blackhole_ns) = scenario.blackhole_ns
            && !self.blackhole.admits(key, now_ns, blackhole_ns)
        {
            return;
        }
        let Some(last) = queue.back() else { return };
        let subjects = subjects_of(queue.iter().map(|held| (held.subject, held.place)));
        let is_address = |subject: &Subject| {
            let text = std::str::from_utf8(self.subjects.text(subject.number)).ok();
            text.is_some_and(|text| text.parse::<IpAddr>().is_ok())
        };
        if matches!(scenario.scope, Scope::Address) && !subjects.iter().all(is_address) {
            self.summary.without_address += 1;
            return;
        }
        let place = Place { time_ns: now_ns, ..last.place };
        self.summary.trip(key, place);
        for subject in subjects {
            let text = self.subjects.text(subject.number).to_vec();
            self.summary.raise(Alert {
                scenario: scenario.name.clone(),
                subject: text.clone(),
                time_ns: now_ns,
                events,
                source: place.source,
                line: place.line,
            });
            let Some(ban_ns) = scenario.ban_ns else { continue };
            let until_ns = now_ns.saturating_add(ban_ns);
            let before = self.banned_until.insert(subject.number, until_ns);
            self.summary.ban(Ban {
                key: text,
                time_ns: now_ns,
                until_ns: Some(until_ns),
                source: place.source,
                line: place.line,
                matches: subject.lines.into(),
                already_banned: before.is_some_and(|before| before > now_ns),
            });
        }
    }

    /// Removes buckets that have ended, so that the memory is that of the living ones.
    fn sweep(&mut self, now_ns: i64) {
        if matches!(self.scenario.kind, BucketKind::Counter { .. }) {
            return;
        }
        let lifetime_ns = self.scenario.lifetime_ns().saturating_add(SLACK_NS);
        let lives = |bucket: &Bucket| {
            let last_ns = bucket.last_ns.unwrap_or(bucket.first_ns);
            now_ns <= last_ns.saturating_add(lifetime_ns)
        };
        let mut ended_bytes = 0;
        self.buckets.retain(|_, bucket| {
            let is_kept = lives(bucket);
            ended_bytes += if is_kept { 0 } else { bucket.bytes() };
            is_kept
        });
        self.bucket_bytes -= ended_bytes;
        self.until_sweep = SWEEP_EVENTS_MIN.max(self.buckets.len() * 2);
    }
}

impl Replay for ScenarioReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let mut texts = event.texts;
        if event.tag == FAILED {
            self.summary.fail(texts.next().unwrap_or_default());
            return;
        }
        let Some(time_ns) = event.time_ns else {
            self.summary.untimed += 1;
            return;
        };
        let mut next = || texts.next().unwrap_or_default();
        let (key_text, subject_text, distinct_text) = (next(), next(), next());
        let numbers = (self.keys.number(key_text), self.subjects.number(subject_text));
        let (Some(key), Some(subject)) = numbers else {
            self.summary.untimed += 1;
            return;
        };
        let has_distinct = event.tag & HAS_DISTINCT != 0;
        let distinct = if has_distinct { self.distinct.number(distinct_text) } else { None };
        let place = Place { time_ns, source, line };
        let is_banned = self.banned_until.get(&subject).is_some_and(|until| time_ns < *until);
        self.summary.count(self.scenario.kind, key, place, is_banned);
        let pour = Pour {
            subject,
            place,
            distinct,
            is_cancelling: event.tag & CANCELS != 0,
            values: texts.map(Cow::Borrowed).collect(),
        };
        self.pour(key, pour);
        self.until_sweep -= 1;
        if self.until_sweep == 0 {
            self.sweep(time_ns);
            self.until_sweep = self.until_sweep.max(SWEEP_EVENTS_MIN);
        }
    }

    fn memory_bytes(&self) -> usize {
        let interners = [&self.keys, &self.subjects, &self.distinct];
        interners.iter().map(|interner| interner.memory_bytes()).sum::<usize>()
            + self.buckets.capacity() * (size_of::<Bucket>() + 64)
            + self.bucket_bytes
            + self.summary.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let Self { scenario, keys, deadlines, summary, .. } = *self;
        summary.finish(scenario, &keys, deadlines.len(), decide)
    }
}

impl Bucket {
    fn new(kind: BucketKind, now_ns: i64) -> Self {
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
            seen: HashSet::default(),
            queue: VecDeque::new(),
        }
    }

    /// Removes the oldest event. Returns the memory that it took.
    fn drop_oldest(&mut self) -> usize {
        let Some(mut oldest) = self.queue.pop_front() else { return 0 };
        if let Some(next) = self.queue.front_mut().filter(|next| next.subject == oldest.subject) {
            next.alert_bytes = std::mem::take(&mut oldest.alert_bytes);
        }
        oldest.bytes()
    }

    /// The memory of its events and distinct values.
    fn bytes(&self) -> usize {
        self.queue.iter().map(Held::bytes).sum::<usize>() + self.seen.len() * SEEN_BYTES
    }
}

impl Held {
    fn bytes(&self) -> usize {
        let values = self.values.iter().map(|value| size_of::<Box<[u8]>>() + value.len());
        let line_of_ban = size_of::<(u32, u64)>();
        size_of::<Self>() + line_of_ban + self.alert_bytes as usize + values.sum::<usize>()
    }
}

/// An event on its way into a bucket.
struct Pour<'e> {
    subject: u32,
    place: Place,
    distinct: Option<u32>,
    is_cancelling: bool,
    values: Vec<Cow<'e, [u8]>>,
}

impl Pour<'_> {
    fn held(&self, scenario: &Scenario) -> Held {
        debug_assert!(self.values.len() <= scenario.queue_fields.len() + TEXTS_BEFORE_FIELDS);
        let values = self.values.iter().map(|value| Box::from(&value[..])).collect();
        Held { subject: self.subject, alert_bytes: 0, place: self.place, values }
    }
}

/// The events of a bucket, and the last one, as expressions see them.
struct BucketFields<'b> {
    scenario: &'b Scenario,
    queue: &'b VecDeque<Held>,
    values: &'b [Cow<'b, [u8]>],
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
        let held = self.queue.get(event);
        let value =
            self.position(field).zip(held).and_then(|(position, held)| held.values.get(position));
        value.map_or(b"", |value| value)
    }
}
