//! The lists of a report: their titles and their order, see [`LIST_TITLES`].

use weir_view::{LIST_TITLES, RecordKind, Report};

/// The titles of lists of parts of times, whose names are not those of lists.
const TIME_TITLES: [(&str, &str); 3] =
    [("hour", "Hours of the day"), ("weekday", "Days of the week"), ("date", "Days")];

/// Returns the title of a field's list, or the name of the field if it has no title.
pub(crate) fn title_of(field: &str) -> &str {
    let mut titles = LIST_TITLES.iter().chain(&TIME_TITLES);
    titles.find(|(name, _)| *name == field).map_or(field, |(_, title)| title)
}

/// Returns the position of a field's list in a report about records of a kind: the leading fields
/// of the kind come first, fields without a title last.
pub(crate) fn list_order(field: &str, kind: RecordKind) -> usize {
    let leading = kind.leading_fields();
    let titled =
        || LIST_TITLES.iter().position(|(name, _)| *name == field).unwrap_or(LIST_TITLES.len());
    let position = leading.iter().position(|name| *name == field);
    position.unwrap_or_else(|| leading.len() + titled())
}

/// Returns the fields of a report that have values, in the order of their lists.
pub(crate) fn fields_with_values(report: &Report) -> Vec<&str> {
    let fields = report.top.keys().map(String::as_str);
    let mut fields: Vec<&str> = fields.filter(|field| has_values(report, field)).collect();
    fields.sort_by_key(|field| list_order(field, report.kind));
    fields
}

/// Whether the list of a field is worth showing. A log writes `-` for a missing value.
fn has_values(report: &Report, field: &str) -> bool {
    match report.top.get(field).map_or(&[][..], Vec::as_slice) {
        [] => false,
        [row] => !matches!(row.value.text.as_str(), "-" | ""),
        _ => true,
    }
}
