//! Adds the rows of segments.

use super::early::split_range_s;
use super::{Histogram, SECOND_NS};
use crate::column::{Segment, Selection, Times};

impl Histogram {
    /// Adds the selected rows of a segment. `groups` has the group of each selected row, in row
    /// order.
    pub(in crate::aggregate) fn update(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        groups: &[u8],
    ) {
        let Some(times) = segment.times() else { return };
        let part = match split_range_s(times.range_ns()) {
            (Some(_), Some(_)) => return self.count_both(times, selection, groups),
            (Some(_), None) => self.early_part(),
            (None, _) => self,
        };
        if !part.count_in_one_bucket(times, groups) {
            part.count(times, selection, groups);
        }
    }

    /// Counts the rows if all of them fall into one bucket, as in most short segments. Returns
    /// false and counts nothing if they may not.
    fn count_in_one_bucket(&mut self, times: &Times, groups: &[u8]) -> bool {
        let (first_ns, last_ns) = times.range_ns();
        let unix_s = first_ns.div_euclid(SECOND_NS);
        let is_inside = |own: &Self| {
            let (from_ns, until_ns) = own.bounds_ns(unix_s, own.bucket(unix_s, own.grain()));
            from_ns <= first_ns && last_ns < until_ns
        };
        if groups.is_empty() || !is_inside(self) || times.has_absent() {
            return false;
        }
        self.cover(unix_s, unix_s);
        self.add_run(self.row(self.bucket(unix_s, self.grain())), groups);
        true
    }

    fn count(&mut self, times: &Times, selection: &Selection, groups: &[u8]) {
        let instants = times.instants();
        // Neighbouring records often fall into the same bucket. So the codes of its times are kept,
        // and the rows of a run are counted together, without an addition to memory for each.
        let (mut first, mut until, mut row) = (0, 0, 0);
        let (mut start, mut end) = (0, 0);
        instants.codes().for_each(selection, |code| {
            if !(first..until).contains(&code) {
                self.add_run(row, groups.get(start..end).unwrap_or_default());
                start = end;
                match instants.decode(code) {
                    Some(number) => {
                        let unix_s = Times::decode_instant(number).div_euclid(SECOND_NS);
                        // If a clock is set back across the border of a bucket, a time within the
                        // range can have a local time outside it.
                        self.cover(unix_s, unix_s);
                        let bucket = self.bucket(unix_s, self.grain());
                        row = self.row(bucket);
                        let (from_ns, until_ns) = self.bounds_ns(unix_s, bucket);
                        let [from, last] = [from_ns, until_ns - 1].map(Times::encode_instant);
                        (first, until) = match instants.code_range(from, last) {
                            Some((first, last)) => (first, last.saturating_add(1)),
                            None => (0, 0),
                        };
                    }
                    // A record without a time is in no bucket.
                    None => start += 1,
                }
            }
            end += 1;
        });
        self.add_run(row, groups.get(start..end).unwrap_or_default());
    }

    /// Counts records that fall into one bucket, by their groups. `row` is the place of the bucket
    /// in `counts`.
    fn add_run(&mut self, row: usize, groups: &[u8]) {
        /// Fewer are added one by one: the lanes have to be cleared and added up.
        const LANES_MIN: usize = 512;
        let Some(counts) = self.counts.get_mut(row..row + self.groups) else { return };
        if groups.len() < LANES_MIN {
            groups.iter().for_each(|group| counts[usize::from(*group)] += 1);
            return;
        }
        // Neighbours often have the same group: see `count_in_lanes` in `packed_tally`.
        let mut lanes = [[0u32; 256]; 4];
        let (fours, rest) = groups.as_chunks::<4>();
        for four in fours {
            for (lane, group) in lanes.iter_mut().zip(four) {
                lane[usize::from(*group)] += 1;
            }
        }
        rest.iter().for_each(|group| lanes[0][usize::from(*group)] += 1);
        for lane in lanes {
            counts.iter_mut().zip(lane).for_each(|(sum, count)| *sum += u64::from(count));
        }
    }
}
