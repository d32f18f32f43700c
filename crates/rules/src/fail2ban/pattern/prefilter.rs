//! A search for texts, which tells most lines that no pattern matches.

use regex::bytes::Regex;

use super::engine::Pattern;
use super::literals::Texts;

/// Texts of which one must occur in a line that a pattern matches.
#[derive(Debug, Clone, Default)]
pub(in crate::fail2ban) struct Prefilter {
    /// Searches for all of the texts of a list. A line must be found by each.
    searches: Vec<Regex>,
}

impl Prefilter {
    /// The texts that a pattern requires.
    pub(in crate::fail2ban) fn of(pattern: &Pattern) -> Self {
        let searches = pattern.required.iter().filter_map(|texts| search(texts)).collect();
        Self { searches }
    }

    /// What a line must have, with its date, so that a prefix and one of some patterns may match.
    pub(in crate::fail2ban) fn of_line(prefix: Option<&Pattern>, patterns: &[Pattern]) -> Self {
        let best: Option<Vec<&Texts>> =
            patterns.iter().map(|pattern| pattern.required.first()).collect();
        let any: Texts = best.unwrap_or_default().into_iter().flatten().cloned().collect();
        let prefixes = prefix.into_iter().flat_map(|prefix| &prefix.required);
        let searches = prefixes.chain([&any]).filter_map(|texts| {
            let mut parts: Vec<&str> = texts.iter().map(|text| with_date(text)).collect();
            parts.sort_unstable();
            parts.dedup();
            search(&parts).filter(|_| parts.iter().all(|part| !part.is_empty()))
        });
        Self { searches: searches.collect() }
    }

    /// Whether the patterns may match a line.
    pub(in crate::fail2ban) fn accepts(&self, line: &[u8]) -> bool {
        self.searches.iter().all(|search| search.is_match(line))
    }
}

/// The longest part of a text that is in a line before its date is cut out. Dates are cut out of
/// brackets or at the start of a line, a line feed is added, and what is not UTF-8 is replaced.
fn with_date(text: &str) -> &str {
    let mut longest = "";
    let mut start = 0;
    let ends = text.match_indices("[]").map(|(at, _)| (at + 1, at + 1));
    let gaps = text.match_indices(['\n', '\u{fffd}']).map(|(at, gap)| (at, at + gap.len()));
    let mut gaps: Vec<(usize, usize)> = ends.chain(gaps).collect();
    gaps.sort_unstable();
    for (end, next) in gaps.into_iter().chain([(text.len(), text.len())]) {
        let part = &text[start..end];
        longest = if part.len() >= longest.len() { part } else { longest };
        start = next;
    }
    longest
}

fn search<T: AsRef<str>>(texts: &[T]) -> Option<Regex> {
    if texts.is_empty() {
        return None;
    }
    let escaped: Vec<String> = texts.iter().map(|text| regex::escape(text.as_ref())).collect();
    Regex::new(&escaped.join("|")).ok()
}

#[cfg(test)]
mod tests {
    use super::with_date;

    #[test]
    fn parts_that_lie_around_a_date_are_found_with_it() {
        for (text, part) in [
            ("\" 404 ", "\" 404 "),
            (" - - [] \"GET /admin", "] \"GET /admin"),
            ("client [] x[]", "client ["),
            ("denied\n", "denied"),
            ("a\u{fffd}bc", "bc"),
            ("[]", "]"),
            ("\n", ""),
        ] {
            assert_eq!(with_date(text), part, "{text:?}");
        }
    }
}
