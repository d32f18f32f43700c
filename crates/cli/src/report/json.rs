//! The report as one JSON object.

use serde_json::{Value, json};
use weir_core::{Tally, Zone};
use weir_view::{Report, find_zone};

use super::Contents;
use super::compare::{Changes, Comparison, Range, difference, percent};
use super::group::{Group, GroupRow};
use crate::outcome::Failure;

/// The object: that of the report, with `group` and `compare` where they were asked for.
pub(super) fn write(contents: &Contents) -> Result<String, Failure> {
    let mut text = serde_json::to_string(&contents.report).map_err(Failure::new)?;
    let is_compared = contents.comparison.is_some();
    let group = contents.group.as_ref().map(|group| ("group", group_value(group, is_compared)));
    let compare = contents.comparison.as_ref();
    let compare = compare.map(|comparison| ("compare", comparison_value(contents, comparison)));
    for (name, value) in group.into_iter().chain(compare) {
        // The report keeps the order of its own members.
        text.pop();
        let value = serde_json::to_string(&value).map_err(Failure::new)?;
        text.push_str(&format!(",\"{name}\":{value}}}"));
    }
    Ok(text + "\n")
}

fn group_value(group: &Group, is_compared: bool) -> Value {
    let rows = group.rows.iter().map(|row| row_value(row, is_compared));
    let mut rest = tally_value(group.rest.0, group.rest.1, is_compared);
    rest["values"] = group.rest_values.into();
    json!({"field": group.field, "rows": rows.collect::<Vec<_>>(), "rest": rest})
}

fn comparison_value(contents: &Contents, comparison: &Comparison) -> Value {
    let Comparison { now_range, before_range, before, lists } = comparison;
    let zone = find_zone(&contents.report.time.zone).unwrap_or_else(|_| Zone::utc());
    let range = |range: &Range| {
        let [since, until] = range.stamps(&zone);
        json!({"since": since, "until": until})
    };
    let totals = totals(&contents.report, before).map(|(name, now, before)| {
        let change = json!({
            "now": now, "before": before, "difference": signed(difference(now, before)),
            "percent": percent(now, before),
        });
        (name.to_owned(), change)
    });
    let lists = lists.iter().map(|list| (list.field.clone(), changes_value(list)));
    json!({
        "range": range(now_range),
        "before_range": range(before_range),
        "totals": totals.into_iter().collect::<serde_json::Map<_, _>>(),
        "lists": lists.collect::<serde_json::Map<_, _>>(),
        "before": before,
    })
}

/// The sums that are compared, by their names in a report.
pub(super) fn totals(now: &Report, before: &Report) -> [(&'static str, u64, u64); 4] {
    let clients = |report: &Report| report.distinct.get("client").copied().unwrap_or(0);
    [
        ("matched", now.matched, before.matched),
        ("errors", now.errors, before.errors),
        ("bytes_sent", now.bytes_sent, before.bytes_sent),
        ("clients", clients(now), clients(before)),
    ]
}

fn changes_value(list: &Changes) -> Value {
    let rows =
        |rows: &[GroupRow]| -> Vec<Value> { rows.iter().map(|row| row_value(row, true)).collect() };
    json!({
        "both": rows(&list.both), "both_values": list.both_values,
        "new": rows(&list.new), "new_values": list.new_values,
        "vanished": rows(&list.vanished), "vanished_values": list.vanished_values,
    })
}

fn row_value(row: &GroupRow, is_compared: bool) -> Value {
    let mut value = tally_value(row.now, row.before, is_compared);
    value["value"] = String::from_utf8_lossy(&row.value).into();
    if std::str::from_utf8(&row.value).is_err() {
        let hex: String = row.value.iter().map(|byte| format!("{byte:02x}")).collect();
        value["value_hex"] = hex.into();
    }
    if row.is_remainder {
        value["remainder"] = true.into();
    }
    value
}

fn tally_value(now: Tally, before: Tally, is_compared: bool) -> Value {
    let tally = |tally: Tally| json!({"count": tally.count, "bytes_sent": tally.bytes_sent, "errors": tally.errors});
    let mut value = tally(now);
    if is_compared {
        value["before"] = tally(before);
        value["difference"] = signed(difference(now.count, before.count));
        value["percent"] = percent(now.count, before.count).into();
    }
    value
}

/// A difference as a number, which has 64 bits.
fn signed(difference: i128) -> Value {
    i64::try_from(difference).map_or_else(|_| (difference as f64).into(), Value::from)
}
