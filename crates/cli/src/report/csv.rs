//! The report as CSV: one table, whose columns docs/report.md describes.

use weir_ingest::SourceSnapshot;
use weir_view::{
    BlocksReport, Comparison, Difference, Group, GroupRow, IncompleteSource, Measure, MeasureValue,
    PeriodTally, Quantiles, RecordKind, Report, RobotSums, Robots, RowValue, Tally, TopRow,
    Visitors, csv_row,
};

/// The columns. Those from `previous_count` on occur only with `--compare`.
const COLUMNS: [&str; 11] = [
    "kind",
    "section",
    "field",
    "value",
    "count",
    "share",
    "bytes_sent",
    "errors",
    "previous_count",
    "previous_bytes_sent",
    "previous_errors",
];
const COLUMNS_ALONE: usize = 8;

/// The cells of a row without its kind.
type Cells = [String; COLUMNS.len() - 1];

/// The rows so far.
struct Rows {
    text: String,
    is_compared: bool,
    /// The kind of records of the next rows; `None` for rows about all input.
    kind: Option<RecordKind>,
    /// The further columns, which only rows of groups have.
    further_columns: Vec<String>,
    /// The number of all records of the kind, the base of shares.
    matching: u64,
    /// Whether the records have sums of bytes, and of errors. The cells of missing sums are empty.
    has_bytes: bool,
    has_errors: bool,
}

/// Formats all sections of the report.
pub(super) fn write(report: &Report, sources: &[SourceSnapshot]) -> String {
    let is_compared = report.compare.is_some();
    let mut rows = Rows {
        text: String::new(),
        is_compared,
        kind: None,
        further_columns: further_columns(report),
        matching: 0,
        has_bytes: false,
        has_errors: false,
    };
    let further = rows.further_columns.clone();
    rows.push_cells(&COLUMNS.map(str::to_owned), &further);
    rows.everything_read(report, sources);
    for report in std::iter::once(report).chain(&report.other_kinds) {
        rows.records(report);
    }
    rows.kind = None;
    if let Some(blocks) = &report.blocks {
        rows.blocks(blocks);
    }
    if let Some(different) = &report.different {
        different.rows.iter().for_each(|row| rows.difference(row));
    }
    if let Some(visitors) = &report.visitors {
        rows.visitors(visitors);
    }
    if let Some(robots) = &report.robots {
        rows.robots(robots);
    }
    rows.unparsed(sources);
    rows.text
}

impl Rows {
    fn push(&mut self, cells: Cells) {
        let kind = self.kind.map(|kind| kind.name().to_owned()).unwrap_or_default();
        let further = vec![String::new(); self.further_columns.len()];
        self.push_cells(&[&[kind][..], &cells[..]].concat(), &further);
    }

    fn push_cells(&mut self, cells: &[String], further: &[String]) {
        let columns = if self.is_compared { COLUMNS.len() } else { COLUMNS_ALONE };
        self.text += &csv_row(cells[..columns].iter().chain(further).map(String::as_bytes));
    }

    /// Adds a row whose value is a single number or text.
    fn push_value(&mut self, section: &str, field: &str, value: impl ToString) {
        let mut cells: Cells = Default::default();
        (cells[0], cells[1]) = (section.to_owned(), field.to_owned());
        cells[2] = value.to_string();
        self.push(cells);
    }

    /// Adds a row of counts.
    fn push_counts(&mut self, section: &str, field: &str, value: &str, tally: &PeriodTally) {
        let cells = self.counts(section, field, value, tally);
        self.push(cells);
    }

    fn counts(&self, section: &str, field: &str, value: &str, tally: &PeriodTally) -> Cells {
        let (now, before) = (tally.selected, tally.previous());
        let share = now.count as f64 / self.matching.max(1) as f64;
        [
            section.to_owned(),
            field.to_owned(),
            value.to_owned(),
            now.count.to_string(),
            format!("{share:.6}"),
            self.bytes(now),
            self.errors(now),
            before.count.to_string(),
            self.bytes(before),
            self.errors(before),
        ]
    }

    fn bytes(&self, tally: Tally) -> String {
        if self.has_bytes { tally.bytes_sent.to_string() } else { String::new() }
    }

    fn errors(&self, tally: Tally) -> String {
        if self.has_errors { tally.errors.to_string() } else { String::new() }
    }

