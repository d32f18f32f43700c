//! Counts the requests of a block, beside other blocks.

use std::ops::Deref;

use weir_core::{
    ABSENT, ColumnId, PendingSegment, REMAINDER, RecordKind, RequestCounter, RequestCounts,
    RowGroups, Segment, Selection, Values,
};

use super::request_totals::{OTHERS, RequestTotals, RequestsBy, UNNAMED};

/// Counts the requests of blocks on one thread.
#[derive(Debug, Default)]
pub(super) struct RequestTally {
    counter: RequestCounter,
    /// The group of each value of the field, by its id, once a request had it.
    groups: Vec<u8>,
    /// The [`Values::reuses`] for which they hold.
    reuses: u64,
}

/// In place of the group of a value that no request had.
const UNKNOWN: u8 = u8::MAX;

impl RequestTally {
    /// Returns the counts of the requests of a block, by group. Its values are not held while its
    /// rows are counted.
    pub(super) fn count(
        &mut self,
        totals: &RequestTotals,
        segments: &[PendingSegment],
        source: &str,
        values: impl Deref<Target = Values>,
    ) -> Vec<RequestCounts> {
        let segments: Vec<&Segment> = segments
            .iter()
            .map(PendingSegment::segment)
            .filter(|segment| segment.kind() == RecordKind::Request)
            .collect();
        self.counter.refresh(&values);
        let (mut column, mut whole) = (None, UNNAMED);
        match totals.by() {
            None => {}
            Some(RequestsBy::Source) => whole = totals.group_of(source.as_bytes()),
            Some(RequestsBy::Field(name)) => column = values.schema().text_column_by_name(name),
        }
        if let Some(column) = column {
            self.find_groups(totals, &segments, column, &values);
        }
        drop(values);
        let mut counts = vec![RequestCounts::default(); totals.groups_len()];
        for segment in segments {
            let groups = match column.and_then(|column| segment.text(column)) {
                Some(codes) => RowGroups::ByValue { codes, groups: &self.groups },
                None => RowGroups::All(whole),
            };
            self.counter.count(segment, groups, &mut counts);
        }
        counts
    }

    /// Finds the group of each value that the segments have in a column.
    fn find_groups(
        &mut self,
        totals: &RequestTotals,
        segments: &[&Segment],
        column: ColumnId,
        values: &Values,
    ) {
        if self.reuses != values.reuses() {
            self.groups.clear();
            self.reuses = values.reuses();
        }
        let dictionary = values.dictionary(column);
        self.groups.resize(dictionary.ids(), UNKNOWN);
        self.groups[ABSENT as usize] = UNNAMED;
        self.groups[REMAINDER as usize] = OTHERS;
        let groups = &mut self.groups;
        for codes in segments.iter().filter_map(|segment| segment.text(column)) {
            codes.for_each(&Selection::All(codes.rows()), |id| {
                if let Some(group) = groups.get_mut(id as usize).filter(|it| **it == UNKNOWN) {
                    let value = dictionary.value(id as u32);
                    *group = value.map_or(OTHERS, |value| totals.group_of(value));
                }
            });
        }
    }
}
