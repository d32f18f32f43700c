//! Conditions in place of values with wildcards.

use super::equality::network;
use crate::field::Field;

/// A condition without wildcards that accepts what one with wildcards would.
pub(super) fn without_wildcards(name: &str, field: Option<Field>, text: &str) -> String {
    if field == Some(Field::Client)
        && let Some(network) = network(text)
    {
        return format!("{name}={network}");
    }
    match text.trim_end_matches('*') {
        "" => format!("{name}!=(none)"),
        prefix if !prefix.contains('*') => format!("{name}^={prefix}"),
        _ => {
            let parts: Vec<String> = text.split('*').map(regex::escape).collect();
            let expression = parts.join(".*");
            let expression = match expression.strip_prefix(".*") {
                Some(rest) => rest.to_owned(),
                None => format!("^{expression}"),
            };
            let expression = match expression.strip_suffix(".*") {
                Some(rest) => rest.to_owned(),
                None => format!("{expression}$"),
            };
            format!("{name}~'{expression}'")
        }
    }
}