    fn everything_read(&mut self, report: &Report, sources: &[SourceSnapshot]) {
        for source in sources {
            self.push_value("source", "name", &source.name);
        }
        for IncompleteSource { source, reason } in &report.incomplete {
            self.push_value("incomplete", source, reason);
        }
        self.push_value("total", "format", &report.format.name);
        self.push_value("total", "zone", &report.time.zone);
        for count in &report.formats {
            self.push_value("format", &count.name, count.records);
        }
        for (name, number) in [
            ("lines", report.lines),
            ("records", report.records),
            ("unparsed_lines", report.unparsed_lines),
            ("too_long_lines", report.too_long_lines),
            ("empty_lines", report.empty_lines),
            ("directive_lines", report.directive_lines),
            ("bytes_read", report.bytes_read),
        ] {
            self.push_value("total", name, number);
        }
    }

    /// Adds all sections about the records of one kind.
    fn records(&mut self, report: &Report) {
        (self.kind, self.matching) = (Some(report.kind), report.matching);
        self.has_bytes = report.has_sum("bytes_sent");
        self.has_errors = report.has_sum("errors");
        let Report { group, compare, .. } = report;
        self.totals(report);
        if let Some(comparison) = compare {
            self.compared(comparison);
        }
        for (field, _, quantiles) in report.durations() {
            self.quantiles(field.name(), quantiles);
        }
        self.histogram(report);
        if let Some(group) = group {
            self.group(group);
        }
        for (field, top) in &report.top {
            top.iter().for_each(|top| self.top(field, top));
        }
        for list in compare.iter().flat_map(|comparison| &comparison.lists) {
            let sections = [("changed", &list.changed), ("new", &list.new), ("gone", &list.gone)];
            for (section, changes) in sections {
                changes.iter().for_each(|change| self.group_row(section, &list.field, change));
            }
        }
    }

    fn totals(&mut self, report: &Report) {
        for (name, time) in [("first", &report.time.first), ("last", &report.time.last)] {
            if let Some(time) = time {
                self.push_value("total", name, time);
            }
        }
        self.push_value("total", "records", report.records_of_kind());
        self.push_value("total", "matching", report.matching);
        for (name, sum) in [("bytes_sent", report.bytes_sent), ("errors", report.errors)] {
            if report.has_sum(name) {
                self.push_value("total", name, sum);
            }
        }
        for field in &report.missing_fields {
            self.push_value("missing_field", field, "");
        }
        for (field, count) in &report.distinct {
            let section = if report.is_estimated(field) { "distinct_min" } else { "distinct" };
            self.push_value(section, field, count);
        }
        for field in &report.estimated {
            self.push_value("estimated", field, "");
        }
        for (field, most) in &report.unlisted_max {
            self.push_value("unlisted_max", field, most);
        }
        if report.filter_estimated {
            self.push_value("filter_estimated", "", "");
        }
    }

    fn compared(&mut self, comparison: &Comparison) {
        let periods = [
            ("selected_period", &comparison.selected_period),
            ("previous_period", &comparison.previous_period),
        ];
        for (section, period) in periods {
            self.push_value(section, "since", &period.since);
            self.push_value(section, "until", &period.until);
        }
        for (name, change) in comparison.totals.by_name() {
            self.push_value("previous_total", name, change.previous);
        }
    }

