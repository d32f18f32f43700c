//! An ordered list of expressions, of which those that may match a text are found by one search.
//!
//! The simple version tries each expression in turn:
//!
//! ```text
//! for expression in expressions: if expression matches text: return it
//! ```
//!
//! This one differs in three ways. First, most texts differ from another only in their digits. What
//! matches is found for their common [`outline`] once, and remembered ([`known`]); only expressions that
//! care which digits a text has are tried again. Secondly, one search for the texts that the expressions
//! require finds the few that may match ([`required`]). Thirdly, an embedded expression is compiled when
//! one of its texts has been found for the first time, because most never are.

mod known;
mod matcher;
mod outline;
mod required;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use weir_core::{PatternAccount, PatternBudget, RegexOptions};

use crate::list::{ListError, Problem};
use known::{Candidate, Candidates, KnownOutlines};
use matcher::Matcher;

/// The most expressions of a list: a few times those of the largest list that is published.
pub(crate) const EXPRESSIONS_MAX: usize = 8_192;

/// The longest expression, in bytes.
pub(crate) const EXPRESSION_BYTES_MAX: usize = 4_096;

/// Only the beginning of a longer text is looked at, in bytes. Agents of browsers have at most a few
/// hundred.
pub(crate) const TEXT_BYTES_MAX: usize = 2_048;

/// The largest memory of the compiled expressions of a list that a user has named, in bytes.
const LIST_BYTES_MAX: usize = 128 << 20;

/// How an expression is compiled. Classes are of bytes, since that is what the authors of the lists
/// mean by `\d`, and it keeps programs small.
const OPTIONS: RegexOptions = RegexOptions {
    is_unicode: false,
    ignores_case: false,
    program_bytes_max: 1 << 20,
    cache_bytes_max: 512 << 10,
    keeps_groups: true,
};

/// Where a list is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The program itself: tests compile each expression.
    Embedded,
    /// A user, who hears about an expression that is wrong or too large at the start.
    User,
}

/// An expression as it is written in a list.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// The number of its line, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The first match of an expression, and its groups. Groups that are not set are empty.
pub(crate) type Groups<'t> = Vec<&'t [u8]>;

/// A list of expressions.
#[derive(Debug)]
pub(crate) struct Expressions {
    /// Finds the outlines of the texts that expressions require.
    search: AhoCorasick,
    /// The numbers of the expressions that require each text of the search.
    of_text: Vec<Vec<u16>>,
    /// The expressions that require no text, as bits.
    always: Vec<u64>,
    matchers: Vec<Matcher>,
    /// How many groups each expression has.
    groups: Vec<usize>,
    budget: PatternBudget,
    known: KnownOutlines,
}

