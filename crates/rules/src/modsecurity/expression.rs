//! Expressions of `@rx`, in the syntax of PCRE.
//!
//! Most run in time proportional to the text. Those with look-around, references, or atomic groups
//! backtrack, with a limit of steps.

use fancy_regex::{CompileError, Regex, RegexBuilder};
use weir_core::{BoundedRegex, PatternBudget, PatternSize, RegexOptions};

use super::pcre::{Dialect, byte_of, character, has_possessive, translated, without_groups};
use crate::backtracking_parts::{PART_CACHE_BYTES_MAX, SearchTable, TOO_MANY_GROUPS, parts_max};
use crate::error::Reason;

/// The largest size of a compiled expression, in bytes.
const PROGRAM_BYTES_MAX: usize = 4 << 20;

/// The most steps of a backtracking expression on one value: some tens of milliseconds.
const STEPS_MAX: usize = 100_000;

/// The most groups whose texts a rule can use: those of `TX:1` to `TX:9`.
const GROUPS_MAX: usize = 9;

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
    /// Compiles an expression of PCRE, and if `captures` keeps the groups that a rule can use.
    ///
    /// # Errors
    /// If it is not valid or too large.
    pub(super) fn new(text: &str, captures: bool, budget: &PatternBudget) -> Result<Self, Reason> {
        let linear = format!("(?s-u){}", translated(text, Dialect::Bytes));
        if has_possessive(&linear) {
            return Self::backtracking(text, budget);
        }
        let options = RegexOptions {
            program_bytes_max: PROGRAM_BYTES_MAX,
            keeps_groups: captures,
            ..RegexOptions::default()
        };
        match BoundedRegex::new(&without_groups(&linear, GROUPS_MAX), options, budget) {
            Ok(regex) => Ok(Self::Linear(regex)),
            // Another engine would not make it smaller.
            Err(regex::Error::CompiledTooBig(_)) => Err("the expression is too large".into()),
            Err(_) => Self::backtracking(text, budget),
        }
    }

    fn backtracking(text: &str, budget: &PatternBudget) -> Result<Self, Reason> {
        let text = format!("(?s){}", translated(text, Dialect::Characters));
        let refused = |_| fancy_regex::Error::from(CompileError::PatternTooComplex);
        let table = SearchTable::new(&text);
        let bytes_max = PROGRAM_BYTES_MAX.min(table.program_bytes_max());
        let build = |size: PatternSize| {
            let mut builder = RegexBuilder::new(&text);
            builder.backtrack_limit(STEPS_MAX).delegate_size_limit(size.program_bytes);
            if let Some(bytes) = size.cache_bytes {
                builder.delegate_dfa_size_limit(bytes.min(PART_CACHE_BYTES_MAX));
            }
            let bytes = 2 * size.program_bytes + table.bytes_max(size.program_bytes);
            builder.build().map(|regex| (bytes, regex))
        };
        let parts = (parts_max(&text), text.len());
        match budget.fit(parts, bytes_max, is_too_large, refused, build) {
            Ok(regex) => Ok(Self::Backtracking(Box::new(regex), budget.clone())),
            Err(error) if is_too_large(&error) && bytes_max < PROGRAM_BYTES_MAX => {
                Err(TOO_MANY_GROUPS.into())
            }
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

/// Whether a part of an expression is larger than its limit.
fn is_too_large(error: &fancy_regex::Error) -> bool {
    let fancy_regex::Error::CompileError(error) = error else { return false };
    matches!(&**error, CompileError::InnerError(error) if error.size_limit().is_some())
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
            let expression = Expression::new(text, true, &budget).expect(text);
            assert_eq!(matches!(expression, Expression::Backtracking(..)), backtracks, "{text}");
            assert!(matches!(expression.search(accepted, true), Search::Match(_)), "{text}");
            assert_eq!(expression.search(refused, false), Search::Nothing, "{text}");
        }
        let groups =
            |text| Expression::new(text, true, &budget).expect(text).search(b"-ab\xff", true);
        let expected = [&b"ab\xff"[..], b"a", b""].map(<[u8]>::to_vec).to_vec();
        assert_eq!(groups(r"(a)(x)?b\xff"), Search::Match(expected.clone()));
        assert_eq!(groups(r"(?<=-)(a)(x)?b\xff"), Search::Match(expected));
    }

    #[test]
    fn a_search_that_backtracks_without_end_is_given_up() {
        let budget = weir_core::PatternBudget::default();
        let expression = Expression::new(r"^((a|aa)+)\1b$", true, &budget).expect("it is valid");
        assert_eq!(expression.search(&[b'a'; 60], false), Search::TooSlow);
        for text in ["(", "(?P<x", "a{1000}{1000}{1000}"] {
            assert!(Expression::new(text, false, &budget).is_err(), "{text}");
        }
    }

    #[test]
    fn thousands_of_groups_cost_no_more_than_nine() {
        let budget = weir_core::PatternBudget::default();
        let groups = format!("^/{}$", "(a)?".repeat(8000));
        let path = [&b"/"[..], &b"a".repeat(8000)].concat();
        for captures in [false, true] {
            let expression = Expression::new(&groups, captures, &budget).expect("it is valid");
            let Search::Match(texts) = expression.search(&path, captures) else {
                panic!("it matches");
            };
            assert_eq!(texts.len(), if captures { 10 } else { 0 });
        }
        let refused = Expression::new(&format!("(?=/){groups}"), true, &budget);
        let message = refused.expect_err("the engine would keep all").to_string();
        assert!(message.contains("its groups take too much memory"), "{message}");
    }
}
