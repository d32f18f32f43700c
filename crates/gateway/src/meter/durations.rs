//! Durations of requests: a histogram for each status class, and the sums of the phases.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use weir_core::DURATION_BOUNDS_NS as BOUNDS_NS;
use weir_sync::Lock;

use super::failures::Failures;
use super::in_progress::InProgress;

/// The upper bounds of the buckets in seconds; the last bucket has none. They are fixed, so that
/// counting needs no lock and the histograms of backends can be added up.
pub const BUCKET_BOUNDS_S: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const BUCKETS: usize = BOUNDS_NS.len() + 1;

/// The status classes of requests. If the client disconnects before there is a status, the class is
/// `none`.
pub const STATUS_CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The least time between two exemplars of a bucket, because storing one takes a lock.
const EXEMPLAR_PAUSE: Duration = Duration::from_secs(1);

/// The durations of requests. Counting a request adds to four atomic numbers, without a lock.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    /// One entry for each of [`STATUS_CLASSES`], allocated on first use: most backends use one or
    /// two.
    classes: [OnceLock<Box<ClassDurations>>; STATUS_CLASSES.len()],
    /// The requests that have not ended.
    pub(crate) in_progress: InProgress,
    /// Those that have failed.
    pub(crate) failures: Failures,
}

#[derive(Debug, Default)]
struct ClassDurations {
    counts: [AtomicU64; BUCKETS],
    wait_ns: AtomicU64,
    header_ns: AtomicU64,
    body_ns: AtomicU64,
    exemplars: Lock<[Option<DurationExemplar>; BUCKETS]>,
}

/// The durations of the phases of one request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestTimes {
    pub(crate) wait: Duration,
    pub(crate) header: Duration,
    pub(crate) body: Duration,
}

/// The durations of the requests of one status class.
#[derive(Debug, Clone, PartialEq)]
pub struct DurationCounts {
    /// One of [`STATUS_CLASSES`].
    pub status_class: &'static str,
    /// The number of requests in each bucket, not cumulative. There is one bucket more than there
    /// are [bounds](BUCKET_BOUNDS_S).
    pub counts: Vec<u64>,
    /// The total time before the first server was contacted.
    pub wait: Duration,
    /// The total time from then until the head of the answer.
    pub header: Duration,
    /// The total time from then until the client had received the last byte.
    pub body: Duration,
    /// For each bucket, an example request with a trace id, if there was one.
    pub exemplars: Vec<Option<DurationExemplar>>,
}

/// An example request of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationExemplar {
    /// 32 lower-case hexadecimal digits.
    pub trace_id: String,
    /// The duration of the request.
    pub duration: Duration,
    /// When the request ended.
    pub ended: SystemTime,
}

impl DurationCounts {
    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Durations {
    /// Counts a request, with the status of its answer and its trace id, if it has them.
    pub(crate) fn count(&self, status: Option<u16>, times: RequestTimes, trace_id: Option<&[u8]>) {
        let class = status.map_or(0, |status| usize::from(status / 100));
        let Some(class) = self.classes.get(class) else { return };
        class.get_or_init(Box::default).count(times, trace_id);
    }

    /// The classes that had requests, in the order of [`STATUS_CLASSES`].
    pub(crate) fn read(&self) -> Vec<DurationCounts> {
        let classes = self.classes.iter().zip(STATUS_CLASSES);
        classes.filter_map(|(class, name)| Some(class.get()?.read(name))).collect()
    }
}

impl ClassDurations {
    fn count(&self, times: RequestTimes, trace_id: Option<&[u8]>) {
        let RequestTimes { wait, header, body } = times;
        let all_ns = nanoseconds(wait + header + body);
        // Bounds are inclusive.
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < all_ns);
        for (sum, part) in [(&self.wait_ns, wait), (&self.header_ns, header), (&self.body_ns, body)]
        {
            sum.fetch_add(nanoseconds(part), Ordering::Relaxed);
        }
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(trace_id) = trace_id {
            self.store_exemplar(bucket, wait + header + body, trace_id);
        }
    }

