//! The description of a metric.

/// The static description of a metric. Its values are in a [`Scrape`](super::Scrape).
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name of the family. It ends with the unit, if there is one, and has no `_total`.
    pub name: &'static str,
    /// The type of the metric.
    pub kind: MetricKind,
    /// The names of the labels of each series.
    pub labels: &'static [&'static str],
    /// Its meaning as a sentence.
    pub help: &'static str,
}

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A sum since the start of the program, which never decreases.
    Counter,
    /// A current value.
    Gauge,
    /// A distribution since the start of the program.
    Histogram,
    /// Texts in labels, with the value 1.
    Info,
}

/// The units of the project's metrics: base units, as the Prometheus conventions require.
const UNITS: [&str; 2] = ["seconds", "bytes"];

impl Metric {
    /// Returns the unit; `None` for plain numbers.
    pub fn unit(&self) -> Option<&'static str> {
        let is_suffix = |unit: &&str| {
            let name = self.name.strip_suffix(unit);
            name.is_some_and(|name| name.ends_with('_'))
        };
        UNITS.into_iter().find(is_suffix)
    }

    /// Returns the name to use in queries: the name with the suffix of its type.
    pub fn full_name(&self) -> String {
        match self.kind {
            MetricKind::Counter => format!("{}_total", self.name),
            MetricKind::Info => format!("{}_info", self.name),
            MetricKind::Gauge | MetricKind::Histogram => self.name.to_owned(),
        }
    }
}

impl MetricKind {
    /// Returns the name of the type in OpenMetrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}
