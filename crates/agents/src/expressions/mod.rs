//! An ordered list of expressions, of which those that may match a text are found by one search.
//!
//! The simple version tries each expression in turn:
//!
//! ```text
//! for expression in expressions: if expression matches text: return it
//! ```
//!
//! This one differs in two ways. First, one search for the texts that the expressions require finds
//! the few that may match ([`required`]). An expression that is no more than a text needs nothing
//! else. Secondly, an embedded expression is compiled when one of its texts has been found for the
//! first time, because most never are.

mod required;

use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use weir_core::{BoundedRegex, PatternAccount, PatternBudget, RegexOptions};

use crate::list::{ListError, Problem};

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
pub(crate) type Groups = Vec<Vec<u8>>;

/// A list of expressions.
#[derive(Debug)]
pub(crate) struct Expressions {
    search: AhoCorasick,
    /// The numbers of the expressions that require each text of the search.
    of_text: Vec<Vec<u16>>,
    /// The expressions that require no text, as bits.
    always: Vec<u64>,
    matchers: Vec<Matcher>,
    /// How many groups each expression has.
    groups: Vec<usize>,
    budget: PatternBudget,
}

#[derive(Debug)]
enum Matcher {
    /// An expression that is a text.
    Plain(Vec<u8>),
    /// An expression that is compiled when it may match. `None` inside if it cannot be compiled.
    Compiled { text: String, regex: OnceLock<Option<BoundedRegex>> },
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
                Some(required) => texts.extend(required.into_iter().map(|text| (text, number))),
                None => always[usize::from(number / 64)] |= 1 << (number % 64),
            }
            groups.push(expression.properties().explicit_captures_len());
            matchers.push(Matcher::new(written, &expression, origin, &budget)?);
        }
        texts.sort();
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
        Ok(Self { search, of_text, always, matchers, groups, budget })
    }

    /// Returns how many groups an expression has.
    pub(crate) fn group_count(&self, number: usize) -> usize {
        self.groups[number]
    }

    /// Returns the number of the first expression that matches, and its groups. The first group is
    /// the whole match.
    pub(crate) fn first(&self, text: &[u8]) -> Option<(usize, Groups)> {
        let text = beginning(text);
        let mut matching = self.candidates(text);
        matching.find_map(|number| Some((number, self.groups(number, text)?)))
    }

    /// Returns the numbers of all expressions that match, in order, with the texts that they match.
    pub(crate) fn all<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, Vec<u8>)> + 'a {
        let text = beginning(text);
        let whole = |groups: Groups| groups.into_iter().next();
        self.candidates(text)
            .filter_map(move |number| Some((number, self.groups(number, text).and_then(whole)?)))
    }

    /// Returns the numbers of the expressions that may match, in order.
    fn candidates(&self, text: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let mut bits = self.always.clone();
        for found in self.search.find_overlapping_iter(text) {
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

    fn groups(&self, number: usize, text: &[u8]) -> Option<Groups> {
        match &self.matchers[number] {
            Matcher::Plain(plain) => Some(vec![plain.clone()]),
            Matcher::Compiled { text: expression, regex } => {
                let compiled = || BoundedRegex::new(expression, OPTIONS, &self.budget).ok();
                regex.get_or_init(compiled).as_ref()?.groups(text)
            }
        }
    }
}

impl Matcher {
    fn new(
        written: Written,
        expression: &Hir,
        origin: Origin,
        budget: &PatternBudget,
    ) -> Result<Self, ListError> {
        if let Some(plain) = required::plain_text(expression).filter(|it| it.len() > 1) {
            return Ok(Self::Plain(plain.to_vec()));
        }
        let regex = OnceLock::new();
        if origin == Origin::User {
            let compiled = BoundedRegex::new(&written.text, OPTIONS, budget);
            let compiled = compiled.map_err(|_| ListError::new(written.line, Problem::TooLarge))?;
            regex.get_or_init(|| Some(compiled));
        }
        Ok(Self::Compiled { text: written.text, regex })
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
mod tests {
    use proptest::prelude::*;

    use super::{Expressions, Origin, Written};
    use crate::list::Problem;
    use weir_core::{BoundedRegex, PatternBudget};

    fn written(texts: &[String]) -> Vec<Written> {
        let numbered = texts.iter().zip(1..);
        numbered.map(|(text, line)| Written { line, text: text.clone() }).collect()
    }

    fn list(texts: &[&str]) -> Result<Expressions, crate::ListError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Expressions::new(written(&texts), Origin::User)
    }

    #[test]
    fn the_first_expression_that_matches_wins_and_has_its_groups() {
        let list = list(&[r"(Foo)/(\d+)(x)?", "Foo", "(?:)", "Bar"]).expect("it is valid");
        let first = |text: &str| list.first(text.as_bytes());
        let groups = ["Foo/12", "Foo", "12", ""].map(|it| it.as_bytes().to_vec()).to_vec();
        assert_eq!(first("a Foo/12"), Some((0, groups)));
        assert_eq!(first("a Foo"), Some((1, vec![b"Foo".to_vec()])));
        assert_eq!(first("Bar").map(|it| it.0), Some(2), "an expression that requires no text");
        let all: Vec<usize> = list.all(b"Bar Foo/1").map(|it| it.0).collect();
        assert_eq!(all, [0, 1, 2, 3]);
    }

    #[test]
    fn a_wrong_expression_is_named_by_its_line() {
        let problem = |texts: &[&str]| {
            let error = list(texts).expect_err("it is wrong");
            (error.line(), error.to_string())
        };
        let (line, text) = problem(&["a", "(b"]);
        assert_eq!(line, 2);
        assert!(text.contains("line 2") && text.contains("unclosed group"), "{text}");
        let (line, text) = problem(&["a", "b", r"(\w{1000}){1000}"]);
        assert_eq!(line, 3);
        assert!(text.contains("too large"), "{text}");
        let (line, _) = problem(&["a", &"b".repeat(5000)]);
        assert_eq!(line, 2);
        let many = vec!["(a)"; super::EXPRESSIONS_MAX + 1];
        assert_eq!(problem(&many).0, super::EXPRESSIONS_MAX + 1);
    }

    #[test]
    fn many_large_expressions_are_refused_together() {
        let large = format!("({})(?:x|y)", "[a-z]{90}".repeat(60));
        let error = list(&vec![&*large; 4000]).expect_err("they take too much memory");
        assert!(matches!(error.problem(), Problem::TooLarge), "{error}");
        assert!(error.line() > 2, "{error}");
    }

    /// Expressions of few letters, so that they often match.
    fn expression() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "[ab]{1,4}",
            Just("[ab]".to_owned()),
            Just(".".to_owned()),
            Just("^".to_owned()),
            Just("$".to_owned()),
            Just(r"\d".to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..4).prop_map(|it| it.concat()),
                proptest::collection::vec(inner.clone(), 1..4)
                    .prop_map(|it| format!("({})", it.join("|"))),
                inner.clone().prop_map(|it| format!("(?:{it})?")),
                inner.clone().prop_map(|it| format!("(?:{it})*")),
                inner.clone().prop_map(|it| format!("(?:{it})+")),
                inner.prop_map(|it| format!("(?:{it}){{2,3}}")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_search_leaves_out_no_match(
            texts in proptest::collection::vec(expression(), 1..8),
            agents in proptest::collection::vec("[ab1]{0,8}", 1..16),
        ) {
            let list = Expressions::new(written(&texts), Origin::Embedded).expect("valid");
            let alone: Vec<BoundedRegex> = texts
                .iter()
                .map(|text| BoundedRegex::new(text, super::OPTIONS, &PatternBudget::default()))
                .collect::<Result<_, _>>()
                .expect("valid");
            for agent in &agents {
                let found: Vec<_> = list.all(agent.as_bytes()).map(|it| it.0).collect();
                let matching = |regex: &&BoundedRegex| regex.is_match(agent.as_bytes());
                let numbers = alone.iter().enumerate().filter(|it| matching(&it.1));
                prop_assert_eq!(found, numbers.map(|it| it.0).collect::<Vec<_>>(), "{}", agent);
            }
        }
    }
}
