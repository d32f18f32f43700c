//! The lists of a report: their titles and their order, see [`LIST_TITLES`].

use weir_view::{LIST_TITLES, Report};

/// The title of a field's list: the field's name if it has no other.
pub(crate) fn title_of(field: &str) -> &str {
    LIST_TITLES.iter().find(|(name, _)| *name == field).map_or(field, |(_, title)| title)
}

/// The position of a field's list; fields without a title come last.
pub(crate) fn titled_order(field: &str) -> usize {
    LIST_TITLES.iter().position(|(name, _)| *name == field).unwrap_or(LIST_TITLES.len())
}

/// The fields of a report that have values, in the order of their lists.
pub(crate) fn fields_with_values(report: &Report) -> Vec<&str> {
    let titled = LIST_TITLES.iter().map(|(field, _)| *field);
    let is_untitled = |name: &&str| titled_order(name) == LIST_TITLES.len();
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
