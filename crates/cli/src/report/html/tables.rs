//! The lists, as tables.

use weir_view::{
    Changes, Comparison, Differences, Group, GroupRow, RecordKind, Report, RobotSums, Robots,
    RowValue, TopRow, Visitors, difference,
};

use super::text::{safe, value};
use crate::display::{
    GroupColumns, ROBOT_COLUMNS, VISITOR_COLUMNS, at_least, change, differences_counts,
    earlier_days, errors_changed, fields_with_values, list_order, lower_bound, robot_cells,
    robot_reasons, robot_remarks, robot_sums, separated, share, signed, title_of, visitor_cells,
    visitors_counts, visitors_remarks,
};

/// The group, with a last row for the sum of the other values.
pub(super) fn group(group: &Group, report: &Report) -> String {
    let columns = GroupColumns::of(group, report);
    let name = |row: &GroupRow| {
        let values = std::iter::once(&row.value).chain(&row.further_values);
        let values: Vec<String> = values.map(|own| value(&own.bytes())).collect();
        values.join("<span class=\"dim\"> · </span>")
    };
    let row = |row: &GroupRow| named_row(&name(row), &columns.row(row, coloured));
    let mut rows: String = group.rows.iter().map(row).collect();
    if let Some(name) = columns.name_of_rest() {
        let name = format!("<span class=\"dim\">{name}</span>");
        rows += &named_row(&name, &columns.rest(coloured));
    }
    let names: String = columns.heads().iter().map(|head| column(head)).collect();
    let head = format!("<tr><th class=\"value\" scope=\"col\"></th>{names}</tr>\n");
    section(&safe(&columns.title()), "", &(head + &rows))
}

/// The most frequent values of each field.
pub(super) fn lists(report: &Report) -> String {
    let list = |field: &str| {
        let rows = &report.top[field];
        let distinct = report.distinct.get(field).copied().unwrap_or(0);
        let numbers = match (report.is_estimated(field), distinct > rows.len() as u64) {
            (true, _) => format!("{} of at least {}, estimated", rows.len(), separated(distinct)),
            (false, true) => format!("{} of {}", rows.len(), separated(distinct)),
            (false, false) => String::new(),
        };
        let count_max = rows.iter().map(|row| row.tally.count).max().unwrap_or(1);
        let rows: String =
            rows.iter().map(|row| top_row(row, report.matching, count_max)).collect();
        let head = head(&[report.kind.column(), "share", ""]);
        section(&safe(title_of(field)), &numbers, &(head + &rows))
    };
    let lists: String = fields_with_values(report).into_iter().map(list).collect();
    format!("<div class=\"lists\">\n{lists}</div>\n")
}

fn top_row(top: &TopRow, matching: u64, count_max: u64) -> String {
    let width = (top.tally.count as f64 / count_max.max(1) as f64 * 100.0).max(1.0);
    let bar = format!(
        "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{width:.1}\" height=\"10\"/></svg>"
    );
    let count = top.tally.count;
    let shown = counted(count, &top.value);
    row(&[shown, share(count, matching), bar], &value(top.value.text.as_bytes()))
}

/// Formats a count of records, with a bound on what it may lack.
fn counted(count: u64, value: &RowValue) -> String {
    let shown = at_least(count, value.uncounted_max);
    match value.uncounted_max {
        0 => shown,
        most => format!("<span title=\"up to {} more\">{shown}</span>", separated(most)),
    }
}

/// What is different in the records that match.
pub(super) fn differences(differences: &Differences, kind: RecordKind) -> String {
    let rows = differences.rows.iter().map(|own| {
        let cells = [
            share(own.count, differences.selected),
            share(own.others_count, differences.others),
            separated(own.count),
            safe(&own.field),
        ];
        row(&cells, &value(&own.value.bytes()))
    });
    let rows = head(&["here", "elsewhere", kind.column(), "field"]) + &rows.collect::<String>();
    section("What is different", &differences_counts(differences, kind), &rows)
}

/// The visitors of each day.
pub(super) fn visitors(visitors: &Visitors) -> String {
    let days = visitors.days[earlier_days(visitors)..]
        .iter()
        .map(|day| row(&visitor_cells(day), &day.date));
    let rows = head(&VISITOR_COLUMNS) + &days.collect::<String>();
    let remark = |remark: String| format!("<p class=\"dim\">{}</p>\n", safe(&remark));
    let remarks: String = visitors_remarks(visitors).into_iter().map(remark).collect();
    section("Visitors", &visitors_counts(visitors), &rows) + &remarks
}

