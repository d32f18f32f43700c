//! The lists of a report: their titles and their order.

use weir_view::Report;

/// The fields that have a title, in the order of their lists. The fields that only some logs have
/// come after them.
const TITLES: [(&str, &str); 11] = [
    ("path", "Paths"),
    ("client", "Clients"),
    ("status", "Status"),
    ("method", "Methods"),
    ("host", "Hosts"),
    ("referer", "Referers"),
    ("user_agent", "User agents"),
    ("request", "Malformed requests"),
    ("query", "Query strings"),
    ("user", "Users"),
    ("protocol", "Protocols"),
];

/// The title of a field's list: the field's name if it has no other.
pub(crate) fn title_of(field: &str) -> &str {
    TITLES.iter().find(|(name, _)| *name == field).map_or(field, |(_, title)| title)
}

/// The position of a field's list; fields without a title come last.
pub(crate) fn titled_order(field: &str) -> usize {
    TITLES.iter().position(|(name, _)| *name == field).unwrap_or(TITLES.len())
}

/// The fields of a report that have values, in the order of their lists.
pub(crate) fn fields_with_values(report: &Report) -> Vec<&str> {
    let titled = TITLES.iter().map(|(field, _)| *field);
    let is_untitled = |name: &&str| titled_order(name) == TITLES.len();
    let untitled = report.top.keys().map(String::as_str).filter(is_untitled);
    titled.chain(untitled).filter(|field| has_values(report, field)).collect()
}

/// Whether the list of a field says anything. A log writes `-` for a missing value.
fn has_values(report: &Report, field: &str) -> bool {
    match report.top.get(field).map_or(&[][..], Vec::as_slice) {
        [] => false,
        [row] => !matches!(row.value.text.as_str(), "-" | ""),
        _ => true,
    }
}
