//! Builds a report from an evaluation of the core.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::{
    Dictionary, Evaluation, Field, REMAINDER, ReadCounts, STATUS_CLASS, STATUS_CLASSES, Stack,
    Timestamp, TopList, Values, Zone, cycle_len, format_rfc3339, has_own_order,
};

use crate::bytes::lossy_text;
use crate::kind::{KindCount, RecordKind};
use crate::report::{Bucket, Format, FormatCount, Histogram, Quantiles, Report, TimeRange, TopRow};
use crate::row_value::RowValue;
use crate::words::{NO_VALUE, REMAINDER_VALUE};

impl Report {
    /// Creates the report of an evaluation, with up to `top` rows in each top list.
    pub fn new(
        evaluation: &Evaluation,
        values: &Values,
        read: &ReadCounts,
        format: Format,
        top: usize,
    ) -> Self {
        let totals = evaluation.totals();
        let mut report = Self {
            lines: read.lines,
            records: read.records,
            matching: totals.records,
            unparsed_lines: read.unparsed_lines,
            too_long_lines: read.too_long_lines,
            empty_lines: read.empty_lines,
            directive_lines: read.directive_lines(),
            bytes_read: read.bytes_read,
            bytes_sent: totals.bytes_sent,
            errors: totals.errors,
            format,
            time: time_range(evaluation, values),
            request_time: quantiles(evaluation, Field::RequestTime),
            upstream_time: quantiles(evaluation, Field::UpstreamTime),
            upstream_connect_time: quantiles(evaluation, Field::UpstreamConnectTime),
            upstream_header_time: quantiles(evaluation, Field::UpstreamHeaderTime),
            wait_time: quantiles(evaluation, Field::WaitTime),
            body_time: quantiles(evaluation, Field::BodyTime),
            ..Self::default()
        };
        let all_estimated = evaluation.is_filter_estimated(values);
        report.filter_estimated = all_estimated;
        for (column, name) in values.schema().text_columns() {
            let Some(list) = evaluation.top_list(column) else {
                if values.is_estimated(column) {
                    report.estimated.push(name.to_owned());
                }
                continue;
            };
            let remainder = list.tally(REMAINDER).count;
            // Records that the filter may have missed are not in the remainder.
            let uncounted_max = if all_estimated { u64::MAX } else { remainder };
            let rows = top_rows(list, name, values.dictionary(column), top, uncounted_max);
            report.distinct.insert(name.to_owned(), list.distinct());
            report.top.insert(name.to_owned(), rows);
            if remainder > 0 {
                let unlisted_max = values.unlisted_max(column).unwrap_or(u64::MAX);
                report.unlisted_max.insert(name.to_owned(), unlisted_max.min(remainder));
            }
            if remainder > 0 || all_estimated {
                report.estimated.push(name.to_owned());
            }
        }
        for field in Field::NUMBERS {
            let Some(quantiles) = evaluation.quantiles(field.column()) else { continue };
            if quantiles.is_estimated() || all_estimated && quantiles.count() > 0 {
                report.estimated.push(field.name().to_owned());
            }
        }
        report
    }

