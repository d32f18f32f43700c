//! The colours of a histogram.

/// Returns the number of the colour of group number `index`, out of `colours` colours. Status
/// classes, the levels of error logs (syslog's, RFC 5424) and the actions of firewalls have fixed
/// colours.
pub(crate) fn colour_number(index: usize, name: &str, colours: usize) -> usize {
    match name {
        "2xx" => 0,
        "3xx" => 1,
        "4xx" => 2,
        "5xx" => 3,
        "emerg" | "alert" | "crit" | "error" | "BLOCK" | "DROP" | "REJECT" | "DENY" => 3,
        "warn" | "LIMIT" => 2,
        "notice" => 1,
        "info" | "ALLOW" | "ACCEPT" => 0,
        "1xx" | "debug" => 5,
        "other" => 6,
        _ => index % colours,
    }
}
