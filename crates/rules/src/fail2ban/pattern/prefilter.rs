//! A search for texts, which tells most lines that no pattern matches.

use regex::Regex;

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
        Self { searches: pattern.required.iter().filter_map(search).collect() }
    }

    /// The texts that each of some patterns requires: a line must have one of any of them.
    pub(in crate::fail2ban) fn of_any(patterns: &[Pattern]) -> Self {
        let best: Option<Vec<&Texts>> =
            patterns.iter().map(|pattern| pattern.required.first()).collect();
        let all: Texts = best.unwrap_or_default().into_iter().flatten().cloned().collect();
        Self { searches: search(&all).into_iter().collect() }
    }

    /// Whether the patterns may match a text.
    pub(in crate::fail2ban) fn accepts(&self, text: &str) -> bool {
        self.searches.iter().all(|search| search.is_match(text))
    }
}

fn search(texts: &Texts) -> Option<Regex> {
    if texts.is_empty() {
        return None;
    }
    let escaped: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
    Regex::new(&escaped.join("|")).ok()
}
