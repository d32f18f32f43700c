//! The description of a metric.

/// What is known of a metric beforehand. Its numbers are in a [`Scrape`](super::Scrape).
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name of the family, which ends in its unit if it has one; a counter's without `_total`.
    pub name: &'static str,
    /// What kind of number it is.
    pub kind: MetricKind,
    /// The names of the labels that each of its series has.
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub help: &'static str,
}

/// What kind of number a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A sum since the start, which never shrinks.
    Counter,
    /// A number of this moment.
    Gauge,
    /// A distribution since the start.
    Histogram,
    /// Texts in labels, whose value is 1.
    Info,
}

/// The units of the project's metrics: base units, as the conventions of Prometheus ask.
const UNITS: [&str; 2] = ["seconds", "bytes"];

impl Metric {
    /// Its unit; `None` for plain numbers.
    pub fn unit(&self) -> Option<&'static str> {
        let is_suffix = |unit: &&str| {
            let name = self.name.strip_suffix(unit);
            name.is_some_and(|name| name.ends_with('_'))
        };
        UNITS.into_iter().find(is_suffix)
    }

    /// The name by which people ask for it: that of its samples, or of a histogram.
    pub fn full_name(&self) -> String {
        match self.kind {
            MetricKind::Counter => format!("{}_total", self.name),
            MetricKind::Info => format!("{}_info", self.name),
            MetricKind::Gauge | MetricKind::Histogram => self.name.to_owned(),
        }
    }
}

impl MetricKind {
    /// The word in the text of the OpenMetrics format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}
