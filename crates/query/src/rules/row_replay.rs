//! Passes the rows of a snapshot to the replay of a rule.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_core::{
    CompiledFilter, Record, RowReader, Segment, Selection, SnapshotSegment, Snapshots, Values,
};
use weir_rules::{Events, Line, LogCounts, MissingField, Replay, Rule};

use super::RuleOptions;
use crate::question::QueryError;
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered};

/// The number of segments that are observed before their events are replayed: at first, and at most.
const SEGMENTS_AT_FIRST: usize = 4;
const SEGMENTS_AT_ONCE: usize = 64;

/// The time that a chunk of segments should take, because parsers wait for it.
const CHUNK_TIME: Duration = Duration::from_millis(50);

/// The replays over one snapshot.
pub(super) struct RowReplay<'a, D: Snapshots> {
    pub(super) work: &'a SnapshotWork<'a, D>,
    pub(super) filter: CompiledFilter,
    pub(super) log: LogCounts,
    pub(super) options: &'a RuleOptions,
}

/// The rows that a rule looks at, and their reader.
struct SeenRows<'a> {
    segments: Vec<&'a SnapshotSegment>,
    rows: RowReader,
}

/// A replay that has taken its rows.
pub(super) struct RowsReplayed<'r> {
    pub(super) replay: Box<dyn Replay + 'r>,
    /// The number of records that were left out.
    pub(super) unknown_records: u64,
    /// The parts of the rule that the records cannot decide.
    pub(super) left_out: Vec<String>,
}

pub(super) type ReplayResult<T> = Result<T, Unanswered<QueryError>>;

impl<D: Snapshots> RowReplay<'_, D> {
    /// Returns the rows that a rule looks at.
    fn seen_rows(&self, rule: &dyn Rule) -> Result<SeenRows<'_>, MissingField> {
        let SnapshotWork { data, snapshot, .. } = self.work;
        let is_seen = |segment: &&SnapshotSegment| rule.sees(segment.segment.kind());
        let segments: Vec<&SnapshotSegment> = snapshot.segments.iter().filter(is_seen).collect();
        let kind = segments.first().map(|first| first.segment.kind()).unwrap_or_default();
        let rows = RowReader::new(&snapshot.formats, &data.values(), kind);
        let rows = match rule.reads() {
            Some(fields) => rows.only(&fields),
            None => rows,
        };
        if !segments.is_empty() {
            rule.bind(rows.fields())?;
        }
        Ok(SeenRows { segments, rows })
    }

    /// Replays a rule that looks at records.
    pub(super) fn over_rows<'r>(
        &self,
        rule: &'r dyn Rule,
    ) -> ReplayResult<Result<RowsReplayed<'r>, MissingField>> {
        let SeenRows { segments, rows } = match self.seen_rows(rule) {
            Ok(seen) => seen,
            Err(missing) => return Ok(Err(missing)),
        };
        let mut replay = rule.replay();
        let mut unknown_records = 0;
        let takes_rows = replay.bind_rows(&rows);
        let mut pace = ChunkPace::default();
        let mut rest = &segments[..];
        while !rest.is_empty() {
            let (chunk, others) = rest.split_at(pace.segments().min(rest.len()));
            unknown_records += match takes_rows {
                true => self.take_rows(chunk, &mut *replay)?,
                false => self.observe((rule, &rows), chunk, &mut *replay)?,
            };
            pace.end_chunk();
            rest = others;
        }
        // Patterns match nothing once the work is stopped, so what was found then is wrong.
        self.work.check_wanted()?;
        let left_out =
            if segments.is_empty() { Vec::new() } else { rule.left_out_of(rows.fields()) };
        Ok(Ok(RowsReplayed { replay, unknown_records, left_out }))
    }

    /// Passes the selected rows of some segments to the replay. Returns the number of rows with
    /// unknown values.
    fn take_rows(
        &self,
        segments: &[&SnapshotSegment],
        replay: &mut dyn Replay,
    ) -> Result<u64, Interruption> {
        let filter = &self.filter;
        let select =
            |it: &&SnapshotSegment| filter.pass_within(&it.segment, &it.bounds).selection();
        let selections = self.work.spread(segments.iter(), select)?;
        self.work.with_values(|values| {
            let mut unknown = 0;
            for (it, rows) in segments.iter().zip(&selections) {
                self.work.check_wanted()?;
                unknown += replay.take_rows(&it.segment, rows, values);
            }
            Ok(unknown)
        })?
    }

    /// Observes the selected rows of some segments, and passes the events to the replay. Returns
    /// the number of rows with unknown values.
    fn observe(
        &self,
        (rule, rows): (&dyn Rule, &RowReader),
        segments: &[&SnapshotSegment],
        replay: &mut dyn Replay,
    ) -> Result<u64, Interruption> {
        // The lock on the values is released between chunks, because parsers wait for it.
        let (filter, abandoned) = (&self.filter, self.work.abandoned);
        let observed = self.work.with_values(|values| {
            let observe = |segment: &&SnapshotSegment| {
                let selection = filter.pass_within(&segment.segment, &segment.bounds).selection();
                observe(rule, (rows, values), &segment.segment, &selection, abandoned)
            };
            self.work.spread(segments.iter(), observe)
        })??;
        let mut unknown_records = 0;
        for (segment, ObservedRows { events, unknown }) in segments.iter().zip(observed) {
            unknown_records += unknown;
            for event in events.iter() {
                replay.take(segment.segment.source(), event.line, &event);
            }
        }
        Ok(unknown_records)
    }
}

/// Chooses how many segments make a chunk.
struct ChunkPace {
    segments: usize,
    begun: Instant,
}

impl Default for ChunkPace {
    fn default() -> Self {
        Self { segments: SEGMENTS_AT_FIRST, begun: Instant::now() }
    }
}

impl ChunkPace {
    /// The number of segments of the next chunk.
    fn segments(&mut self) -> usize {
        self.begun = Instant::now();
        self.segments
    }

    /// Makes the next chunk longer or shorter by the time of this one.
    fn end_chunk(&mut self) {
        self.segments = match self.begun.elapsed() {
            took if took < CHUNK_TIME / 2 => (2 * self.segments).min(SEGMENTS_AT_ONCE),
            took if took > CHUNK_TIME => (self.segments / 2).max(1),
            _ => self.segments,
        };
    }
}

/// What was observed of some rows of a segment.
struct ObservedRows {
    events: Events,
    /// The number of rows with unknown values.
    unknown: u64,
}

/// Observes some rows of a segment.
fn observe(
    rule: &dyn Rule,
    (rows, values): (&RowReader, &Values),
    segment: &Segment,
    selection: &Selection,
    abandoned: &AtomicBool,
) -> ObservedRows {
    let mut observed = ObservedRows { events: Events::default(), unknown: 0 };
    let Ok(mut observer) = rule.bind(rows.fields()) else { return observed };
    let mut record = Record::new();
    selection.for_each(|row| {
        // A rule with thousands of patterns takes milliseconds for a record.
        if abandoned.load(Ordering::Relaxed) {
            return;
        }
        if !rows.read(segment, row, values, &mut record) {
            observed.unknown += 1;
            return;
        }
        let (number, record) = (segment.line_offset(row), Some(&record));
        observer.observe(&Line { number, bytes: b"", record }, &mut observed.events);
    });
    observed
}
