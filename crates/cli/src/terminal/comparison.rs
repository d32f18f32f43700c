//! A period next to the previous one.

use weir_view::{Changes, Comparison, EMPTY_VALUE, GroupRow, Period, Report, difference};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit, fit_middle, left, right, width};
use crate::display::{
    LocalTime, at_least, bytes, change, duration, errors_changed, list_order, lower_bound, safe,
    safe_bytes, separated, signed, span, title_of,
};

/// The width of the names, in columns.
const NAME_COLUMNS: usize = 16;

/// The two periods and their sums, line by line.
pub(super) fn totals(report: &Report, comparison: &Comparison, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let mut lines = Vec::new();
    let mut add = |name: &str, text: &str| {
        let text = fit(text, screen.text_columns.saturating_sub(NAME_COLUMNS));
        lines.push(painter.paint(Style::DIM, &left(name, NAME_COLUMNS)) + &text);
    };
    add("Selected", &period(&comparison.selected_period));
    add("Previous", &period(&comparison.previous_period));
    lines.push(String::new());
    let rows = sums(report, &comparison.previous);
    let columns = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths = [1, 2, 3, 4].map(columns);
    for (index, row) in rows.iter().enumerate() {
        let cells = row[1..].iter().zip(widths).map(|(cell, width)| right(cell, width));
        let cells = cells.collect::<Vec<_>>().join("  ");
        let name = painter.paint(Style::DIM, &left(&row[0], NAME_COLUMNS));
        lines.push(match index {
            0 => painter.paint(Style::DIM, (left("", NAME_COLUMNS) + &cells).trim_end()),
            _ => (name + &cells).trim_end().to_owned(),
        });
    }
    lines
}

/// Formats a head and the sums: name, now, before, difference, percent.
fn sums(now: &Report, before: &Report) -> Vec<[String; 5]> {
    let head = ["", "selected", "previous", "change", ""].map(str::to_owned);
    let number = |name: &str, now: u64, before: u64| {
        let difference = signed(difference(now, before));
        [name.to_owned(), separated(now), separated(before), difference, change(now, before)]
    };
    let mut rows = vec![head, number(now.kind.title(), now.matching, before.matching)];
    if now.has_sum("errors") {
        rows.push(number("Errors", now.errors, before.errors));
    }
    if now.has_sum("bytes_sent") {
        let (sent, sent_before) = (now.bytes_sent, before.bytes_sent);
        let sign = if sent < sent_before { "-" } else { "+" };
        rows.push([
            "Bytes sent".to_owned(),
            bytes(sent),
            bytes(sent_before),
            format!("{sign}{}", bytes(sent.abs_diff(sent_before))),
            change(sent, sent_before),
        ]);
    }
    let clients = |report: &Report| report.distinct.get("client").copied();
    if let (Some(clients_now), Some(clients_before)) = (clients(now), clients(before)) {
        let mut row = number("Clients", clients_now, clients_before);
        for (cell, report) in row[1..3].iter_mut().zip([now, before]) {
            if report.is_estimated("client") {
                cell.insert(0, '≥');
            }
        }
        rows.push(row);
    }
    for (field, title, now) in now.durations() {
        let Some((.., before)) = before.durations().find(|(other, ..)| *other == field) else {
            continue;
        };
        let (now, before) = (now.p50, before.p50);
        let sign = if now < before { "-" } else { "+" };
        let change = format!("{sign}{}", duration((now - before).abs()));
        let name = format!("{} median", title.trim_end_matches(" time"));
        rows.push([name, duration(now), duration(before), change, String::new()]);
    }
    rows
}

fn period(period: &Period) -> String {
    let [since, until] = [&period.since, &period.until].map(|stamp| LocalTime::parse(stamp));
    let (Some(since), Some(until)) = (since, until) else { return String::new() };
    let length = span(period.length_s());
    format!("{} to before {} ({length})", since.full(), until.full())
}

/// Formats how the values of the fields have changed, list by list.
pub(super) fn lists(comparison: &Comparison, screen: &Screen) -> Vec<String> {
    let kind = comparison.previous.kind;
    let mut lists: Vec<&Changes> = comparison.lists.iter().filter(|list| shows(list)).collect();
    lists.sort_by_key(|list| list_order(&list.field, kind));
    let mut lines = Vec::new();
    for list in lists {
        lines.extend(changes(list, screen));
        lines.push(String::new());
    }
    lines
}

/// Whether the list has a value. A list of only `-` means that the log lacks the field.
fn shows(list: &Changes) -> bool {
    match (&list.changed[..], &list.new[..], &list.gone[..]) {
        ([row], [], []) => !matches!(row.value.text.as_str(), "-" | ""),
        _ => true,
    }
}

fn changes(list: &Changes, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let all = list.changed_values + list.new_values + list.gone_values;
    let shown = list.changed.len() + list.new.len() + list.gone.len();
    let mut numbers = String::new();
    if (shown as u64) < all || list.is_estimated {
        numbers = format!("  {shown} of {}", lower_bound(all, list.is_estimated));
    }
    for (count, what) in [(list.new_values, "new"), (list.gone_values, "gone")] {
        if count > 0 {
            let between = if numbers.is_empty() { "  " } else { ", " };
            let count = lower_bound(count, list.is_estimated);
            numbers = format!("{numbers}{between}{count} {what}");
        }
    }
    let title = painter.paint(Style::TITLE, &safe(title_of(&list.field)));
    let mut lines = vec![title + &painter.paint(Style::DIM, &numbers)];
    let rows: Vec<&GroupRow> = list.new.iter().chain(&list.gone).chain(&list.changed).collect();
    let cells: Vec<[String; 5]> = rows.iter().map(|row| cells(row)).collect();
    let columns = |column: usize| cells.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(columns);
    let used: usize = widths.iter().map(|width| width + 2).sum();
    for (row, cells) in rows.iter().zip(&cells) {
        let numbers = cells.iter().zip(widths).filter(|(_, width)| *width > 0);
        let numbers = numbers.map(|(cell, width)| right(cell, width));
        let numbers = numbers.collect::<Vec<_>>().join("  ");
        let value = safe_bytes(&row.value.bytes());
        let value = if value.is_empty() { EMPTY_VALUE } else { &value };
        let value = fit_middle(value, screen.text_columns.saturating_sub(used + 2));
        lines.push(format!("  {numbers}  {value}"));
    }
    lines
}

fn cells(row: &GroupRow) -> [String; 5] {
    let (now, before) = (row.tally.selected.count, row.tally.previous().count);
    let uncounted = row.value.uncounted_max;
    let what = match (now, before) {
        // Records of the value in the other period may be in the remainder.
        (_, 0) | (0, _) if uncounted > 0 => String::new(),
        (_, 0) => "new".to_owned(),
        (0, _) => "gone".to_owned(),
        _ => change(now, before),
    };
    let [now_shown, before_shown] = [now, before].map(|count| at_least(count, uncounted));
    [now_shown, before_shown, signed(difference(now, before)), what, errors_changed(&row.tally)]
}
