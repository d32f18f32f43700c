//! The counts of a report.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::line::{LINE_BYTES_MAX, lines};
use super::record::{Layout, Record};

/// The maximum number of buckets of [`Oracle::histogram`].
const BUCKETS_MAX: i64 = 1 << 20;

/// The records and counts of a log.
///
/// `lines` is the sum of `records_read`, `empty_lines`, `unparsed_lines` and `too_long_lines`.
#[derive(Debug, Clone)]
pub struct Oracle {
    /// Lines of any kind.
    pub lines: u64,
    /// Lines in the layout.
    pub records_read: u64,
    /// Lines without a text.
    pub empty_lines: u64,
    /// Lines that are not in the layout.
    pub unparsed_lines: u64,
    /// Lines longer than 1 MiB.
    pub too_long_lines: u64,
    /// The length of the log in bytes.
    pub bytes_read: u64,
    /// The records in the order of the log. After [`Oracle::retain`], only those that were kept.
    pub records: Vec<Record>,
}

/// One value of a top list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The value as in the log.
    pub value: Vec<u8>,
    /// The number of records with the value.
    pub count: u64,
    /// The sum of their response sizes in bytes.
    pub bytes_sent: u64,
    /// The number of those with a status of 400 to 599.
    pub errors: u64,
}

/// One bucket of a histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bucket {
    /// The bucket's first second since 1970, UTC.
    pub start_s: i64,
    /// The number of records in the bucket.
    pub count: u64,
    /// The same by status class, without classes that do not occur.
    pub by: BTreeMap<&'static str, u64>,
}

impl Oracle {
    /// Reads a whole log.
    pub fn read(layout: Layout, log: &[u8]) -> Self {
        let lines = lines(log);
        let (short, long): (Vec<&[u8]>, Vec<&[u8]>) =
            lines.iter().partition(|line| line.len() <= LINE_BYTES_MAX);
        let records: Vec<Record> =
            short.iter().filter_map(|line| Record::read(layout, line)).collect();
        let empty_lines = short.iter().filter(|line| line.trim_ascii().is_empty()).count();
        Self {
            lines: lines.len() as u64,
            records_read: records.len() as u64,
            empty_lines: empty_lines as u64,
            unparsed_lines: (short.len() - empty_lines - records.len()) as u64,
            too_long_lines: long.len() as u64,
            bytes_read: log.len() as u64,
            records,
        }
    }

    /// Keeps only the records for which `filter` returns true.
    pub fn retain(&mut self, filter: impl FnMut(&Record) -> bool) {
        self.records.retain(filter);
    }

    /// The sum of the response sizes in bytes.
    pub fn bytes_sent(&self) -> u64 {
        self.records.iter().filter_map(|record| record.bytes).sum()
    }

    /// The number of records with a status of 400 to 599.
    pub fn errors(&self) -> u64 {
        self.records.iter().filter(|record| record.is_error()).count() as u64
    }

    /// The earliest and the latest time, in seconds since 1970; `None` without records.
    pub fn time_s(&self) -> Option<(i64, i64)> {
        let times = || self.records.iter().map(|record| record.time_s);
        Some((times().min()?, times().max()?))
    }

    /// The names of the fields that occur in any record, sorted.
    pub fn fields(&self) -> Vec<&'static str> {
        let names: HashSet<_> =
            self.records.iter().flat_map(|record| record.fields.keys()).copied().collect();
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        names
    }

    /// The number of distinct values of a field.
    pub fn distinct(&self, field: &str) -> u64 {
        let values = self.records.iter().filter_map(|record| record.fields.get(field));
        values.collect::<HashSet<_>>().len() as u64
    }

    /// The `rows` most frequent values of a field. Equally frequent values are in the order of
    /// their bytes.
    pub fn top(&self, field: &str, rows: usize) -> Vec<Row> {
        let mut by_value: HashMap<&[u8], Row> = HashMap::new();
        for record in &self.records {
            let Some(value) = record.fields.get(field) else { continue };
            let row = by_value.entry(value).or_default();
            row.count += 1;
            row.bytes_sent += record.bytes.unwrap_or(0);
            row.errors += u64::from(record.is_error());
        }
        let mut list: Vec<Row> =
            by_value.into_iter().map(|(value, row)| Row { value: value.to_vec(), ..row }).collect();
        list.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
        list.truncate(rows);
        list
    }

    /// The histogram in buckets of `step_s` seconds, aligned to local time `offset_s` seconds ahead
    /// of UTC. It has every bucket from the first record to the last, including empty ones.
    ///
    /// # Panics
    ///
    /// If there would be more than a million buckets, or if `step_s` is 0.
    pub fn histogram(&self, step_s: u64, offset_s: i64) -> Vec<Bucket> {
        let Some((first_s, last_s)) = self.time_s() else { return Vec::new() };
        let step_s = i64::try_from(step_s).expect("a step");
        let number = |time_s: i64| (time_s + offset_s).div_euclid(step_s);
        let first = number(first_s);
        assert!(number(last_s) - first < BUCKETS_MAX, "choose a longer step than {step_s} s");
        let starts = (first..=number(last_s)).map(|number| number * step_s - offset_s);
        let mut buckets: Vec<Bucket> =
            starts.map(|start_s| Bucket { start_s, ..Bucket::default() }).collect();
        for record in &self.records {
            let bucket = &mut buckets[(number(record.time_s) - first) as usize];
            bucket.count += 1;
            *bucket.by.entry(record.status_class()).or_default() += 1;
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, Oracle};

    fn log() -> Vec<u8> {
        let line = |client: &str, second: u32, status: u16, bytes: &str| {
            format!("{client} - - [01/Jan/1970:00:00:{second:02} +0000] \"-\" {status} {bytes}\n")
        };
        let lines = [
            line("b", 5, 200, "7"),
            line("a", 1, 404, "3"),
            line("c", 25, 503, "-"),
            line("c", 24, 600, "1"),
            "not valid\n\n".to_owned(),
            "x".repeat((1 << 20) + 1),
        ];
        lines.concat().into_bytes()
    }

    #[test]
    fn counts_lists_and_buckets() {
        let oracle = Oracle::read(Layout::Common, &log());
        assert_eq!((oracle.lines, oracle.records_read), (7, 4));
        assert_eq!((oracle.empty_lines, oracle.unparsed_lines, oracle.too_long_lines), (1, 1, 1));
        assert_eq!((oracle.bytes_sent(), oracle.errors()), (11, 2));
        assert_eq!((oracle.time_s(), oracle.distinct("client")), (Some((1, 25)), 3));
        assert_eq!(oracle.fields(), ["client", "request", "status", "user"]);
        let top: Vec<_> = oracle.top("client", 2).into_iter().map(|row| row.value).collect();
        assert_eq!(top, [b"c", b"a"]);
        let buckets = oracle.histogram(10, 5);
        let starts: Vec<_> = buckets.iter().map(|bucket| (bucket.start_s, bucket.count)).collect();
        assert_eq!(starts, [(-5, 1), (5, 1), (15, 1), (25, 1)]);
        assert_eq!(buckets[3].by.get("5xx"), Some(&1));
    }

    #[test]
    fn a_filter_does_not_change_the_lines() {
        let mut oracle = Oracle::read(Layout::Common, &log());
        oracle.retain(|record| record.status() == Some(404));
        assert_eq!((oracle.lines, oracle.records_read, oracle.records.len()), (7, 4, 1));
    }
}
