//! The values of the metrics at one moment.

use std::collections::BTreeMap;

use super::metric::{Metric, MetricKind};

/// The most series of one metric. Label values come from configurations and files, and a collector
/// of metrics keeps every series for weeks.
pub(super) const SERIES_MAX: usize = 1_000;

/// The values of all metrics at one moment, ordered by name.
#[derive(Debug, Default)]
pub struct Scrape {
    pub(super) families: BTreeMap<&'static str, Family>,
}

/// The series of one metric, by the values of its labels.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) metric: &'static Metric,
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
        self.put(metric, labels, Point::Integer(number));
    }

    /// Like [`Self::add`], for a floating-point number.
    pub fn add_float(&mut self, metric: &'static Metric, labels: &[&str], number: f64) {
        self.put(metric, labels, Point::Float(number));
    }

    /// Adds to a histogram. Histograms of the same series must have the same bounds.
    pub fn add_histogram(
        &mut self,
        metric: &'static Metric,
        labels: &[&str],
        histogram: HistogramPoint,
    ) {
        self.put(metric, labels, Point::Histogram(histogram));
    }

    fn put(&mut self, metric: &'static Metric, labels: &[&str], point: Point) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        debug_assert_eq!(
            metric.kind == MetricKind::Histogram,
            matches!(point, Point::Histogram(_)),
            "{}",
            metric.name
        );
        let family = || Family { metric, points: BTreeMap::new() };
        let points = &mut self.families.entry(metric.name).or_insert_with(family).points;
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        if let Some(before) = points.get_mut(&labels) {
            before.add(&point);
        } else if points.len() < SERIES_MAX {
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
