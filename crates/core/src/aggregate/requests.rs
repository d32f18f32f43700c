//! Counts of requests for a monitoring system.
//!
//! A monitoring system collects numbers that only grow, and computes rates from them. So these
//! counts have few dimensions, each of them bounded, and no record is ever taken out of them.

use super::status::StatusClasses;
use super::visit::{gather, status_classes};
use crate::column::{Codes, Segment, Selection};
use crate::field::Field;
use crate::value::STATUS_CLASSES;
use crate::values::{DecidedIds, Values};

/// The methods that are counted apart: those of RFC 9110 and RFC 5789. Clients may send any word, so
/// the first name stands for every other one, and for a request without a method.
pub const REQUEST_METHODS: [&str; 10] =
    ["other", "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

/// The upper bounds of the buckets of durations, in nanoseconds, each included. A last bucket has no
/// bound. They are fixed, so that histograms can be added up.
pub const DURATION_BOUNDS_NS: [u64; 14] = [
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Counts of requests by method and class of the status, their bytes and their durations. They never
/// overflow.
///
/// A fixed size, about 600 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// By the index of the method and that of the class.
    requests: [[u64; STATUS_CLASSES.len()]; REQUEST_METHODS.len()],
    bytes: u128,
    /// By bucket, not cumulative.
    durations: [u64; DURATION_BOUNDS_NS.len() + 1],
    duration_ns: u128,
}

impl RequestCounts {
    /// Returns the number of requests of each of [`STATUS_CLASSES`], for each of
    /// [`REQUEST_METHODS`].
    pub fn requests(&self) -> &[[u64; STATUS_CLASSES.len()]; REQUEST_METHODS.len()] {
        &self.requests
    }

    /// Returns the sum of the response sizes, in bytes; 2^64 - 1 if it is larger.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.bytes).unwrap_or(u64::MAX)
    }

    /// Returns the number of requests in each bucket of [`DURATION_BOUNDS_NS`], not cumulative, and
    /// in the one without a bound. A request without a duration is in none.
    pub fn durations(&self) -> &[u64; DURATION_BOUNDS_NS.len() + 1] {
        &self.durations
    }

    /// Returns the sum of the durations, in nanoseconds.
    pub fn duration_ns(&self) -> u128 {
        self.duration_ns
    }

    /// Adds the counts of other requests.
    pub fn merge(&mut self, other: &Self) {
        let cells = self.requests.as_flattened_mut().iter_mut();
        for (sum, count) in cells.zip(other.requests.as_flattened()) {
            *sum += count;
        }
        for (sum, count) in self.durations.iter_mut().zip(&other.durations) {
            *sum += count;
        }
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.duration_ns = self.duration_ns.saturating_add(other.duration_ns);
    }

    /// Adds the duration of a request.
    #[inline]
    fn add_duration(&mut self, ns: u64) {
        self.durations[DURATION_BOUNDS_NS.partition_point(|bound| *bound < ns)] += 1;
        self.duration_ns += u128::from(ns);
    }
}

/// The group in which each row of a segment counts.
#[derive(Debug, Clone, Copy)]
pub enum RowGroups<'a> {
    /// All rows in one.
    All(u8),
    /// By the value of a text column.
    ByValue {
        /// The column.
        codes: &'a Codes,
        /// The group of each id. An id without one is in group 0.
        groups: &'a [u8],
    },
}

/// Adds the requests of segments to counts.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Format, RequestCounter, RequestCounts, RowGroups, Values,
/// };
///
/// let format = Arc::new(Format::parse("$request_method $status $body_bytes_sent")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = Block::new(b"GET 200 17\nGET 404 3\nBREW 418 0\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let mut counter = RequestCounter::default();
/// counter.refresh(&values);
/// let mut counts = [RequestCounts::default()];
/// counter.count(&segment, RowGroups::All(0), &mut counts);
/// let [other, _, _, get, ..] = counts[0].requests();
/// assert_eq!((other[4], get[2], get[4], counts[0].bytes()), (1, 1, 1, 20));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RequestCounter {
    classes: StatusClasses,
    /// The index of each distinct method in [`REQUEST_METHODS`], by its id.
    methods: Vec<u8>,
    decided: DecidedIds,
    /// The [`Values::reuses`] for which the decisions hold.
    reuses: u64,
    rows: RowValues,
}

/// The values of the rows of a segment. Only the memory is kept.
#[derive(Debug, Clone, Default)]
struct RowValues {
    classes: Vec<u8>,
    methods: Vec<u8>,
    groups: Vec<u8>,
}

impl RequestCounter {
    /// Looks at the values that were added since the last call.
    ///
    /// Call it before a segment with new values is counted.
    pub fn refresh(&mut self, values: &Values) {
        if self.reuses != values.reuses() {
            *self = Self {
                reuses: values.reuses(),
                rows: std::mem::take(&mut self.rows),
                ..Self::default()
            };
        }
        self.classes.refresh(values);
        let dictionary = values.dictionary(Field::Method.column());
        self.methods.resize(dictionary.ids(), 0);
        for id in self.decided.update(dictionary) {
            self.methods[id] = dictionary.value(id as u32).map_or(0, method_index);
        }
    }

