//! The numbers of one moment.

use std::collections::BTreeMap;

use super::metric::{Metric, MetricKind};

/// Series of one metric at most. Names of series come from configurations and files; a program that
/// collects metrics keeps each of them for weeks.
pub(super) const SERIES_MAX: usize = 1_000;

/// The numbers of all metrics at one moment, in the order of their names.
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
    /// The upper bound of each bucket but the last, which has none; ascending.
    pub bounds: Vec<f64>,
    /// The number of values in each bucket alone: one more than there are bounds.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: f64,
    /// An example of each bucket, if there is one: as many as there are buckets, or none at all.
    pub exemplars: Vec<Option<Exemplar>>,
}

/// One value of a bucket, with the trace that it belongs to (OpenMetrics 1.0.0, section "Exemplars").
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    /// 32 lower-case hexadecimal digits.
    pub trace_id: String,
    /// The value, in the unit of the metric.
    pub value: f64,
    /// When it was measured, in seconds since 1970.
    pub unix_s: f64,
}

impl Scrape {
    /// Adds to a counter or a gauge. Two numbers of one series are added up.
    pub fn add(&mut self, metric: &'static Metric, labels: &[&str], number: u64) {
        self.put(metric, labels, Point::Integer(number));
    }

    /// As [`Self::add`], for a number that need not be whole.
    pub fn add_float(&mut self, metric: &'static Metric, labels: &[&str], number: f64) {
        self.put(metric, labels, Point::Float(number));
    }

    /// Adds to a histogram. Two of one series must have the same bounds.
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
            // A metric has numbers of one type, which its collector chooses.
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
