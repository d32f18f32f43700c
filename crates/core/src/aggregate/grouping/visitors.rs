//! The visitors of each group, and their visits.
//!
//! They are those that [`crate::Visitors`] would count if the records of the group were all: a visit
//! of a group ends when its visitor makes no request of that group for half an hour.

use super::distinct::{DistinctEntries, Entry};
use crate::aggregate::visitors::{HalfHour, column_ids, moments, visitor_key, visitors_of_days};
use crate::column::{ABSENT, REMAINDER, Segment, Selection};
use crate::field::Field;
use crate::value::Zone;

/// The visitors of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupVisitors {
    /// The sum over all days of the distinct visitors.
    pub visitors: u64,
    /// The visits that began on any day.
    pub visits: u64,
}

/// The half hours in which visitors were seen, by group.
#[derive(Debug, Clone)]
pub(super) struct VisitorTable {
    seen: DistinctEntries<GroupedHalfHour>,
    /// Whether a record could not be attributed to a visitor, because no memory was left for its
    /// client or agent.
    has_unattributed: bool,
}

#[derive(Debug, Clone, Copy)]
struct GroupedHalfHour {
    group: u32,
    half_hour: HalfHour,
}

impl Entry for GroupedHalfHour {
    type Place = (u32, u64, u32);

    fn place(&self) -> Self::Place {
        let (visitor, half_hour) = self.half_hour.place();
        (self.group, visitor, half_hour)
    }

    fn group(&self) -> u32 {
        self.group
    }

    fn set_group(&mut self, group: u32) {
        self.group = group;
    }

    /// One visitor is kept with all half hours or not at all.
    fn hash(&self) -> u64 {
        self.half_hour.key
    }

    fn join(&mut self, other: &Self) {
        self.half_hour.widen(other.half_hour);
    }
}

impl VisitorTable {
    /// Returns an empty table that keeps at most this number of half hours of visitors, in all groups
    /// together, at 24 bytes each.
    pub(super) fn new(half_hours_max: usize) -> Self {
        Self { seen: DistinctEntries::new(half_hours_max), has_unattributed: false }
    }

    /// Adds the visitors of selected rows, with their groups. Records without a client or a time have
    /// none.
    pub(super) fn add(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        groups: &[u32],
        zone: Option<&Zone>,
    ) {
        let [clients, agents] = [Field::Client, Field::UserAgent]
            .map(|field| column_ids(segment, field.column(), selection));
        let moments = moments(segment, selection, zone);
        let mut has_unattributed = false;
        let rows = groups.iter().zip(clients).zip(agents).zip(moments);
        self.seen.add(rows.filter_map(|(((group, client), agent), moment)| {
            let moment = moment?;
            if client == REMAINDER || agent == REMAINDER {
                has_unattributed = true;
                return None;
            }
            let half_hour = || HalfHour::new(visitor_key(client, agent), Some(moment));
            (client != ABSENT).then(|| GroupedHalfHour { group: *group, half_hour: half_hour() })
        }));
        self.has_unattributed |= has_unattributed;
    }

    pub(super) fn waits(&self) -> bool {
        self.seen.waits()
    }

    pub(super) fn arrange(&mut self) {
        self.seen.arrange();
    }

    pub(super) fn merge(&mut self, other: &Self, new_number: impl Fn(u32) -> u32) {
        self.seen.merge(&other.seen, new_number);
        self.has_unattributed |= other.has_unattributed;
    }

    /// The visitors of each group, by group.
    pub(super) fn counts(&self) -> Vec<GroupVisitors> {
        let (seen, level) = self.seen.sample();
        let groups = seen.last().map_or(0, |last| last.group as usize + 1);
        let mut counts = vec![GroupVisitors::default(); groups];
        let mut half_hours: Vec<HalfHour> = Vec::new();
        for group in seen.chunk_by(|one, next| one.group == next.group) {
            half_hours.clear();
            half_hours.extend(group.iter().map(|seen| seen.half_hour));
            let (visitors, visits) = visitors_of_days(&mut half_hours, level);
            counts[group[0].group as usize] =
                GroupVisitors { visitors: visitors.value, visits: visits.value };
        }
        counts
    }

    /// Returns whether the numbers are estimated from a sample.
    pub(super) fn is_estimated(&self) -> bool {
        self.seen.is_estimated()
    }

    /// Returns whether the numbers lack records whose client or agent is not known.
    pub(super) fn has_unattributed(&self) -> bool {
        self.has_unattributed
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.seen.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupedHalfHour, VisitorTable};
    use crate::aggregate::visitors::{HalfHour, Moment, visitor_key};

    fn seen(group: u32, visitor: u32, unix_s: i64) -> GroupedHalfHour {
        let moment = Moment { unix_s, day: unix_s.div_euclid(86_400) };
        let half_hour = HalfHour::new(visitor_key(2 + visitor / 7, visitor % 7), Some(moment));
        GroupedHalfHour { group, half_hour }
    }

    #[test]
    fn too_many_visitors_are_estimated_with_all_their_days() {
        let mut table = VisitorTable::new(50_000);
        for day in -1..3 {
            table.seen.add((0..50_000).map(|visitor| seen(9, visitor, day * 86_400)));
        }
        table.arrange();
        assert!(table.is_estimated());
        let (kept, level) = table.seen.sample();
        assert!(kept.len() <= 50_000 && level > 1);
        let visitors = kept.chunk_by(|one, next| one.half_hour.key == next.half_hour.key);
        assert!(visitors.into_iter().all(|days| days.len() == 4));
        let counts = table.counts();
        assert!(counts[..9].iter().all(|count| count.visitors == 0));
        let estimate = counts[9];
        assert_eq!(estimate.visitors, estimate.visits);
        assert!((estimate.visitors as f64 / 200_000.0 - 1.0).abs() < 0.05, "{estimate:?}");
        let mut moved = VisitorTable::new(50_000);
        moved.merge(&table, |group| group - 7);
        assert_eq!((moved.counts()[2], moved.counts().len()), (estimate, 3));
    }

    #[test]
    fn a_visit_lasts_while_no_pause_is_half_an_hour() {
        let mut table = VisitorTable::new(50_000);
        // Of group 3, every twenty minutes; of group 4, every hour; in no order.
        for minute in [80, 0, 60, 20, 100, 40] {
            table.seen.add([seen(3, 1, minute * 60), seen(4, 1, minute * 180)].into_iter());
        }
        table.arrange();
        let counts = table.counts();
        assert_eq!((counts[3].visitors, counts[3].visits), (1, 1));
        assert_eq!((counts[4].visitors, counts[4].visits), (1, 6));
    }
}
