//! Builds a report from an evaluation of the core.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::{
    ColumnId, Evaluation, Field, REMAINDER, ReadCounts, STATUS_CLASS, STATUS_CLASSES, Stack,
    Timestamp, TopList, Values, Zone, format_rfc3339,
};

use crate::bytes::shown;
use crate::kind::{KindCount, RecordKind};
use crate::report::{Bucket, Format, FormatCount, Histogram, Quantiles, Report, TimeRange, TopRow};
use crate::row_value::RowValue;
use crate::words::{NO_VALUE, REMAINDER_VALUE};

impl Report {
    /// The report of an evaluation, with up to `top` rows in each top list.
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
            directive_lines: (read.lines)
                .saturating_sub(read.records + read.unparsed_lines + read.too_long_lines),
            bytes_read: read.bytes_read,
            bytes_sent: totals.bytes_sent,
            errors: totals.errors,
            format,
            time: time_range(evaluation),
            histogram: evaluation
                .histogram()
                .and_then(|histogram| shown_histogram(histogram, evaluation.stack(), values)),
            request_time: quantiles(evaluation, Field::RequestTime),
            upstream_time: quantiles(evaluation, Field::UpstreamTime),
            ..Self::default()
        };
        let all_estimated = evaluation.is_filter_estimated(values);
        for (column, name) in values.schema().text_columns() {
            if let Some(list) = evaluation.top_list(column) {
                report.distinct.insert(name.to_owned(), list.distinct());
                report.top.insert(name.to_owned(), top_rows(list, column, values, top));
            }
            if values.is_estimated(column) || all_estimated && report.top.contains_key(name) {
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

    /// Adds the histogram of the records of another kind, with the same buckets as the report's
    /// own. `own` and `other` are the evaluations of both kinds.
    #[must_use]
    pub fn with_overlay(mut self, own: &Evaluation, other: &Evaluation, values: &Values) -> Self {
        let (Some(histogram), Some(overlay)) = (own.histogram(), other.histogram()) else {
            return self;
        };
        let (histogram, overlay) = histogram.aligned(overlay);
        self.histogram = shown_histogram(&histogram, own.stack(), values);
        self.overlay = shown_histogram(&overlay, other.stack(), values);
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

    /// Lists what none of the formats of the report's kind has: as absent the sums of such
    /// fields, and as missing the fields among those of the conditions.
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

fn time_range(evaluation: &Evaluation) -> TimeRange {
    let utc = Zone::utc();
    let zone = evaluation.zone().unwrap_or(&utc);
    let range = evaluation.totals().time_range_ns;
    TimeRange {
        first: range.map(|(first, _)| stamp(first, zone)),
        last: range.map(|(_, last)| stamp(last, zone)),
        zone: zone.name().to_owned(),
    }
}

fn stamp(unix_ns: i64, zone: &Zone) -> String {
    let offset_s = zone.offset_s(unix_ns.div_euclid(1_000_000_000));
    format_rfc3339(Timestamp { unix_ns, offset_s })
}

fn stamp_s(unix_s: i64, zone: &Zone) -> String {
    stamp(unix_s.saturating_mul(1_000_000_000), zone)
}

fn shown_histogram(
    histogram: &weir_core::Histogram,
    stack: Stack,
    values: &Values,
) -> Option<Histogram> {
    let zone = histogram.zone();
    let until = stamp_s(histogram.end_s()?, zone);
    let field = match stack {
        Stack::StatusClass => STATUS_CLASS.to_owned(),
        Stack::Column(column) => {
            let column = values.schema().column(column);
            column.map(|column| column.name.clone()).unwrap_or_default()
        }
    };
    let names = group_names(stack, values);
    let mut occurs = vec![false; names.len()];
    let buckets = histogram
        .buckets()
        .map(|bucket| {
            let mut by = BTreeMap::new();
            for (group, count) in bucket.counts.iter().enumerate().filter(|(_, count)| **count > 0)
            {
                occurs[group] = true;
                *by.entry(names[group].clone()).or_insert(0) += count;
            }
            let count = bucket.counts.iter().sum();
            Bucket { start: stamp_s(bucket.start_s, zone), count, by }
        })
        .collect();
    let mut groups: Vec<String> = Vec::new();
    for (name, _) in names.into_iter().zip(occurs).filter(|(_, occurs)| *occurs) {
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    // Records without a status class come last in the stack.
    if stack == Stack::StatusClass && groups.first().is_some_and(|name| name == STATUS_CLASSES[0]) {
        groups.rotate_left(1);
    }
    Some(Histogram { step_s: histogram.step_s(), field, groups, until, buckets })
}

/// The names of the groups of a stack, by group number.
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
                _ => shown(dictionary.value(id as u32).unwrap_or_default()),
            };
            (0..Stack::GROUPS_MAX).map(name).collect()
        }
    }
}

fn top_rows(list: &TopList, column: ColumnId, values: &Values, top: usize) -> Vec<TopRow> {
    let dictionary = values.dictionary(column);
    let row = |id: u32| {
        let bytes = dictionary.value(id).unwrap_or(REMAINDER_VALUE.as_bytes());
        TopRow { value: RowValue::new(bytes, id == REMAINDER), tally: list.tally(id).into() }
    };
    list.top(top, dictionary).into_iter().map(row).collect()
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
        Block, BlockLimits, BlockReader, Evaluation, Fold, Format, ReadCounts, Values,
    };

    use super::Report;
    use crate::query::{Clause, Query};

    /// The estimated fields of a log, with memory for only a few of its paths.
    fn estimated(clause: &str) -> Vec<String> {
        let format = Format::parse("$remote_addr $request_uri $request_time").expect("a format");
        let mut values = Values::new(1_000);
        let mut reader = BlockReader::new(Arc::new(format), BlockLimits::default(), &mut values);
        let clauses = Clause::parse(clause).into_iter().collect();
        let question =
            Query { clauses, ..Query::default() }.question(&values).expect("a valid query");
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
        assert_eq!(estimated("path=/1"), ["path"], "none of its records is in the remainder");
        assert_eq!(estimated("path!=/1"), ["path"]);
        assert_eq!(estimated("client=192.0.2.1"), ["path"]);
        assert_eq!(estimated("path~1"), ["client", "path", "request_time"]);
        assert_eq!(estimated("path!=/99"), ["client", "path", "request_time"]);
    }
}
