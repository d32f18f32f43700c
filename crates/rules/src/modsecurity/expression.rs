//! Expressions of `@rx`, in the syntax of PCRE.
//!
//! Most run in time proportional to the text. Those with look-around, references, or atomic groups
//! backtrack, with a limit of steps.

use fancy_regex::{CompileError, Regex, RegexBuilder};
use weir_core::{BoundedRegex, PatternBudget, PatternSize, RegexOptions};

use super::pcre::{Dialect, byte_of, character, has_possessive, translated};
use crate::backtracking_parts::{PART_CACHE_BYTES_MAX, parts_max};
use crate::error::Reason;

/// The largest size of a compiled expression, in bytes.
const PROGRAM_BYTES_MAX: usize = 4 << 20;

/// The most steps of a backtracking expression on one value: some tens of milliseconds.
const STEPS_MAX: usize = 100_000;

/// A compiled expression.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Linear(BoundedRegex),
    Backtracking(Box<Regex>, PatternBudget),
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// There is a match, with the texts of it and of its groups if they were asked for.
    Match(Vec<Vec<u8>>),
    Nothing,
    /// The search took too many steps.
    TooSlow,
}

impl Expression {
    /// Compiles an expression of PCRE.
    ///
    /// # Errors
    /// If it is not valid or too large.
    pub(super) fn new(text: &str, budget: &PatternBudget) -> Result<Self, Reason> {
        let linear = format!("(?s-u){}", translated(text, Dialect::Bytes));
        if has_possessive(&linear) {
            return Self::backtracking(text, budget);
        }
        let options =
            RegexOptions { program_bytes_max: PROGRAM_BYTES_MAX, ..RegexOptions::default() };
        match BoundedRegex::new(&linear, options, budget) {
            Ok(regex) => Ok(Self::Linear(regex)),
            // Another engine would not make it smaller.
            Err(regex::Error::CompiledTooBig(_)) => Err("the expression is too large".into()),
            Err(_) => Self::backtracking(text, budget),
        }
    }

    fn backtracking(text: &str, budget: &PatternBudget) -> Result<Self, Reason> {
        let text = format!("(?s){}", translated(text, Dialect::Characters));
        let refused = |_| fancy_regex::Error::from(CompileError::PatternTooComplex);
        let is_too_large = |error: &fancy_regex::Error| match error {
            fancy_regex::Error::CompileError(error) => {
                matches!(&**error, CompileError::InnerError(it) if it.size_limit().is_some())
            }
            _ => false,
        };
        let build = |size: PatternSize| {
            let mut builder = RegexBuilder::new(&text);
            builder.backtrack_limit(STEPS_MAX).delegate_size_limit(size.program_bytes);
            if let Some(bytes) = size.cache_bytes {
                builder.delegate_dfa_size_limit(bytes.min(PART_CACHE_BYTES_MAX));
            }
            builder.build().map(|regex| (0, regex))
        };
        match budget.fit(
            (parts_max(&text), text.len()),
            PROGRAM_BYTES_MAX,
            is_too_large,
            refused,
            build,
        ) {
            Ok(regex) => Ok(Self::Backtracking(Box::new(regex), budget.clone())),
            Err(_) => Err("the syntax of the expression is not supported".into()),
        }
    }

    /// Searches a value.
    pub(super) fn search(&self, value: &[u8], captures: bool) -> Search {
        match self {
            // Most values do not match, and groups take several times as long.
            Self::Linear(regex) if !regex.is_match(value) => Search::Nothing,
            Self::Linear(regex) if captures => {
                regex.groups(value).map_or(Search::Nothing, Search::Match)
            }
            Self::Linear(_) => Search::Match(Vec::new()),
            Self::Backtracking(_, budget) if budget.is_stopped() => Search::Nothing,
            Self::Backtracking(regex, _) => {
                let text: String = value.iter().copied().map(character).collect();
                match regex.captures(text.as_str()) {
                    Ok(Some(groups)) => {
                        let bytes = |text: &str| text.chars().map(byte_of).collect();
                        let group = |at| groups.get(at).map(|it| bytes(it.as_str()));
                        let texts = (0..groups.len()).map(|at| group(at).unwrap_or_default());
                        Search::Match(texts.collect())
                    }
                    Ok(None) => Search::Nothing,
                    Err(_) => Search::TooSlow,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expression, Search};

    #[test]
    fn both_engines_find_the_same() {
        let budget = weir_core::PatternBudget::default();
        for (text, backtracks, accepted, refused) in [
            (r"^/a.b$", false, &b"/a\nb"[..], &b"/a.b/"[..]),
            (r"(?i)union\s++select", true, b"x UNION  SELECT", b"unionselect"),
            (r"(?<!a)b\w", true, b"cb_", b"abc"),
            (r"(a|b)\1", true, b"abb", b"ab"),
            (r"^(?!x).\xff$", true, b"a\xff", b"x\xff"),
            (r"(?>a+)b[^[]", true, b"aabc", b"aab["),
            (r"^\x{bc}\W\b\w$", false, b"\xbc\xe9a", b"\xc2\xbc\xe9a"),
            (r"^(?!x)\x{bc}\W\b\w$", true, b"\xbc\xe9a", b"\xc2\xbc\xe9a"),
            (r"^[\x{80}-\x{ff}]+$", false, b"\x80\xff", b"\x80\x7f"),
            (r"^(?!x)[\x{80}-\x{ff}]+$", true, b"\x80\xff", b"\x80\x7f"),
            (r"(?i)^K[\xe9]\xe9$", false, b"k\xe9\xe9", b"k\xc9\xe9"),
            (r"(?i)^(?!x)K[\xe9]\xe9$", true, b"k\xe9\xe9", b"k\xe9\xc9"),
            ("^é+$", false, b"\xc3\xa9\xa9", b"\xe9"),
            ("^(?!x)[é]+$", true, b"\xa9\xc3", b"\xe9"),
            (r"^(?!x)[^\W\d]\S\D$", true, b"a\xa0\xb2", b"\xe9aa"),
        ] {
            let expression = Expression::new(text, &budget).expect(text);
            assert_eq!(matches!(expression, Expression::Backtracking(..)), backtracks, "{text}");
            assert!(matches!(expression.search(accepted, true), Search::Match(_)), "{text}");
            assert_eq!(expression.search(refused, false), Search::Nothing, "{text}");
        }
        let groups = |text| Expression::new(text, &budget).expect(text).search(b"-ab\xff", true);
        let expected = [&b"ab\xff"[..], b"a", b""].map(<[u8]>::to_vec).to_vec();
        assert_eq!(groups(r"(a)(x)?b\xff"), Search::Match(expected.clone()));
        assert_eq!(groups(r"(?<=-)(a)(x)?b\xff"), Search::Match(expected));
    }

    #[test]
    fn a_search_that_backtracks_without_end_is_given_up() {
        let budget = weir_core::PatternBudget::default();
        let expression = Expression::new(r"^((a|aa)+)\1b$", &budget).expect("it is valid");
        assert_eq!(expression.search(&[b'a'; 60], false), Search::TooSlow);
        for text in ["(", "(?P<x", "a{1000}{1000}{1000}"] {
            assert!(Expression::new(text, &budget).is_err(), "{text}");
        }
    }
}
