//! The text formats of metrics: [Prometheus 0.0.4] and [OpenMetrics 1.0.0].
//!
//! [Prometheus 0.0.4]: https://prometheus.io/docs/instrumenting/exposition_formats/
//! [OpenMetrics 1.0.0]: https://prometheus.io/docs/specs/om/open_metrics_spec/

use std::fmt::{self, Write};

use weir_view::push_printable;

use super::metric::{Metric, MetricKind};
use super::scrape::{Exemplar, Family, HistogramPoint, Point, Scrape};

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// The text format 0.0.4 of Prometheus, which every collector reads.
    Prometheus,
    /// OpenMetrics 1.0.0, which also has units and exemplars.
    OpenMetrics,
}

impl TextFormat {
    /// Returns the value of the `Content-Type` header.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

impl Scrape {
    /// Formats the numbers as text.
    pub fn text(&self, format: TextFormat) -> String {
        let mut text = String::new();
        for family in self.families.values() {
            // Writing to a string cannot fail.
            let _ = push_family(&mut text, family, format);
        }
        if format == TextFormat::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }
}

fn push_family(text: &mut String, family: &Family, format: TextFormat) -> fmt::Result {
    let metric = family.metric;
    push_head(text, metric, format)?;
    for (values, point) in &family.points {
        let names = family.label.as_deref().into_iter().chain(metric.labels.iter().copied());
        let labels: Vec<_> = names.zip(values.iter().map(String::as_str)).collect();
        let name = metric.full_name();
        let written = match point {
            Point::Histogram(histogram) => push_histogram(text, metric, &labels, histogram, format),
            Point::Integer(number) => push_sample(text, &name, &labels, number),
            Point::Float(number) => push_sample(text, &name, &labels, &Float(*number)),
        };
        written?;
    }
    Ok(())
}

fn push_head(text: &mut String, metric: &Metric, format: TextFormat) -> fmt::Result {
    let help = metric.help.replace('\\', "\\\\").replace('\n', "\\n");
    match format {
        TextFormat::Prometheus => {
            let name = metric.full_name();
            let kind = match metric.kind {
                // The Prometheus format has no type `info`.
                MetricKind::Info => MetricKind::Gauge,
                kind => kind,
            };
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name())
        }
        TextFormat::OpenMetrics => {
            let name = metric.name;
            writeln!(text, "# TYPE {name} {}", metric.kind.name())?;
            if let Some(unit) = metric.unit() {
                writeln!(text, "# UNIT {name} {unit}")?;
            }
            writeln!(text, "# HELP {name} {}", help.replace('"', "\\\""))
        }
    }
}

fn push_histogram(
    text: &mut String,
    metric: &Metric,
    labels: &[(&str, &str)],
    histogram: &HistogramPoint,
    format: TextFormat,
) -> fmt::Result {
    let bounds = histogram.bounds.iter().copied().chain([f64::INFINITY]);
    let mut count = 0;
    for (index, (bound, own)) in bounds.zip(&histogram.counts).enumerate() {
        count += own;
        let bound = Float(bound).to_string();
        let with_bound = [labels, &[("le", bound.as_str())]].concat();
        write!(text, "{}_bucket", metric.name)?;
        push_labels(text, &with_bound)?;
        write!(text, " {count}")?;
        let exemplar = histogram.exemplars.get(index).and_then(Option::as_ref);
        if let Some(exemplar) = exemplar.filter(|_| format == TextFormat::OpenMetrics) {
            push_exemplar(text, exemplar)?;
        }
        text.push('\n');
    }
    push_sample(text, &format!("{}_sum", metric.name), labels, &Float(histogram.sum))?;
    push_sample(text, &format!("{}_count", metric.name), labels, &count)
}

fn push_exemplar(text: &mut String, exemplar: &Exemplar) -> fmt::Result {
    text.push_str(" # ");
    push_labels(text, &[("trace_id", &exemplar.trace_id)])?;
    write!(text, " {} {:.3}", Float(exemplar.value), exemplar.unix_s)
}

fn push_sample(
    text: &mut String,
    name: &str,
    labels: &[(&str, &str)],
    value: &dyn fmt::Display,
) -> fmt::Result {
    text.push_str(name);
    push_labels(text, labels)?;
    writeln!(text, " {value}")
}

/// Appends labels in braces, or nothing if there are none. Control and format characters of a value,
/// such as the name of a file, are escaped: a terminal would obey them.
fn push_labels(text: &mut String, labels: &[(&str, &str)]) -> fmt::Result {
    for (index, (name, value)) in labels.iter().enumerate() {
        let before = if index == 0 { '{' } else { ',' };
        let value = value.split('\n').map(label_line).collect::<Vec<_>>().join("\\n");
        write!(text, "{before}{name}=\"{value}\"")?;
    }
    if labels.is_empty() { Ok(()) } else { text.write_char('}') }
}