    /// Sets the histograms, which have the same buckets: those of [`Timeline::range_ns`].
    #[must_use]
    pub fn with_timeline(mut self, timeline: &Timeline<'_>, values: &Values) -> Self {
        let Timeline { own, overlay, unfiltered, range_ns } = *timeline;
        let Some(histogram) = own.histogram() else { return self };
        let mut histogram = covering(histogram, range_ns);
        let mut all = unfiltered.and_then(Evaluation::histogram).map(|one| covering(one, range_ns));
        let layer = |layer: &Layer<'_>| {
            Some(covering(&layer.evaluation.histogram()?.shifted(-layer.ahead_s), range_ns))
        };
        let mut layers: Vec<_> = overlay.iter().map(layer).collect();
        for other in layers.iter().flatten().chain(&all) {
            histogram = histogram.aligned(other).0;
        }
        for other in layers.iter_mut().flatten().chain(&mut all) {
            *other = other.aligned(&histogram).0.in_part_of(&histogram);
        }
        let shown = histogram_view(&histogram, own.stack(), values);
        self.histogram = shown.map(|shown| Histogram {
            unfiltered: all
                .map(|all| all.buckets().map(|bucket| bucket.counts.iter().sum()).collect()),
            ..shown
        });
        let shown = self.histogram.as_ref().filter(|_| layers.iter().any(Option::is_some));
        self.overlay = shown.map(|shown| overlay_histogram(shown, overlay, &layers, values));
        self
    }

    /// Sets the number of records in each format.
    #[must_use]
    pub fn with_formats(mut self, formats: Vec<FormatCount>) -> Self {
        self.formats = formats;
        self
    }

    /// Sets the kind that the report is about, and the number of records of each kind.
    #[must_use]
    pub fn of_kind(mut self, kind: RecordKind, kinds: &[KindCount]) -> Self {
        (self.kind, self.kinds) = (kind, kinds.to_vec());
        self
    }

    /// Sets the fields that no format of the report's kind has: among the sums as absent, and among
    /// the fields of the conditions as missing.
    #[must_use]
    pub fn of_formats(mut self, formats: &[Arc<weir_core::Format>], fields: Vec<String>) -> Self {
        let own = |format: &&Arc<weir_core::Format>| RecordKind::from(format.kind()) == self.kind;
        let formats: Vec<_> = formats.iter().filter(own).collect();
        if formats.is_empty() {
            return self;
        }
        let sums = [("bytes_sent", Field::Bytes), ("errors", Field::Status)];
        for (sum, field) in sums {
            if !formats.iter().any(|format| format.fills(field)) {
                self.absent.push(sum.to_owned());
            }
        }
        for field in fields {
            let has_field = formats.iter().any(|format| format.accessor(&field).is_ok());
            if !has_field && !self.missing_fields.contains(&field) {
                self.missing_fields.push(field);
            }
        }
        self
    }
}

/// The data of a report's chart.
#[derive(Debug, Clone, Copy)]
pub struct Timeline<'a> {
    /// The records of the report.
    pub own: &'a Evaluation,
    /// The overlaid records: first those of the overlaid kind, without a label.
    pub overlay: &'a [Layer<'a>],
    /// All records of the kind in the same time, whether or not they match the other conditions.
    pub unfiltered: Option<&'a Evaluation>,
    /// The first and the last instant of the time axis, in nanoseconds since 1970. If `None`, the
    /// axis has the range of the records.
    pub range_ns: Option<(i64, i64)>,
}

/// Records that a chart overlays on those of the report.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// The name of their group; `None` if they are stacked by a field.
    pub label: Option<&'a str>,
    /// The records.
    pub evaluation: &'a Evaluation,
    /// How far their clock is ahead of the report's, in seconds.
    pub ahead_s: i64,
}

impl<'a> Timeline<'a> {
    /// Creates a timeline of only these records, over their own time range.
    pub fn of(own: &'a Evaluation) -> Self {
        Self { own, overlay: &[], unfiltered: None, range_ns: None }
    }
}

fn covering(
    histogram: &weir_core::Histogram,
    range_ns: Option<(i64, i64)>,
) -> weir_core::Histogram {
    match range_ns {
        Some(range_ns) => histogram.clone().covering(range_ns),
        None => histogram.clone(),
    }
}

fn time_range(evaluation: &Evaluation, values: &Values) -> TimeRange {
    let utc = Zone::utc();
    let zone = evaluation.zone().unwrap_or(&utc);
    let range = evaluation.totals().time_range_ns;
    TimeRange {
        first: range.map(|(first, _)| stamp(first, zone)),
        last: range.map(|(_, last)| stamp(last, zone)),
        zone: zone.name().to_owned(),
        offsets: values.offset_days().map_or_else(Vec::new, |days| {
            let name = |offset_s| Zone::fixed(offset_s).name().to_owned();
            days.offsets_s().into_iter().map(name).collect()
        }),
        year_from: None,
    }
}

fn stamp(unix_ns: i64, zone: &Zone) -> String {
    let offset_s = zone.offset_s(unix_ns.div_euclid(1_000_000_000));
    format_rfc3339(Timestamp { unix_ns, offset_s })
}

fn stamp_s(unix_s: i64, zone: &Zone) -> String {
    stamp(unix_s.saturating_mul(1_000_000_000), zone)
}

