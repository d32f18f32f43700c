//! Visitors and visits.
//!
//! A visitor of a day is a client with an agent: two requests of one address with the same
//! `User-Agent` on the same date are of one visitor. It is the definition of GoAccess. A visit ends
//! when the visitor makes no request for 30 minutes.

mod counter;
mod counts;
mod days;
mod entries;

use std::collections::BTreeMap;

pub(super) use counter::{HalfHour, visitor_key};
pub use counter::{Moment, VisitorCounter};
pub(super) use counts::visitors_of_days;
pub use counts::{CountedVisitors, DayVisitors, VisitorCounts};

use super::fold::Fold;
use super::visit::gather;
use crate::column::{ABSENT, Codes, REMAINDER, Segment, Selection, Times};
use crate::field::Field;
use crate::filter::{CompiledFilter, Filter};
use crate::schema::{ColumnId, RecordKind};
use crate::value::Zone;
use crate::values::Values;
use days::DayFinder;

/// Counts the visitors of the requests that pass a filter, by the days of a zone.
///
/// A record without a client is not counted. One whose client or agent has no id, because the
/// memory for distinct values was used up, cannot be attributed: it widens the errors of the
/// counts.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Filter, Fold, Format, Values, Visitors, Zone,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr [$time_iso8601] \"$http_user_agent\"")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 [2025-12-17T23:50:00+00:00] \"curl\"\n\
///              ::1 [2025-12-17T23:50:00+00:00] \"Firefox\"\n\
///              ::1 [2025-12-18T00:10:00+00:00] \"curl\"\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let mut visitors = Visitors::new(Filter::default(), Some(Zone::utc()));
/// visitors.refresh(&values);
/// visitors.update(&segment);
/// let counts = visitors.counts();
/// let by_day: Vec<u64> = counts.days.iter().map(|day| day.visitors.value).collect();
/// assert_eq!(by_day, [2, 1]);
/// assert_eq!((counts.visitors.value, counts.distinct.value, counts.visits.value), (3, 2, 2));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Visitors {
    filter: CompiledFilter,
    zone: Option<Zone>,
    counter: VisitorCounter,
    /// The requests of clients or agents without an id, by local date. `None` without a time.
    unattributed: BTreeMap<Option<i64>, u64>,
}

impl Visitors {
    /// Returns a count of no requests. Without a zone, days are those of the first record's.
    pub fn new(filter: Filter, zone: Option<Zone>) -> Self {
        let filter = Filter { kind: Some(RecordKind::Request), ..filter };
        Self {
            filter: CompiledFilter::new(&filter),
            zone,
            counter: VisitorCounter::default(),
            unattributed: BTreeMap::new(),
        }
    }

    /// Returns the counts. Sorts what was counted.
    pub fn counts(&self) -> VisitorCounts {
        self.counter.counts().with_unattributed(&self.unattributed)
    }

    /// Returns the counts of the visitors whose agents, which are ids, are chosen. The requests that cannot
    /// be attributed may be theirs.
    pub fn counts_of_agents(&self, is_chosen: impl FnMut(u32) -> bool) -> VisitorCounts {
        self.counter.counts_of_agents(is_chosen).with_unattributed(&self.unattributed)
    }

    fn add(&mut self, client: u32, agent: u32, moment: Option<Moment>) {
        if client == REMAINDER || agent == REMAINDER {
            *self.unattributed.entry(moment.map(|moment| moment.day)).or_default() += 1;
        } else if client != ABSENT {
            self.counter.add(client, agent, moment);
        }
    }
}

impl Fold for Visitors {
    fn refresh(&mut self, values: &Values) {
        self.filter.refresh(values);
        if self.zone.is_none() {
            self.zone = values.first_offset_s().map(Zone::fixed);
        }
    }

    fn update(&mut self, segment: &Segment) {
        let selection = self.filter.select(segment);
        if selection.is_empty() || segment.text(Field::Client.column()).is_none() {
            return;
        }
        let clients = column_ids(segment, Field::Client.column(), &selection);
        let agents = column_ids(segment, Field::UserAgent.column(), &selection);
        let moments = moments(segment, &selection, self.zone.as_ref());
        for ((client, agent), moment) in clients.into_iter().zip(agents).zip(moments) {
            self.add(client, agent, moment);
        }
    }

    fn merge(&mut self, other: &Self) {
        if self.zone.is_none() {
            self.zone.clone_from(&other.zone);
        }
        self.counter.merge(&other.counter);
        for (day, requests) in &other.unattributed {
            *self.unattributed.entry(*day).or_default() += requests;
        }
    }
}

/// The id of every selected row.
pub(super) fn column_ids(segment: &Segment, column: ColumnId, selection: &Selection) -> Vec<u32> {
    let absent = Codes::Constant { code: u64::from(ABSENT), rows: segment.rows() };
    let mut ids = Vec::new();
    gather(segment.text(column).unwrap_or(&absent), selection, &mut ids, |id| id as u32);
    ids
}

/// The time of every selected row.
pub(super) fn moments(
    segment: &Segment,
    selection: &Selection,
    zone: Option<&Zone>,
) -> Vec<Option<Moment>> {
    let (Some(times), Some(zone)) = (segment.times(), zone) else {
        return vec![None; selection.len()];
    };
    let mut moments = Vec::with_capacity(selection.len());
    let mut days = DayFinder::new(zone);
    times.instants().for_each(selection, |instant| {
        moments.push(instant.map(|instant| {
            let unix_s = Times::decode_instant(instant).div_euclid(1_000_000_000);
            Moment { unix_s, day: days.day(unix_s) }
        }));
    });
    moments
}
