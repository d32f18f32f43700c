//! Comparisons of `req.url`, which is the path and, after a `?`, the query. A log has them apart.

use super::super::selection::{Selection, TextField};

/// What is said about a pattern that may match over the `?`.
const APART: &str =
    "path and query are compared apart: a match that goes over the `?` is not found";

/// Groups with which a pattern says that the path ends.
const ENDS_OF_PATH: [&str; 7] =
    [r"(\?|$)", r"($|\?)", r"(\?.*)?$", r"(?:\?|$)", r"(?:$|\?)", r"(\?|\z)", r"(?:\?.*)?$"];

pub(super) fn equals(value: &str) -> Selection {
    let (path, query) = value.split_once('?').unwrap_or((value, ""));
    let [path_field, query_field] = ["path", "query"].map(TextField::new);
    Selection::all(vec![path_field.equals(path), query_field.equals(query)])
}

/// The requests of which the URL matches a regular expression, and what is to be said about it.
pub(super) fn matches(pattern: &str) -> (Selection, Option<&'static str>) {
    let [path, query] = ["path", "query"].map(TextField::new);
    let end_of_path = ENDS_OF_PATH.iter().find_map(|end| pattern.strip_suffix(end));
    let begins = pattern.starts_with('^') || pattern.starts_with("(?i)^");
    if let Some(beginning) = end_of_path {
        let selection = path.matches(&format!("{beginning}$"));
        return (selection, (!begins || may_cross(beginning)).then_some(APART));
    }
    let ends = pattern.ends_with('$') && !pattern.ends_with(r"\$");
    let selection = match (begins, ends) {
        (true, false) => path.matches(pattern),
        (true, true) => Selection::all(vec![path.matches(pattern), query.is_empty()]),
        (false, true) => Selection::any(vec![
            query.matches(pattern),
            Selection::all(vec![path.matches(pattern), query.is_empty()]),
        ]),
        (false, false) => Selection::any(vec![path.matches(pattern), query.matches(pattern)]),
    };
    (selection, may_cross(pattern).then_some(APART))
}

/// Whether a pattern has a part that may match a `?`.
fn may_cross(pattern: &str) -> bool {
    let mut is_escaped = false;
    let mut before = ' ';
    for next in pattern.chars() {
        let crosses = match (is_escaped, next) {
            (true, '?' | 'S' | 'D' | 'W') | (false, '.') => true,
            // A class of all other characters.
            (false, '^') => before == '[',
            _ => false,
        };
        if crosses {
            return true;
        }
        is_escaped = next == '\\' && !is_escaped;
        before = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{equals, matches};

    #[test]
    fn patterns_are_compared_with_path_and_query() {
        let no_query = "(query=(none) or query=(empty))";
        for (pattern, condition, is_noted) in [
            ("^/login", "path~'^/login'".to_owned(), false),
            (r"^/login(\?|$)", "path~'^/login$'".to_owned(), false),
            (r"^/login(\?.*)?$", "path~'^/login$'".to_owned(), false),
            ("^/login$", format!("(path~'^/login$' and {no_query})"), false),
            (r"\.php$", format!(r"(query~'\.php$' or (path~'\.php$' and {no_query}))"), false),
            ("wp-login", "(path~'wp-login' or query~'wp-login')".to_owned(), false),
            ("^/a/.*/b", "path~'(?-u)^/a/.*/b'".to_owned(), true),
            (r"^/a\?x=1", r"path~'^/a\?x=1'".to_owned(), true),
            (r"(?i)^/a[^/]*(\?|$)", "path~'(?-u)(?i)^/a[^/]*$'".to_owned(), true),
        ] {
            let (selection, note) = matches(pattern);
            assert_eq!(selection.condition(), Some(condition), "{pattern}");
            assert_eq!(note.is_some(), is_noted, "{pattern}");
        }
        assert_eq!(equals("/a?b").condition().as_deref(), Some("(path~'^/a$' and query~'^b$')"));
    }
}