thread_local! {
    /// The memory for the outline of a text.
    static OUTLINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Expressions {
    /// Makes a list of expressions, in their order.
    ///
    /// # Errors
    /// If there are too many, or if one is not valid or too large.
    pub(crate) fn new(written: Vec<Written>, origin: Origin) -> Result<Self, ListError> {
        if let Some(first) = written.get(EXPRESSIONS_MAX) {
            return Err(ListError::new(first.line, Problem::TooMany(EXPRESSIONS_MAX)));
        }
        let budget = match origin {
            Origin::Embedded => PatternBudget::default(),
            Origin::User => {
                let account = Arc::new(PatternAccount::new(LIST_BYTES_MAX));
                PatternBudget::new(vec![account], Arc::default())
            }
        };
        let mut always = vec![0; written.len().div_ceil(64)];
        let mut texts: Vec<(Vec<u8>, u16)> = Vec::new();
        let mut matchers = Vec::with_capacity(written.len());
        let mut groups = Vec::with_capacity(written.len());
        for (number, written) in (0u16..).zip(written) {
            let expression = parse(&written)?;
            match required::required_texts(&expression) {
                Some(required) => {
                    let outlines = required.iter().map(|text| outline::outline(text));
                    texts.extend(outlines.map(|text| (text, number)));
                }
                None => always[usize::from(number / 64)] |= 1 << (number % 64),
            }
            groups.push(expression.properties().explicit_captures_len());
            matchers.push(Matcher::new(written, &expression, origin, &budget)?);
        }
        texts.sort();
        texts.dedup();
        let mut of_text: Vec<Vec<u16>> = Vec::new();
        let mut searched: Vec<Vec<u8>> = Vec::new();
        for (text, number) in texts {
            if searched.last() != Some(&text) {
                searched.push(text);
                of_text.push(Vec::new());
            }
            of_text.last_mut().into_iter().for_each(|numbers| numbers.push(number));
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&searched)
            .map_err(|_| ListError::new(0, Problem::TooLarge))?;
        let known = KnownOutlines::default();
        Ok(Self { search, of_text, always, matchers, groups, budget, known })
    }

    /// Returns how many groups an expression has.
    pub(crate) fn group_count(&self, number: usize) -> usize {
        self.groups[number]
    }

    /// Returns the number of the first expression that matches, and its groups. The first group is
    /// the whole match.
    pub(crate) fn first<'t>(&self, text: &'t [u8]) -> Option<(usize, Groups<'t>)> {
        let text = beginning(text);
        let known = self.known(text, false);
        let mut candidates = known.candidates.iter();
        candidates.find_map(|candidate| Some((candidate.number, self.groups(candidate, text)?)))
    }

    /// Returns the numbers of all expressions that match, in order, with the texts that they match.
    pub(crate) fn all<'t>(&self, text: &'t [u8]) -> Vec<(usize, &'t [u8])> {
        let text = beginning(text);
        let known = self.known(text, true);
        let whole = |candidate: &Candidate| Some(*self.groups(candidate, text)?.first()?);
        let candidates = known.candidates.iter();
        candidates.filter_map(|candidate| Some((candidate.number, whole(candidate)?))).collect()
    }

    /// Returns the candidates of a text, by its outline.
    fn known(&self, text: &[u8], needs_all: bool) -> Arc<Candidates> {
        OUTLINE.with_borrow_mut(|outline| {
            outline::outline_into(text, outline);
            self.known.candidates(outline, needs_all, || self.candidates(outline, needs_all))
        })
    }

    /// Finds the candidates of an outline.
    fn candidates(&self, outline: &[u8], needs_all: bool) -> Candidates {
        let mut candidates = Vec::new();
        for number in self.possible(outline) {
            let matcher = &self.matchers[number];
            let groups = match &matcher.outline {
                Some(own) => own.groups(outline, &self.budget).map(|_| None),
                None => matcher.expression.groups(outline, &self.budget).map(Some),
            };
            let Some(groups) = groups else { continue };
            let is_certain = groups.is_some();
            candidates.push(Candidate { number, groups });
            if is_certain && !needs_all {
                return Candidates { candidates, are_all: false };
            }
        }
        Candidates { candidates, are_all: true }
    }

    /// Returns the numbers of the expressions whose required texts an outline has, in order.
    fn possible(&self, outline: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let mut bits = self.always.clone();
        for found in self.search.find_overlapping_iter(outline) {
            for number in &self.of_text[found.pattern().as_usize()] {
                bits[usize::from(number / 64)] |= 1 << (number % 64);
            }
        }
        bits.into_iter().enumerate().flat_map(|(index, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.checked_sub(1)?;
                Some(index * 64 + bit)
            })
        })
    }

    /// Returns the groups of a candidate in a text that has its outline; `None` if it does not match.
    fn groups<'t>(&self, candidate: &Candidate, text: &'t [u8]) -> Option<Groups<'t>> {
        let slices = |ranges: &[Range<usize>]| ranges.iter().map(|it| &text[it.clone()]).collect();
        match &candidate.groups {
            Some(ranges) => Some(slices(ranges)),
            None => {
                let expression = &self.matchers[candidate.number].expression;
                Some(slices(&expression.groups(text, &self.budget)?))
            }
        }
    }
}

/// Returns the part of a text that is looked at.
fn beginning(text: &[u8]) -> &[u8] {
    &text[..text.len().min(TEXT_BYTES_MAX)]
}

fn parse(written: &Written) -> Result<Hir, ListError> {
    if written.text.len() > EXPRESSION_BYTES_MAX {
        return Err(ListError::new(written.line, Problem::TooLong(EXPRESSION_BYTES_MAX)));
    }
    let mut parser = ParserBuilder::new().utf8(false).unicode(false).build();
    let parsed = parser.parse(&written.text);
    parsed.map_err(|error| {
        // The first line of a message is a title, the others show the place.
        let text = match &error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        };
        ListError::new(written.line, Problem::Expression(text))
    })
}

#[cfg(test)]
mod tests;
