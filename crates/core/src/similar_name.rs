//! The known name that a person may have meant by an unknown one.

use crate::derived_name::{derived_names, origin_of};

/// Names that people try, and the fields that they mean.
const OTHER_NAMES: [(&str, &str); 26] = [
    ("address", "client"),
    ("agent", "user_agent"),
    ("browser", "user_agent"),
    ("code", "status"),
    ("date", "time"),
    ("domain", "host"),
    ("duration", "request_time"),
    ("file", "log_file"),
    ("http_status", "status"),
    ("ip", "client"),
    ("ip_address", "client"),
    ("latency", "request_time"),
    ("length", "bytes"),
    ("line", "log_line"),
    ("raw", "log_raw"),
    ("referrer", "referer"),
    ("remote_ip", "client"),
    ("response_time", "request_time"),
    ("size", "bytes"),
    ("src", "client"),
    ("timestamp", "time"),
    ("ua", "user_agent"),
    ("url", "path"),
    ("useragent", "user_agent"),
    ("verb", "method"),
    ("vhost", "host"),
];

/// The longest name that is compared, in bytes: longer ones are not misspelled.
const NAME_BYTES_MAX: usize = 64;

/// Returns the name that a person probably meant: another name of a field, or one that differs in
/// few letters. `None` if all names are too different.
///
/// ```
/// use weir_core::nearest_name;
///
/// let names = ["client", "status", "user_agent"];
/// assert_eq!(nearest_name("sttaus", names), Some("status"));
/// assert_eq!(nearest_name("ua", names), Some("user_agent"));
/// assert_eq!(nearest_name("colour", names), None);
/// ```
pub fn nearest_name<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let meant = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, field)| *field);
    let mut nearest: Option<(usize, &str)> = None;
    for candidate in names {
        if Some(candidate) == meant {
            return Some(candidate);
        }
        let distance = distance(&lower, &candidate.to_lowercase());
        let is_near = distance <= 1.max(name.len() / 3);
        if is_near && nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, candidate));
        }
    }
    nearest.map(|(_, candidate)| candidate)
}

/// The end of a message about an unknown name: the nearest of the known names, and all of them
/// after the subject of a sentence about them.
pub(crate) fn names_instead(name: &str, known: &[String], subject: &str) -> String {
    let all = known.join(", ");
    if let Some(origin) = origin_of(name) {
        return format!("it follows from `{origin}`, which is not there; {subject} {all}");
    }
    // Derived fields are not listed, because every log has them.
    let derived = derived_names().iter().map(|derived| derived.name);
    match nearest_name(name, known.iter().map(String::as_str).chain(derived)) {
        Some(nearest) => format!("did you mean `{nearest}`? ({subject} {all})"),
        None => format!("{subject} {all}"),
    }
}

/// The number of letters to add, remove, replace or swap with the next to make one text of the
/// other (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    if from.len().max(to.len()) > NAME_BYTES_MAX {
        return usize::MAX;
    }
    let [from, to]: [Vec<char>; 2] = [from.chars().collect(), to.chars().collect()];
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            let is_swap =
                row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other;
            if is_swap {
                least = least.min(before_last[column - 1] + 1);
            }
            next.push(least);
        }
        before_last = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(0)
}