    fn quantiles(&mut self, name: &str, quantiles: &Quantiles) {
        let Quantiles { p50, p90, p95, p99, max } = quantiles;
        for (quantile, seconds) in
            [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99), ("max", max)]
        {
            self.push_value(name, quantile, seconds);
        }
    }

    /// Adds a row for each group of each bucket. The start of the bucket is the value, the group
    /// the field.
    fn histogram(&mut self, report: &Report) {
        let Some(histogram) = &report.histogram else { return };
        self.push_value("histogram_step", "seconds", histogram.step_s);
        for bucket in &histogram.buckets {
            for (group, count) in &bucket.by {
                let mut cells: Cells = Default::default();
                (cells[0], cells[1]) = ("histogram".to_owned(), group.clone());
                (cells[2], cells[3]) = (bucket.start.clone(), count.to_string());
                self.push(cells);
            }
        }
    }

    fn group(&mut self, group: &Group) {
        group.rows.iter().for_each(|row| self.row_of_group(&group.field, row));
        if group.rest.values > 0 {
            let values = format!("({} other values)", group.rest.values);
            self.push_counts("group_rest", &group.field, &values, &group.rest.tally);
        }
    }

    /// Adds a row with the values of further fields and the measures in columns of their own.
    fn row_of_group(&mut self, field: &str, row: &GroupRow) {
        let kind = self.kind.map(|kind| kind.name().to_owned()).unwrap_or_default();
        let cells = self.counts("group", field, &row.value.text, &row.tally);
        let mut further: Vec<String> =
            row.further_values.iter().map(|value| value.text.clone()).collect();
        further.extend(self.further_columns.iter().skip(further.len()).map(|name| {
            let (measures, name) = match name.strip_prefix(PREVIOUS) {
                Some(name) => (&row.previous_measures, name),
                None => (&row.measures, &name[..]),
            };
            measures.get(name).and_then(Option::as_ref).map(measure_cell).unwrap_or_default()
        }));
        self.push_cells(&[&[kind][..], &cells[..]].concat(), &further);
        self.push_uncounted(field, &row.value);
    }

    fn group_row(&mut self, section: &str, field: &str, row: &GroupRow) {
        self.push_counts(section, field, &row.value.text, &row.tally);
        self.push_uncounted(field, &row.value);
    }

    /// Adds a row for a value whose count in the previous row is a lower bound.
    fn push_uncounted(&mut self, field: &str, value: &RowValue) {
        if value.uncounted_max > 0 {
            let mut cells: Cells = Default::default();
            (cells[0], cells[1]) = ("uncounted_max".to_owned(), field.to_owned());
            (cells[2], cells[3]) = (value.text.clone(), value.uncounted_max.to_string());
            self.push(cells);
        }
    }

    /// Adds a row without counts of the previous period; those are among the changes.
    fn top(&mut self, field: &str, top: &TopRow) {
        let count = top.tally.count;
        let share = count as f64 / self.matching.max(1) as f64;
        let mut cells: Cells = Default::default();
        (cells[0], cells[1]) = ("top".to_owned(), field.to_owned());
        cells[2].clone_from(&top.value.text);
        (cells[3], cells[4]) = (count.to_string(), format!("{share:.6}"));
        (cells[5], cells[6]) = (self.bytes(top.tally), self.errors(top.tally));
        self.push(cells);
        self.push_uncounted(field, &top.value);
    }

    /// Adds a row for a value that separates the matching records from the others, and a row with the
    /// others.
    fn difference(&mut self, row: &Difference) {
        let rows = [
            ("different", row.count, row.share),
            ("elsewhere", row.others_count, row.others_share),
        ];
        for (section, count, share) in rows {
            let mut cells: Cells = Default::default();
            (cells[0], cells[1]) = (section.to_owned(), row.field.clone());
            cells[2].clone_from(&row.value.text);
            (cells[3], cells[4]) = (count.to_string(), format!("{share:.6}"));
            self.push(cells);
        }
    }

    /// Adds the sums of robots, a row for each that is listed, and a row for each cohort, whose field is
    /// the pattern of its paths. Clients of cohorts and reasons have rows of their own.
    fn robots(&mut self, robots: &Robots) {
        for (section, sums) in [
            ("robots", &robots.clients),
            ("declared_robots", &robots.declared),
            ("cohorts", &robots.cohort_clients),
        ] {
            self.robot_row(section, "total", "", sums);
            self.push_value(&format!("{section}_clients"), "total", sums.clients);
        }
        for row in &robots.rows {
            self.robot_row("robot", "client", &row.value.text, &row.sums);
            for reason in &row.reasons {
                self.push_value("robot_reason", &row.value.text, reason.words());
            }
        }
        for row in &robots.cohort_rows {
            self.robot_row("cohort", &row.pattern, &row.value.text, &row.sums);
            self.push_value("cohort_clients", &row.pattern, row.sums.clients);
        }
        if robots.sampled > 0 {
            self.push_value("robots", "sampled", robots.sampled);
        }
    }

    fn robot_row(&mut self, section: &str, field: &str, value: &str, sums: &RobotSums) {
        let mut cells: Cells = Default::default();
        (cells[0], cells[1]) = (section.to_owned(), field.to_owned());
        (cells[2], cells[3]) = (value.to_owned(), sums.requests.to_string());
        (cells[5], cells[6]) = (sums.bytes_sent.to_string(), sums.errors.to_string());
        self.push(cells);
    }

    /// Adds the visitors in total and by day. Errors of exact numbers are left out.
    fn visitors(&mut self, visitors: &Visitors) {
        let mut push = |section: &str, field: &str, (number, error_max): (u64, u64)| {
            self.push_value(section, field, number);
            if error_max > 0 {
                self.push_value(&format!("{section}_error_max"), field, error_max);
            }
        };
        let total = "total";
        push("visitors", total, (visitors.visitors, visitors.visitors_error_max));
        let distinct = (visitors.distinct_visitors, visitors.distinct_visitors_error_max);
        push("distinct_visitors", total, distinct);
        push("visits", total, (visitors.visits, visitors.visits_error_max));
        let robots = (visitors.robot_visitors, visitors.robot_visitors_error_max);
        push("robot_visitors", total, robots);
        push("robot_visits", total, (visitors.robot_visits, visitors.robot_visits_error_max));
        for day in &visitors.days {
            push("visitors", &day.date, (day.visitors, day.visitors_error_max));
            push("visits", &day.date, (day.visits, day.visits_error_max));
            let robots = (day.robot_visitors, day.robot_visitors_error_max);
            push("robot_visitors", &day.date, robots);
            push("robot_visits", &day.date, (day.robot_visits, day.robot_visits_error_max));
        }
        if visitors.unattributed > 0 {
            self.push_value("visitors", "unattributed", visitors.unattributed);
        }
    }

    fn blocks(&mut self, blocks: &BlocksReport) {
        for (name, number) in [
            ("blocks", blocks.blocks),
            ("addresses", blocks.addresses),
            ("unknown", blocks.unknown),
            ("window_s", blocks.window_s),
        ] {
            self.push_value("blocks", name, number);
        }
        self.push_value("blocks", "clock_offset_s", blocks.clock.offset_s);
        for omission in &blocks.omissions {
            self.push_value("blocks", "omission", omission);
        }
        for client in &blocks.clients {
            let mut push = |section: &str, field: &str, value: &str, count: u64| {
                let mut cells: Cells = Default::default();
                (cells[0], cells[1]) = (section.to_owned(), field.to_owned());
                (cells[2], cells[3]) = (value.to_owned(), count.to_string());
                self.push(cells);
            };
            push("blocked", "client", &client.client, client.blocks);
            for rule in &client.rules {
                push("blocked_by", &client.client, &rule.text(), rule.blocks);
            }
            self.push_value("blocked_sentence", &client.client, &client.sentence);
        }
    }

    fn unparsed(&mut self, sources: &[SourceSnapshot]) {
        for source in sources {
            for sample in &source.samples {
                let place = format!("{}:{}", source.name, sample.line);
                let text = String::from_utf8_lossy(&sample.text).into_owned();
                self.push_value("unparsed_line", &place, text);
            }
        }
    }
}

/// The columns of the further fields and measures of the group. The groups of all kinds of records
/// have the same.
fn further_columns(report: &Report) -> Vec<String> {
    let reports = || std::iter::once(report).chain(&report.other_kinds);
    let Some(group) = reports().find_map(|report| report.group.as_ref()) else { return Vec::new() };
    let measures = group
        .measures
        .iter()
        .filter(|name| name.parse::<Measure>().is_ok_and(|measure| !measure.is_of_tally()));
    let measures: Vec<String> = measures.cloned().collect();
    let previous = measures.iter().filter(|_| report.compare.is_some());
    let previous: Vec<String> = previous.map(|name| format!("{PREVIOUS}{name}")).collect();
    [group.further_fields.clone(), measures, previous].concat()
}

/// What the names of columns about the previous period begin with.
const PREVIOUS: &str = "previous_";

/// Formats a measure for programs: durations in seconds.
fn measure_cell(value: &MeasureValue) -> String {
    match value {
        MeasureValue::Count(count) => count.to_string(),
        MeasureValue::Number(number) => number.to_string(),
        MeasureValue::Time(stamp) => stamp.clone(),
    }
}