fn label_line(line: &str) -> String {
    let mut printable = String::with_capacity(line.len());
    push_printable(&mut printable, line);
    printable.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A number with a decimal point, as both formats write it: the text of a bucket's bound is the
/// same in both.
struct Float(f64);

impl fmt::Display for Float {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            f64::INFINITY => formatter.write_str("+Inf"),
            f64::NEG_INFINITY => formatter.write_str("-Inf"),
            number if number.is_nan() => formatter.write_str("NaN"),
            number => write!(formatter, "{number:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TextFormat, label_line};
    use crate::metrics::{Exemplar, HistogramPoint, Metric, MetricKind, Scrape};

    static REQUESTS: Metric = Metric {
        name: "requests",
        kind: MetricKind::Counter,
        labels: &["path"],
        help: "A \\ and a \" and\na line",
    };
    static BUILD: Metric =
        Metric { name: "build", kind: MetricKind::Info, labels: &["version"], help: "The version" };
    static SIZE: Metric =
        Metric { name: "size_bytes", kind: MetricKind::Gauge, labels: &[], help: "The size" };
    static TOOK: Metric = Metric {
        name: "took_seconds",
        kind: MetricKind::Histogram,
        labels: &["a"],
        help: "The time",
    };

    fn scrape() -> Scrape {
        let mut scrape = Scrape::default();
        scrape.add(&REQUESTS, &["/a\"\\\n"], 1);
        scrape.add(&REQUESTS, &["/a\"\\\n"], 2);
        scrape.add(&REQUESTS, &["/"], u64::MAX);
        scrape.add(&BUILD, &["1.0"], 1);
        scrape.add_float(&SIZE, &[], 1.0);
        let exemplar =
            Exemplar { trace_id: "0af7".to_owned(), value: 1.5, unix_s: 1_800_000_000.5 };
        let histogram = HistogramPoint {
            bounds: vec![0.005, 1.0],
            counts: vec![2, 0, 3],
            sum: 7.25,
            exemplars: vec![None, None, Some(exemplar)],
        };
        scrape.add_histogram(&TOOK, &["b"], histogram.clone());
        scrape.add_histogram(&TOOK, &["b"], histogram);
        scrape
    }

    #[test]
    fn a_terminal_obeys_no_label() {
        assert_eq!(label_line("a\x1b[2J\u{202e}b\x7f\\"), r"a\\x1b[2J\\u{202e}b\\x7f\\");
    }

    #[test]
    fn the_format_of_prometheus_is_kept_to() {
        let expected = "\
# HELP build_info The version
# TYPE build_info gauge
build_info{version=\"1.0\"} 1
# HELP requests_total A \\\\ and a \" and\\na line
# TYPE requests_total counter
requests_total{path=\"/\"} 18446744073709551615
requests_total{path=\"/a\\\"\\\\\\n\"} 3
# HELP size_bytes The size
# TYPE size_bytes gauge
size_bytes 1.0
# HELP took_seconds The time
# TYPE took_seconds histogram
took_seconds_bucket{a=\"b\",le=\"0.005\"} 4
took_seconds_bucket{a=\"b\",le=\"1.0\"} 4
took_seconds_bucket{a=\"b\",le=\"+Inf\"} 10
took_seconds_sum{a=\"b\"} 14.5
took_seconds_count{a=\"b\"} 10
";
        assert_eq!(scrape().text(TextFormat::Prometheus), expected);
    }

    #[test]
    fn the_format_of_openmetrics_is_kept_to() {
        let expected = "\
# TYPE build info
# HELP build The version
build_info{version=\"1.0\"} 1
# TYPE requests counter
# HELP requests A \\\\ and a \\\" and\\na line
requests_total{path=\"/\"} 18446744073709551615
requests_total{path=\"/a\\\"\\\\\\n\"} 3
# TYPE size_bytes gauge
# UNIT size_bytes bytes
# HELP size_bytes The size
size_bytes 1.0
# TYPE took_seconds histogram
# UNIT took_seconds seconds
# HELP took_seconds The time
took_seconds_bucket{a=\"b\",le=\"0.005\"} 4
took_seconds_bucket{a=\"b\",le=\"1.0\"} 4
took_seconds_bucket{a=\"b\",le=\"+Inf\"} 10 # {trace_id=\"0af7\"} 1.5 1800000000.500
took_seconds_sum{a=\"b\"} 14.5
took_seconds_count{a=\"b\"} 10
# EOF
";
        assert_eq!(scrape().text(TextFormat::OpenMetrics), expected);
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let mut scrape = Scrape::default();
        for number in 0..2_000 {
            scrape.add(&REQUESTS, &[&number.to_string()], 1);
        }
        assert_eq!(
            scrape.text(TextFormat::Prometheus).lines().count(),
            2 + super::super::scrape::SERIES_MAX
        );
    }
}