    /// Adds the rows of a segment to the counts of their groups. A group without counts is left out.
    /// [`Self::refresh`] must have seen the values of the segment.
    pub fn count(
        &mut self,
        segment: &Segment,
        groups: RowGroups<'_>,
        counts: &mut [RequestCounts],
    ) {
        let all = Selection::All(segment.rows());
        let RowValues { classes, methods, groups: row_groups } = &mut self.rows;
        status_classes(segment, &all, &self.classes, classes);
        let known = &self.methods;
        text_bytes(segment.text(Field::Method.column()), &all, methods, known);
        match groups {
            RowGroups::All(group) => {
                let Some(counts) = counts.get_mut(usize::from(group)) else { return };
                add_all(segment, classes, methods, counts);
            }
            RowGroups::ByValue { codes, groups } => {
                text_bytes(Some(codes), &all, row_groups, groups);
                add_each(segment, classes, methods, row_groups, counts);
            }
        }
    }
}

/// Replaces `into` by the byte that `by_id` has for the value of each row; 0 if it has none.
fn text_bytes(codes: Option<&Codes>, rows: &Selection, into: &mut Vec<u8>, by_id: &[u8]) {
    match codes {
        Some(codes) => {
            gather(codes, rows, into, |id| by_id.get(id as usize).copied().unwrap_or(0));
        }
        None => {
            into.clear();
            into.resize(rows.len(), 0);
        }
    }
}

/// Adds all rows to the same counts.
fn add_all(segment: &Segment, classes: &[u8], methods: &[u8], counts: &mut RequestCounts) {
    for (class, method) in classes.iter().zip(methods) {
        counts.requests[usize::from(*method)][usize::from(*class)] += 1;
    }
    let all = Selection::All(segment.rows());
    if let Some(bytes) = segment.numbers(Field::Bytes.column()) {
        bytes.for_each(&all, |bytes| counts.bytes += u128::from(bytes.unwrap_or(0)));
    }
    if let Some(times) = segment.numbers(Field::RequestTime.column()) {
        times.for_each(&all, |ns| ns.into_iter().for_each(|ns| counts.add_duration(ns)));
    }
}

/// Adds each row to the counts of its group.
fn add_each(
    segment: &Segment,
    classes: &[u8],
    methods: &[u8],
    groups: &[u8],
    counts: &mut [RequestCounts],
) {
    for ((class, method), group) in classes.iter().zip(methods).zip(groups) {
        if let Some(counts) = counts.get_mut(usize::from(*group)) {
            counts.requests[usize::from(*method)][usize::from(*class)] += 1;
        }
    }
    let all = Selection::All(segment.rows());
    if let Some(bytes) = segment.numbers(Field::Bytes.column()) {
        let mut groups = groups.iter();
        bytes.for_each(&all, |bytes| {
            let group = groups.next().map_or(0, |group| usize::from(*group));
            if let (Some(bytes), Some(counts)) = (bytes, counts.get_mut(group)) {
                counts.bytes += u128::from(bytes);
            }
        });
    }
    if let Some(times) = segment.numbers(Field::RequestTime.column()) {
        let mut groups = groups.iter();
        times.for_each(&all, |ns| {
            let group = groups.next().map_or(0, |group| usize::from(*group));
            if let (Some(ns), Some(counts)) = (ns, counts.get_mut(group)) {
                counts.add_duration(ns);
            }
        });
    }
}

/// Returns the index of a method in [`REQUEST_METHODS`]. Methods differ by case (RFC 9110, section
/// 9.1).
fn method_index(method: &[u8]) -> u8 {
    let known = REQUEST_METHODS[1..].iter().position(|known| known.as_bytes() == method);
    known.map_or(0, |index| index as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::{DURATION_BOUNDS_NS, REQUEST_METHODS, RequestCounts, method_index};

    #[test]
    fn only_known_methods_have_a_name() {
        for (index, method) in REQUEST_METHODS.iter().enumerate() {
            assert_eq!(usize::from(method_index(method.as_bytes())), index);
        }
        for other in [&b"get"[..], b"GET ", b"", b"PROPFIND", b"\xff", &[b'G'; 100_000]] {
            assert_eq!(method_index(other), 0);
        }
    }

    #[test]
    fn each_duration_is_in_the_first_bucket_that_holds_it() {
        assert!(DURATION_BOUNDS_NS.is_sorted());
        for (ns, bucket) in [
            (0, 0),
            (500_000, 0),
            (500_001, 1),
            (10_000_000_000, 13),
            (10_000_000_001, 14),
            (u64::MAX, 14),
        ] {
            let mut counts = RequestCounts::default();
            counts.add_duration(ns);
            assert_eq!(counts.durations.iter().position(|count| *count == 1), Some(bucket), "{ns}");
            assert_eq!(counts.duration_ns(), u128::from(ns));
        }
    }

    #[test]
    fn sums_have_room_for_the_largest_numbers() {
        let mut counts = RequestCounts { bytes: u128::from(u64::MAX), ..RequestCounts::default() };
        counts.merge(&counts.clone());
        assert_eq!(counts.bytes(), u64::MAX);
    }
}