    /// Stores a request as the exemplar of its bucket, unless there is a recent one or another
    /// thread holds the lock.
    fn store_exemplar(&self, bucket: usize, duration: Duration, trace_id: &[u8]) {
        let Some(mut exemplars) = self.exemplars.try_lock() else { return };
        let Some(exemplar) = exemplars.get_mut(bucket) else { return };
        let ended = SystemTime::now();
        // An exemplar from the future, after the clock was set back, counts as old.
        let age_of = |kept: &DurationExemplar| ended.duration_since(kept.ended);
        let age = exemplar.as_ref().map(|kept| age_of(kept).unwrap_or(EXEMPLAR_PAUSE));
        if age.is_none_or(|age| age >= EXEMPLAR_PAUSE) {
            let trace_id = String::from_utf8_lossy(trace_id).into_owned();
            *exemplar = Some(DurationExemplar { trace_id, duration, ended });
        }
    }

    fn read(&self, status_class: &'static str) -> DurationCounts {
        let sum = |ns: &AtomicU64| Duration::from_nanos(ns.load(Ordering::Relaxed));
        let exemplars = self.exemplars.lock();
        DurationCounts {
            status_class,
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            wait: sum(&self.wait_ns),
            header: sum(&self.header_ns),
            body: sum(&self.body_ns),
            exemplars: exemplars.to_vec(),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BOUNDS_NS, BUCKET_BOUNDS_S, BUCKETS, Durations, RequestTimes};

    fn times(header: Duration) -> RequestTimes {
        RequestTimes { header, ..RequestTimes::default() }
    }

    #[test]
    fn the_bounds_are_the_same_in_both_units() {
        let from_ns = BOUNDS_NS.map(|ns| ns as f64 / 1e9);
        assert_eq!(from_ns, BUCKET_BOUNDS_S);
        assert!(BOUNDS_NS.is_sorted());
    }

    #[test]
    fn each_request_is_in_the_first_bucket_that_it_fits() {
        for (ns, bucket) in [
            (0, 0),
            (500_000, 0),
            (500_001, 1),
            (1_000_000_000, 10),
            (10_000_000_000, 13),
            (10_000_000_001, 14),
            (u64::MAX, 14),
        ] {
            let durations = Durations::default();
            durations.count(Some(200), times(Duration::from_nanos(ns)), None);
            let mut expected = vec![0; BUCKETS];
            expected[bucket] = 1;
            assert_eq!(durations.read()[0].counts, expected, "{ns}");
        }
    }

    #[test]
    fn classes_and_parts_are_kept_apart() {
        let durations = Durations::default();
        let [wait, header, body] = [1, 20, 300].map(Duration::from_millis);
        for status in [None, Some(101), Some(404), Some(499), Some(999)] {
            durations.count(status, RequestTimes { wait, header, body }, None);
        }
        let read = durations.read();
        let classes: Vec<_> = read.iter().map(|it| (it.status_class, it.count())).collect();
        assert_eq!(classes, [("none", 1), ("1xx", 1), ("4xx", 2)], "999 is no status");
        assert_eq!((read[2].wait, read[2].header, read[2].body), (2 * wait, 2 * header, 2 * body));
    }

    #[test]
    fn a_bucket_keeps_an_example() {
        let durations = Durations::default();
        durations.count(Some(200), times(Duration::from_millis(2)), Some(b"one"));
        durations.count(Some(200), times(Duration::from_millis(2)), Some(b"two"));
        durations.count(Some(200), times(Duration::from_millis(2)), None);
        let read = durations.read().remove(0);
        let kept: Vec<_> = read.exemplars.iter().flatten().collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(
            (kept[0].trace_id.as_str(), kept[0].duration),
            ("one", Duration::from_millis(2))
        );
        assert!(read.exemplars[2].is_some(), "in the bucket up to 2.5 ms");
    }
}
