//! Replays the events of a log through the buckets of a scenario.
//!
//! The order of the steps is that of CrowdSec's `PourItemToBucket` and `LeakRoutine`
//! (pkg/leakybucket): an expired bucket is replaced, an event with a known distinct value is
//! skipped, the event is counted, and the conditions are evaluated.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::blackhole::Blackhole;
use super::filled_bucket::{Bucket, BucketFields, BufferedEvent, DISTINCT_VALUE_BYTES, Pour};
use super::observer::{CANCELS, FAILED, HAS_DISTINCT};
use super::scenario::{BucketKind, Scenario, Scope};
use super::subject::{Subject, subjects_of};
use super::summary::{Place, Summary, alert_bytes};
use crate::event::Event;
use crate::keys::Interner;
use crate::report::{Alert, Ban, Decision, RuleReport};
use crate::rule::Replay;

/// The least time for which an expired bucket is kept, because lines may be out of order.
const SLACK_NS: i64 = 3_600 * 1_000_000_000;

/// The least number of events between two sweeps of expired buckets.
const SWEEP_EVENTS_MIN: usize = 1 << 16;

/// The replay of a scenario.
///
/// # Memory
///
/// Each event takes 24 bytes and each key about 200, plus the texts of keys and distinct values. A
/// live bucket takes 200 bytes, 8 for each distinct value, and 64 for each event that it keeps,
/// plus the fields that its conditions use. It keeps at most one event more than its capacity or
/// `cache_size`; with a capacity of -1 and no `cache_size` it keeps all. An alert takes about 200
/// bytes and its texts, and a ban 16 bytes for each line that it lists, at most 100 lines. The
/// memory of alerts and bans is counted as soon as their events are in a bucket, because one event
/// may end many buckets.
#[derive(Debug)]
pub(super) struct ScenarioReplay<'r> {
    scenario: &'r Scenario,
    keys: Interner,
    subjects: Interner,
    distinct: Interner,
    buckets: HashMap<u32, Bucket, FixedState>,
    /// The deadlines of counters, with their keys.
    deadlines: BTreeSet<(i64, u32)>,
    blackhole: Blackhole,
    summary: Summary,
    /// When the ban of a subject ends.
    banned_until: HashMap<u32, i64, FixedState>,
    /// The number of events until the next sweep of expired buckets.
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

    /// Pours an event into its bucket.
    fn pour(&mut self, key: u32, event: Pour<'_>) {
        let scenario = self.scenario;
        let now_ns = event.place.time_ns;
        self.end_counters(now_ns);
        if scenario.kind == BucketKind::Trigger {
            let buffered = VecDeque::from([event.buffered(scenario)]);
            self.overflow(key, now_ns, &buffered, 1, &event.values);
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
            if !bucket.distinct_values.insert(value) {
                return;
            }
            self.bucket_bytes += DISTINCT_VALUE_BYTES;
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
        let mut buffered = event.buffered(scenario);
        if bucket.queue.back().is_none_or(|last| last.subject != buffered.subject) {
            let bytes = alert_bytes(scenario, self.subjects.text(buffered.subject));
            buffered.alert_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        self.bucket_bytes += buffered.bytes();
        bucket.queue.push_back(buffered);
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

    /// Overflows the counters whose deadline has passed.
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
        queue: &VecDeque<BufferedEvent>,
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
        let subjects = subjects_of(queue.iter().map(|buffered| (buffered.subject, buffered.place)));
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

    /// Removes expired buckets to free their memory.
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