fn histogram_view(
    histogram: &weir_core::Histogram,
    stack: Stack,
    values: &Values,
) -> Option<Histogram> {
    let zone = histogram.zone();
    let until = stamp_s(histogram.end_s()?, zone);
    let field = field_name(stack, values);
    let names = group_names(stack, values);
    let mut totals = BTreeMap::new();
    let buckets = histogram
        .buckets()
        .map(|bucket| {
            let mut by = BTreeMap::new();
            for (name, count) in names.iter().zip(&*bucket.counts).filter(|(_, count)| **count > 0)
            {
                *totals.entry(name.as_str()).or_insert(0) += count;
                *by.entry(name.clone()).or_insert(0) += count;
            }
            let count = bucket.counts.iter().sum();
            Bucket { start: stamp_s(bucket.start_s, zone), count, by }
        })
        .collect();
    let groups = match stack {
        Stack::StatusClass => class_order(&totals),
        Stack::Column(_) => by_size(totals),
    };
    let (step_s, left_out) = (histogram.step_s(), histogram.left_out());
    Some(Histogram { step_s, field, groups, until, buckets, left_out, unfiltered: None })
}

fn field_name(stack: Stack, values: &Values) -> String {
    match stack {
        Stack::StatusClass => STATUS_CLASS.to_owned(),
        Stack::Column(column) => {
            let column = values.schema().column(column);
            column.map(|column| column.name.clone()).unwrap_or_default()
        }
    }
}

