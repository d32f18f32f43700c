//! Counts by values with measures: the group of a report, without the rest of it.

use weir_core::Field;
use weir_view::{
    CountedSource, CountedSources, Group, GroupRow, Measure, MeasureValue, MeasuredCounts, Report,
    csv_row, to_json,
};

use super::arguments::CountArguments;
use super::output::json_line;
use crate::options::OutputKind;
use crate::outcome::{Exit, Failure, print, print_csv};
use crate::report::{ReportArguments, read_group};
use crate::terminal::{Screen, draw_group};

/// Runs the command with `--sort`, `--measure` or `--min`.
///
/// # Errors
/// If an argument is not valid, or no log can be read.
pub(super) fn run(arguments: &CountArguments) -> Result<Exit, Failure> {
    let is_text =
        |name: &String| Field::by_name(name).is_none_or(|field| Field::TEXT.contains(&field));
    if let Some(name) = arguments.by.iter().find(|name| !is_text(name)) {
        return Err(Failure::new(format_args!(
            "--by: `{name}` is not a field of text; values with measures can only be those of fields \
             such as path or status"
        )));
    }
    let (report, exit) = read_group(&report_arguments(arguments))?;
    let Some(group) = &report.group else { return Ok(exit()) };
    match arguments.output.kind() {
        OutputKind::Text => print(&draw_group(group, &report, &Screen::of_stdout(false)))?,
        OutputKind::Csv => print_csv(&csv(group, report.matching))?,
        OutputKind::Json => print(&json_line(to_json(&counts(&report, group)))?)?,
    }
    Ok(exit())
}

fn counts<'a>(report: &'a Report, group: &'a Group) -> MeasuredCounts<'a> {
    let source = |source: &weir_view::ReportSource| CountedSource {
        name: source.name.clone(),
        is_complete: source.is_complete,
    };
    MeasuredCounts {
        kind: report.kind,
        count: report.matching,
        group,
        read: CountedSources {
            sources: report.sources.iter().map(source).collect(),
            incomplete: report.incomplete.clone(),
        },
    }
}

/// A row for each value: the values of the fields, and the shown measures under their names.
fn csv(group: &Group, matching: u64) -> String {
    let named: Vec<Measure> = group.measures.iter().filter_map(|name| name.parse().ok()).collect();
    let measures = if named.is_empty() { Measure::SHOWN.to_vec() } else { named };
    let fields = std::iter::once(&group.field).chain(&group.further_fields).cloned();
    let head: Vec<String> = fields.chain(measures.iter().map(Measure::to_string)).collect();
    let mut text = csv_row(head.iter().map(String::as_bytes));
    for row in &group.rows {
        let values = std::iter::once(&row.value).chain(&row.further_values);
        let mut cells: Vec<Vec<u8>> = values.map(|value| value.bytes().into_owned()).collect();
        let numbers = measures.iter().map(|measure| cell(*measure, row, matching).into_bytes());
        cells.extend(numbers);
        text += &csv_row(cells.iter().map(Vec::as_slice));
    }
    text
}

/// The number for programs: durations in seconds, shares of 1.
fn cell(measure: Measure, row: &GroupRow, matching: u64) -> String {
    let tally = &row.tally.selected;
    let share = |part: u64, whole: u64| format!("{:.6}", part as f64 / whole.max(1) as f64);
    match measure {
        Measure::Requests => tally.count.to_string(),
        Measure::Share => share(tally.count, matching),
        Measure::Bytes => tally.bytes_sent.to_string(),
        Measure::Errors => tally.errors.to_string(),
        Measure::ErrorRate => share(tally.errors, tally.count),
        measure => match row.measures.get(&measure.to_string()).and_then(Option::as_ref) {
            Some(MeasureValue::Count(number)) => number.to_string(),
            Some(MeasureValue::Number(number)) => number.to_string(),
            Some(MeasureValue::Time(stamp)) => stamp.clone(),
            None => String::new(),
        },
    }
}

/// The arguments of the report whose group is the answer.
fn report_arguments(count: &CountArguments) -> ReportArguments {
    let top = count.top.unwrap_or(u32::MAX);
    ReportArguments {
        group: Some(count.by.join(",")),
        sort: count.sort,
        measure: count.measure.clone(),
        min: count.min,
        kind: count.kind,
        anonymize: count.anonymize.clone(),
        group_option: "--by",
        ..ReportArguments::of_blocks(&count.logs, count.memory.as_deref(), top, Vec::new())
    }
}
