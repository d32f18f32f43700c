//! The colours of a histogram.

/// The number of the colour of group number `index`, of `colours` colours. Status classes have
/// fixed colours.
pub(crate) fn colour_number(index: usize, name: &str, colours: usize) -> usize {
    match name {
        "2xx" => 0,
        "3xx" => 1,
        "4xx" => 2,
        "5xx" => 3,
        "1xx" => 5,
        "other" => 6,
        _ => index % colours,
    }
}