/// Combines all layers into a histogram with the buckets of `under`, which the layers share.
fn overlay_histogram(
    under: &Histogram,
    layers: &[Layer<'_>],
    counts: &[Option<weir_core::Histogram>],
    values: &Values,
) -> Histogram {
    let stack = layers.first().map_or(Stack::StatusClass, |layer| layer.evaluation.stack());
    let empty = |bucket: &Bucket| Bucket { count: 0, by: BTreeMap::new(), ..bucket.clone() };
    let mut all = Histogram {
        field: field_name(stack, values),
        groups: Vec::new(),
        buckets: under.buckets.iter().map(empty).collect(),
        unfiltered: None,
        ..under.clone()
    };
    for (layer, counts) in layers.iter().zip(counts) {
        match (layer.label, counts) {
            (_, None) => {}
            (Some(label), Some(counts)) => all = with_group(all, label, counts),
            (None, Some(counts)) => all = histogram_view(counts, stack, values).unwrap_or(all),
        }
    }
    all
}

/// Adds a group with these counts to a histogram with the same buckets. Without counts there is no
/// new group.
fn with_group(mut shown: Histogram, label: &str, counts: &weir_core::Histogram) -> Histogram {
    let mut total = 0;
    for (bucket, more) in shown.buckets.iter_mut().zip(counts.buckets()) {
        let more: u64 = more.counts.iter().sum();
        if more > 0 {
            bucket.count += more;
            *bucket.by.entry(label.to_owned()).or_insert(0) += more;
            total += more;
        }
    }
    if total > 0 && !shown.groups.iter().any(|group| group == label) {
        shown.groups.push(label.to_owned());
    }
    shown
}

/// Returns the classes that occur, in their own order. Records without a class come last.
fn class_order(totals: &BTreeMap<&str, u64>) -> Vec<String> {
    let [none, classes @ ..] = &STATUS_CLASSES;
    let order = classes.iter().chain([none]);
    order.filter(|name| totals.contains_key(*name)).map(|name| (*name).to_owned()).collect()
}

/// Returns the groups in descending order of size, as in a top list. Last come records without a
/// value, and values without their own group.
fn by_size(totals: BTreeMap<&str, u64>) -> Vec<String> {
    let mut groups: Vec<(&str, u64)> = totals.into_iter().collect();
    let is_value = |name: &str| name != NO_VALUE && name != REMAINDER_VALUE;
    groups.sort_by_key(|(name, total)| (!is_value(name), Reverse(*total), *name));
    groups.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Returns the names of a stack's groups, by group number.
fn group_names(stack: Stack, values: &Values) -> Vec<String> {
    match stack {
        Stack::StatusClass => STATUS_CLASSES.iter().map(|name| (*name).to_owned()).collect(),
        Stack::Column(column) => {
            let dictionary = values.dictionary(column);
            let name = |id: usize| match id {
                0 => NO_VALUE.to_owned(),
                _ if id == REMAINDER as usize || id == Stack::GROUPS_MAX - 1 => {
                    REMAINDER_VALUE.to_owned()
                }
                _ => lossy_text(dictionary.value(id as u32).unwrap_or_default()),
            };
            (0..Stack::GROUPS_MAX).map(name).collect()
        }
    }
}

/// Returns the `top` most frequent values of a list. At most `uncounted_max` records of each are
/// not counted.
fn top_rows(
    list: &TopList,
    name: &str,
    dictionary: &Dictionary,
    top: usize,
    uncounted_max: u64,
) -> Vec<TopRow> {
    let row = |id: u32| {
        let bytes = dictionary.value(id).unwrap_or(REMAINDER_VALUE.as_bytes());
        let value = RowValue::new(bytes, id == REMAINDER)
            .with_uncounted_max(dictionary.uncounted_max(id).min(uncounted_max));
        TopRow { value, tally: list.tally(id).into() }
    };
    // A list of the hours of the day is whole.
    let rows = if top == 0 { 0 } else { top.max(cycle_len(name).unwrap_or(0)) };
    let mut ids = list.top(rows, dictionary);
    if has_own_order(name) {
        ids.sort_by_key(|id| (*id == REMAINDER, dictionary.value(*id)));
    }
    ids.into_iter().map(row).collect()
}

fn quantiles(evaluation: &Evaluation, field: Field) -> Option<Quantiles> {
    let quantiles = evaluation.quantiles(field.column())?;
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let [p50, p90, p95, p99] = quantiles.quantiles([0.5, 0.9, 0.95, 0.99])?.map(seconds);
    Some(Quantiles { p50, p90, p95, p99, max: seconds(quantiles.max()?) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_core::{
        Aggregates, Block, BlockLimits, BlockReader, Condition, Evaluation, Filter, Fold, Format,
        Question, ReadCounts, Stack, Values,
    };

    use super::Report;

    /// Returns the estimated fields of a log, with memory for only a few of its paths.
    fn estimated(condition: &str) -> Vec<String> {
        let format = Format::parse("$remote_addr $request_uri $request_time").expect("a format");
        let mut values = Values::new(1_000);
        let mut reader = BlockReader::new(Arc::new(format), BlockLimits::default(), &mut values);
        let unread = |_: &str| Err("there are no times".to_owned());
        let clause = Condition::parse(condition).ok();
        let clause = clause.map(|it| it.clause(&values, &unread).expect("a valid condition"));
        let question = Question {
            filter: Filter::of(clause.into_iter().collect()),
            zone: None,
            buckets_max: 2,
            step_s: None,
            stack: Stack::StatusClass,
            aggregates: Aggregates::default(),
        };
        let log: String = (0..100).map(|n| format!("192.0.2.1 /{n} 0.5\n")).collect();
        let read = reader.read(&Block::new(log.into_bytes()), 0);
        let resolved = reader.resolve(read, || &mut values);
        let segment = reader.seal(resolved).into_segment();
        let mut evaluation = Evaluation::new(&question);
        evaluation.refresh(&values);
        evaluation.update(&segment);
        let read = ReadCounts::default();
        Report::new(&evaluation, &values, &read, crate::Format::default(), 10).estimated
    }

    #[test]
    fn sums_of_missing_fields_are_listed_as_absent() {
        let absent = |definitions: &[&str]| {
            let format = |text: &&str| Arc::new(Format::parse(text).expect("a format"));
            let formats: Vec<_> = definitions.iter().map(format).collect();
            Report::default().of_formats(&formats, Vec::new()).absent
        };
        assert_eq!(absent(&[]), [""; 0], "no format is known yet");
        assert_eq!(absent(&["$remote_addr $request_uri"]), ["bytes_sent", "errors"]);
        assert_eq!(absent(&["$remote_addr $status"]), ["bytes_sent"]);
        assert_eq!(absent(&["$remote_addr $status", "$body_bytes_sent $request"]), [""; 0]);
    }

    #[test]
    fn a_filter_on_the_remainder_makes_all_lists_estimates() {
        assert_eq!(estimated(""), ["path"]);
        assert_eq!(estimated("path=/1"), [""; 0], "none of its records is in the remainder");
        assert_eq!(estimated("path!=/1"), ["path"]);
        assert_eq!(estimated("client=192.0.2.1"), ["path"]);
        assert_eq!(estimated("path~1"), ["client", "path", "request_time"]);
        assert_eq!(estimated("path!=/99"), ["client", "path", "request_time"]);
    }
}
