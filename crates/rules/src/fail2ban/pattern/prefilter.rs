//! A search for texts that rejects most lines that no pattern matches.

use std::cmp::Reverse;
use std::ops::Range;

use super::engine::Pattern;
use super::literals::Texts;
use super::text_search::TextSearch;

/// A necessary condition for lines that a pattern matches: texts that must occur.
#[derive(Debug, Clone, Default)]
pub(in crate::fail2ban) struct Prefilter {
    /// Searches, each for the texts of one list. Each must find a text in the line. The first
    /// search has the longest texts.
    searches: Vec<TextSearch>,
    /// By pattern: its searches. For at least one pattern, each search must find a text in the
    /// line. Empty if they reject no more lines than `searches`.
    by_pattern: Vec<Vec<TextSearch>>,
}

/// The position of a prefilter's first search in a block of lines.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::fail2ban) struct BlockPlace {
    /// The position of the next text from the last line on; the end of the block if there is none.
    next: Option<usize>,
}

impl Prefilter {
    /// Makes the prefilter of a pattern.
    pub(in crate::fail2ban) fn of(pattern: &Pattern) -> Self {
        let searches = pattern.required.iter().filter_map(|texts| TextSearch::new(texts)).collect();
        Self { searches, by_pattern: Vec::new() }
    }

    /// Makes the prefilter of lines with their dates, for a prefix and several patterns of which
    /// one must match.
    pub(in crate::fail2ban) fn of_line(prefix: Option<&Pattern>, patterns: &[Pattern]) -> Self {
        let best: Option<Vec<&Texts>> =
            patterns.iter().map(|pattern| pattern.required.first()).collect();
        let any: Texts = best.unwrap_or_default().into_iter().flatten().cloned().collect();
        let prefixes = prefix.into_iter().flat_map(|prefix| &prefix.required);
        let mut lists: Vec<Vec<&str>> =
            prefixes.chain([&any]).map(|texts| with_dates(texts)).collect();
        lists.sort_by_key(|parts| Reverse(parts.iter().map(|part| part.len()).min()));
        let searches = lists.iter().filter_map(|parts| TextSearch::new(parts)).collect();
        let all = |pattern: &Pattern| {
            let lists = pattern.required.iter().map(|texts| with_dates(texts));
            lists.filter_map(|parts| TextSearch::new(&parts)).collect()
        };
        let has_more = patterns.iter().any(|pattern| pattern.required.len() > 1);
        let by_pattern = if has_more { patterns.iter().map(all).collect() } else { Vec::new() };
        Self { searches, by_pattern }
    }

    /// Whether the patterns may match a line.
    pub(in crate::fail2ban) fn accepts(&self, line: &[u8]) -> bool {
        has_all(&self.searches, line) && self.accepts_by_pattern(line)
    }

    fn accepts_by_pattern(&self, line: &[u8]) -> bool {
        self.by_pattern.is_empty() || self.by_pattern.iter().any(|all| has_all(all, line))
    }

    /// Whether the patterns may match a line of a block, given its range. Lines must be passed
    /// in order, so that the block is searched once instead of line by line.
    pub(in crate::fail2ban) fn accepts_line(
        &self,
        block: &[u8],
        line: Range<usize>,
        place: &mut BlockPlace,
    ) -> bool {
        let Some((first, others)) = self.searches.split_first() else {
            return self.accepts_by_pattern(&block[line]);
        };
        let Range { start, end } = line;
        let next = match place.next {
            Some(next) if next >= start => next,
            _ => first.find(block, start).unwrap_or(block.len()),
        };
        place.next = Some(next);
        let line = &block[start..end];
        next < end && has_all(others, line) && self.accepts_by_pattern(line)
    }
}

fn has_all(searches: &[TextSearch], line: &[u8]) -> bool {
    searches.iter().all(|search| search.find(line, 0).is_some())
}

/// Applies [`with_date`] to each text.
fn with_dates(texts: &Texts) -> Vec<&str> {
    let mut parts: Vec<&str> = texts.iter().map(|text| with_date(text)).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// The longest part of a text that also occurs in the line before its date is cut out. Dates are
/// cut out of brackets or at the start of a line, a line feed is added, and invalid UTF-8 is
/// replaced.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BlockPlace, Prefilter, with_date};
    use crate::fail2ban::pattern::{Groups, Pattern};

    proptest! {
        #[test]
        fn lines_of_a_block_are_accepted_as_by_themselves(
            lines in prop::collection::vec("[abc]{0,8}", 0..20),
            patterns in prop::collection::vec("[abc]{1,3}(\\.[abc]{1,2})?", 0..4),
            has_prefix in any::<bool>(),
        ) {
            let pattern = |text: &str| Pattern::new(text, Groups::Failure, true, &Default::default()).expect("valid");
            let patterns: Vec<Pattern> = patterns.iter().map(|text| pattern(text)).collect();
            let prefix = has_prefix.then(|| pattern("ab"));
            let prefilter = Prefilter::of_line(prefix.as_ref(), &patterns);
            let block = lines.join("\n");
            let (mut place, mut start) = (BlockPlace::default(), 0);
            for line in &lines {
                let range = start..start + line.len();
                let accepted = prefilter.accepts_line(block.as_bytes(), range, &mut place);
                prop_assert_eq!(accepted, prefilter.accepts(line.as_bytes()));
                let matches = |pattern: &Pattern| pattern.is_match(line) == Some(true);
                let is_failure = prefix.iter().all(matches) && patterns.iter().any(matches);
                prop_assert!(accepted || !is_failure, "a failure is never left out");
                start += line.len() + 1;
            }
        }
    }

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
