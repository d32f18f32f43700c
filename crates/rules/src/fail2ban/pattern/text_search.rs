//! A search for one of several texts.

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, Input, MatchKind, Span};
use memchr::memmem::Finder;

/// Finds the first occurrence of any of several texts.
#[derive(Debug, Clone)]
pub(super) struct TextSearch(Kind);

#[derive(Debug, Clone)]
enum Kind {
    One(Finder<'static>),
    /// A few texts, which are searched with vector instructions.
    Few(Searcher),
    Many(AhoCorasick),
}

impl TextSearch {
    /// Makes a search for texts. `None` if there are no texts, or one is empty.
    pub(super) fn new<T: AsRef<str>>(texts: &[T]) -> Option<Self> {
        let texts = || texts.iter().map(AsRef::as_ref);
        if texts().any(str::is_empty) {
            return None;
        }
        let mut all = texts();
        let kind = match (all.next(), all.next()) {
            (None, _) => return None,
            (Some(only), None) => Kind::One(Finder::new(only).into_owned()),
            _ => match Searcher::new(texts()) {
                Some(few) => Kind::Few(few),
                None => {
                    let mut builder = AhoCorasick::builder();
                    Kind::Many(builder.match_kind(MatchKind::LeftmostFirst).build(texts()).ok()?)
                }
            },
        };
        Some(Self(kind))
    }

    /// Returns the position of the first occurrence at or after `start`.
    pub(super) fn find(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let end = bytes.len();
        match &self.0 {
            Kind::One(finder) => finder.find(&bytes[start..]).map(|place| start + place),
            Kind::Few(few) => few.find_in(bytes, Span { start, end }).map(|found| found.start()),
            Kind::Many(many) => {
                many.find(Input::new(bytes).range(start..end)).map(|found| found.start())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::TextSearch;

    #[test]
    fn empty_texts_are_not_searched() {
        assert!(TextSearch::new::<&str>(&[]).is_none());
        assert!(TextSearch::new(&["a", ""]).is_none());
    }

    proptest! {
        #[test]
        fn each_search_finds_the_first_text(
            texts in prop::collection::vec("[ab]{1,4}", 1..5),
            others in prop_oneof![Just(0u32), Just(300)],
            line in "[abc]{0,40}",
            start in 0..40usize,
        ) {
            let others = (0..others).map(|number| format!("x{number:04}"));
            let texts: Vec<String> = texts.into_iter().chain(others).collect();
            let start = start.min(line.len());
            let places = texts.iter().filter_map(|text| line[start..].find(&**text));
            let expected = places.min().map(|place| start + place);
            let search = TextSearch::new(&texts).expect("there are texts");
            prop_assert_eq!(search.find(line.as_bytes(), start), expected);
        }
    }
}
