//! The values of the metrics at one moment.

use std::collections::BTreeMap;

use weir_core::{REQUEST_METHODS, STATUS_CLASSES};
use weir_ingest::RequestTotals;

use super::metric::{Metric, MetricKind};

/// The most series of one metric. Label values come from configurations and files, and a collector
/// of metrics keeps every series for weeks.
pub(super) const SERIES_MAX: usize = 1_000;

/// The most series of a metric of requests with a label that the operator has chosen: its values have
/// a limit of their own, and two more stand for the others and for none.
const LABELLED_SERIES_MAX: usize =
    (RequestTotals::VALUES_MAX + 2) * REQUEST_METHODS.len() * STATUS_CLASSES.len();

/// The values of all metrics at one moment, ordered by name.
#[derive(Debug, Default)]
pub struct Scrape {
    pub(super) families: BTreeMap<&'static str, Family>,
}

/// The series of one metric, by the values of its labels.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) metric: &'static Metric,
    /// A label that every series has before those of the metric.
    pub(super) label: Option<String>,
    pub(super) points: BTreeMap<Vec<String>, Point>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Point {
    Integer(u64),
    Float(f64),
    Histogram(HistogramPoint),
}

/// A distribution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistogramPoint {
    /// The ascending upper bounds of the buckets. The last bucket has no bound and is not listed.
    pub bounds: Vec<f64>,
    /// The number of values in each bucket, not cumulative. There is one more count than bounds.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: f64,
    /// The exemplar of each bucket, if it has one. The list has an entry per bucket, or is empty.
    pub exemplars: Vec<Option<Exemplar>>,
}

/// One value of a bucket, with the trace that it belongs to (OpenMetrics 1.0.0, section
/// "Exemplars").
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    /// The trace, as 32 lower-case hexadecimal digits.
    pub trace_id: String,
    /// The value, in the unit of the metric.
    pub value: f64,
    /// When it was measured, in seconds since 1970.
    pub unix_s: f64,
}

impl Scrape {
    /// Adds to a counter or a gauge. Numbers of the same series are summed.
    pub fn add(&mut self, metric: &'static Metric, labels: &[&str], number: u64) {
        self.add_with(metric, None, labels, number);
    }

    /// Like [`Self::add`], with a label that is not one of the metric, and its value. All series of a
    /// metric have it or none.
    pub(crate) fn add_with(
        &mut self,
        metric: &'static Metric,
        label: Option<(&str, &str)>,
        labels: &[&str],
        number: u64,
    ) {
        self.put(metric, label, labels, Point::Integer(number));
    }

    /// Like [`Self::add`], for a floating-point number.
    pub fn add_float(&mut self, metric: &'static Metric, labels: &[&str], number: f64) {
        self.put(metric, None, labels, Point::Float(number));
    }

    /// Adds to a histogram. Histograms of the same series must have the same bounds.
    pub fn add_histogram(
        &mut self,
        metric: &'static Metric,
        labels: &[&str],
        histogram: HistogramPoint,
    ) {
        self.add_histogram_with(metric, None, labels, histogram);
    }

    /// Like [`Self::add_histogram`], with a label as in [`Self::add_with`].
    pub(crate) fn add_histogram_with(
        &mut self,
        metric: &'static Metric,
        label: Option<(&str, &str)>,
        labels: &[&str],
        histogram: HistogramPoint,
    ) {
        self.put(metric, label, labels, Point::Histogram(histogram));
    }

    fn put(
        &mut self,
        metric: &'static Metric,
        label: Option<(&str, &str)>,
        labels: &[&str],
        point: Point,
    ) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        debug_assert_eq!(
            metric.kind == MetricKind::Histogram,
            matches!(point, Point::Histogram(_)),
            "{}",
            metric.name
        );
        let name = label.map(|(name, _)| name);
        let family = || Family { metric, label: name.map(str::to_owned), points: BTreeMap::new() };
        let family = self.families.entry(metric.name).or_insert_with(family);
        debug_assert_eq!(family.label.as_deref(), name, "{}", metric.name);
        let series_max = if name.is_some() { LABELLED_SERIES_MAX } else { SERIES_MAX };
        let points = &mut family.points;
        let values = label.iter().map(|(_, value)| value).chain(labels);
        let labels: Vec<String> = values.map(|value| (*value).to_owned()).collect();
        if let Some(before) = points.get_mut(&labels) {
            before.add(&point);
        } else if points.len() < series_max {
            points.insert(labels, point);
        }
    }
}

impl Point {
    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Integer(sum), Self::Integer(number)) => *sum = sum.wrapping_add(*number),
            (Self::Float(sum), Self::Float(number)) => *sum += number,
            (Self::Histogram(sum), Self::Histogram(other)) => sum.add(other),
            // The collector of a metric always uses the same type.
            _ => debug_assert!(false, "numbers of two types in one series"),
        }
    }
}

impl HistogramPoint {
    fn add(&mut self, other: &Self) {
        debug_assert_eq!(self.bounds, other.bounds);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.sum += other.sum;
        for (own, other) in self.exemplars.iter_mut().zip(&other.exemplars) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
    }
}