/// Robots that do not call themselves so.
pub(super) fn robots(robots: &Robots) -> String {
    let [requests, bytes, errors] = ROBOT_COLUMNS;
    let costs = |sums: &RobotSums, more: [String; 2]| [&robot_cells(sums)[..], &more].concat();
    let clients = robots.rows.iter().map(|own| {
        let agent = own.agent.as_deref().map_or_else(|| "(several)".to_owned(), safe);
        row(&costs(&own.sums, [robot_reasons(own), agent]), &value(&own.value.bytes()))
    });
    let clients = head(&[requests, bytes, errors, "why", "agent"]) + &clients.collect::<String>();
    let cohorts = robots.cohort_rows.iter().map(|own| {
        let cells = [separated(own.sums.clients), safe(&own.pattern)];
        row(&costs(&own.sums, cells), &value(&own.value.bytes()))
    });
    let cohorts =
        head(&[requests, bytes, errors, "clients", "paths"]) + &cohorts.collect::<String>();
    let counts = format!("{} of {}", separated(robots.cohorts), robot_sums(&robots.cohort_clients));
    let remark = |remark: String| format!("<p class=\"dim\">{}</p>\n", safe(&remark));
    section("Like robots", &robot_sums(&robots.clients), &clients)
        + &section("Cohorts", &counts, &cohorts)
        + &robot_remarks(robots).into_iter().map(remark).collect::<String>()
}

/// How the values of each field have changed.
pub(super) fn changes(comparison: &Comparison) -> String {
    let kind = comparison.previous.kind;
    let mut lists: Vec<&Changes> = comparison.lists.iter().collect();
    lists.sort_by_key(|list| list_order(&list.field, kind));
    let lists: String = lists.into_iter().map(list_of_changes).collect();
    format!("<div class=\"lists\">\n{lists}</div>\n")
}

fn list_of_changes(list: &Changes) -> String {
    let counts = [(list.new_values, "new"), (list.gone_values, "gone")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, kind)| format!("{} {kind}", lower_bound(count, list.is_estimated)))
        .collect();
    let rows = list.new.iter().chain(&list.gone).chain(&list.changed).map(|change_row| {
        let (now, before) = (change_row.tally.selected.count, change_row.tally.previous().count);
        let percent = match (now, before) {
            // Records of the value in the other period may be in the remainder.
            (_, 0) | (0, _) if change_row.value.uncounted_max > 0 => String::new(),
            (_, 0) => "new".to_owned(),
            (0, _) => "gone".to_owned(),
            _ => change(now, before),
        };
        let difference = coloured(difference(now, before));
        row(
            &[
                counted(now, &change_row.value),
                counted(before, &change_row.value),
                difference,
                percent,
                errors_changed(&change_row.tally),
            ],
            &value(&change_row.value.bytes()),
        )
    });
    let head = head(&["selected", "previous", "change", "", ""]);
    section(&safe(title_of(&list.field)), &counts.join(", "), &(head + &rows.collect::<String>()))
}

/// Formats a difference, with a colour for its sign. The colours do not mean good and bad.
fn coloured(difference: i64) -> String {
    let class = if difference < 0 { "down" } else { "up" };
    format!("<span class=\"{class}\">{}</span>", signed(difference))
}

fn section(title: &str, small: &str, rows: &str) -> String {
    format!(
        "<section>\n<h2>{title} <small>{small}</small></h2>\n<div class=\"wide\"><table>\n{rows}</table></div>\n</section>\n"
    )
}

fn head(names: &[&str]) -> String {
    let cells: String = names.iter().map(|name| column(name)).collect();
    format!("<tr>{cells}<th class=\"value\" scope=\"col\"></th></tr>\n")
}

pub(super) fn column(name: &str) -> String {
    format!("<th scope=\"col\">{name}</th>")
}

/// Formats a row whose first cell is the value, which stays in view when the numbers are scrolled.
pub(super) fn named_row(value: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr><td class=\"value name\">{value}</td>{cells}</tr>\n")
}

fn row(cells: &[String], value: &str) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}<td class=\"value\">{value}</td></tr>\n")
}
