//! Expressions that are counted with their caches, and that end their work when it is stopped.

use std::ops::Range;
use std::sync::Arc;

use regex_automata::meta::{self, Cache};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, Span};

use super::budget::{PatternBudget, PatternSize};
use super::cache_place::CachePlaces;

/// The largest cache of an expression without a budget, in bytes, in each direction.
const CACHE_BYTES_MAX: usize = 2 << 20;

/// The largest table of a search that keeps groups, in bytes. The engine makes it at once, and counts
/// it afterwards.
const TABLE_BYTES_MAX: usize = 64 << 20;

/// How an expression is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegexOptions {
    /// Whether classes have characters beyond ASCII, and `.` matches whole characters only.
    pub is_unicode: bool,
    /// Whether upper and lower case are the same.
    pub ignores_case: bool,
    /// The largest size of the compiled expression, in bytes.
    pub program_bytes_max: usize,
    /// The largest cache of a thread in each direction, in bytes. A budget may set a smaller one.
    pub cache_bytes_max: usize,
    /// Whether the texts of its groups can be read. A search then has room for all groups in each
    /// state of the program.
    pub keeps_groups: bool,
}

impl Default for RegexOptions {
    fn default() -> Self {
        Self {
            is_unicode: true,
            ignores_case: false,
            program_bytes_max: 10 << 20,
            cache_bytes_max: CACHE_BYTES_MAX,
            keeps_groups: false,
        }
    }
}

/// An expression that matches nothing.
const NEVER: &str = r"[^\s\S]";

/// An expression, or several of which one has to match, in the syntax of the `regex` crate.
///
/// Its memory is counted in a budget, also that of its caches. It matches nothing once the work of
/// the budget is stopped, so that rules with thousands of expressions end at once. Clones share
/// their memory.
///
/// # Examples
///
/// ```
/// use weir_core::{BoundedRegex, PatternBudget, RegexOptions};
///
/// let budget = PatternBudget::default();
/// let options = RegexOptions { ignores_case: true, ..RegexOptions::default() };
/// let regex = BoundedRegex::new("^/([a-z]+)$", options, &budget)?;
/// assert!(regex.is_match(b"/LOGIN") && !regex.is_match(b"/"));
/// # Ok::<(), regex::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BoundedRegex {
    shared: Arc<SharedRegex>,
    budget: PatternBudget,
}

/// What clones share.
#[derive(Debug)]
pub(super) struct SharedRegex {
    text: String,
    regex: meta::Regex,
    pub(super) caches: CachePlaces,
}

impl BoundedRegex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it is not valid or too large, or if the budget [refuses](PatternBudget::refusal) it. It
    /// is then too large.
    pub fn new(
        text: &str,
        options: RegexOptions,
        budget: &PatternBudget,
    ) -> Result<Self, regex::Error> {
        Self::build(text, text, MatchKind::LeftmostFirst, options, budget)
    }

    /// Compiles several expressions. They match if one of them does.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn any_of(
        texts: &[String],
        options: RegexOptions,
        budget: &PatternBudget,
    ) -> Result<Self, regex::Error> {
        // Each has to be valid alone: `a)|(b` is not.
        let parsed = syntax::parse_many_with(texts, &options.syntax());
        parsed.map_err(|error| regex::Error::Syntax(error.to_string()))?;
        // As patterns of their own, each would take room in each state of the program.
        let alternatives: Vec<_> = texts.iter().map(|text| format!("(?:{text})")).collect();
        let joined = if texts.is_empty() { NEVER.to_owned() } else { alternatives.join("|") };
        Self::build(&texts.join("\n"), &joined, MatchKind::All, options, budget)
    }

    /// Compiles an expression, of which `text` is what a person wrote.
    fn build(
        text: &str,
        expression: &str,
        matches: MatchKind,
        options: RegexOptions,
        budget: &PatternBudget,
    ) -> Result<Self, regex::Error> {
        let build = |size: PatternSize| {
            let cache_bytes = size.cache_bytes.unwrap_or(options.cache_bytes_max);
            let config = meta::Config::new()
                .match_kind(matches)
                .which_captures(options.captures())
                .utf8_empty(false)
                .nfa_size_limit(Some(size.program_bytes))
                .hybrid_cache_capacity(cache_bytes.min(options.cache_bytes_max));
            let mut builder = meta::Builder::new();
            let built = builder.configure(config).syntax(options.syntax()).build(expression);
            let regex = built.map_err(|error| regex_error(&error))?;
            let bytes = regex.memory_usage();
            // Without groups, the table is no larger than the program for both directions.
            let table_bytes = if options.keeps_groups {
                table_bytes(expression, options, size.program_bytes)?
            } else {
                bytes
            };
            Ok((bytes + table_bytes, regex))
        };
        let too_large = |error: &regex::Error| matches!(error, regex::Error::CompiledTooBig(_));
        let refused = regex::Error::CompiledTooBig;
        let bytes_max = options.program_bytes_max;
        let regex = budget.fit((1, expression.len()), bytes_max, too_large, refused, build)?;
        let (text, caches) = (text.to_owned(), CachePlaces::default());
        let shared = Arc::new(SharedRegex { text, regex, caches });
        budget.register(&shared);
        Ok(Self { shared, budget: budget.clone() })
    }

    /// Returns whether it matches somewhere in a text.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let SharedRegex { regex, caches, .. } = &*self.shared;
        let input = Input::new(text).earliest(true);
        let search = |cache: &mut Cache| regex.search_half_with(cache, &input).is_some();
        !self.budget.is_stopped() && caches.search(regex, &self.budget, search)
    }

    /// Returns the first match and its groups; those that it does not set are empty. There are no
    /// groups unless the options [keep](RegexOptions::keeps_groups) them.
    pub fn groups(&self, text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let ranges = self.group_ranges(text)?.into_iter();
        Some(ranges.map(|range| text[range].to_vec()).collect())
    }

    /// Returns the place of the first match and those of its groups, as [`Self::groups`] does their
    /// texts.
    pub fn group_ranges(&self, text: &[u8]) -> Option<Vec<Range<usize>>> {
        let SharedRegex { regex, caches, .. } = &*self.shared;
        if self.budget.is_stopped() {
            return None;
        }
        let mut groups = regex.create_captures();
        let search = |cache: &mut Cache| {
            regex.search_captures_with(cache, &Input::new(text), &mut groups);
        };
        caches.search(regex, &self.budget, search);
        let range = |group: Option<Span>| group.map_or(0..0, |span| span.range());
        groups.is_match().then(|| groups.iter().map(range).collect())
    }

    /// Returns the number of groups that the expression has.
    pub(crate) fn groups_len(&self) -> usize {
        self.shared.regex.captures_len().saturating_sub(1)
    }

    /// Returns the expression; several have lines of their own.
    pub fn as_str(&self) -> &str {
        &self.shared.text
    }
}

impl RegexOptions {
    fn syntax(self) -> syntax::Config {
        syntax::Config::new()
            .utf8(false)
            .unicode(self.is_unicode)
            .case_insensitive(self.ignores_case)
    }

    fn captures(self) -> WhichCaptures {
        if self.keeps_groups { WhichCaptures::All } else { WhichCaptures::Implicit }
    }
}

/// Returns the size of the table that a search fills if the automata give up: for each state of the
/// program the ends of each group, for two positions of the text.
fn table_bytes(
    expression: &str,
    options: RegexOptions,
    program_bytes_max: usize,
) -> Result<usize, regex::Error> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(options.captures())
        .nfa_size_limit(Some(program_bytes_max));
    let mut compiler = thompson::Compiler::new();
    let built = compiler.syntax(options.syntax()).configure(config).build(expression);
    let program = built.map_err(|error| match error.size_limit() {
        Some(bytes) => regex::Error::CompiledTooBig(bytes),
        None => regex::Error::Syntax(error.to_string()),
    })?;
    let groups = program.group_info().slot_len() / 2;
    let state_bytes = 2 * size_of::<usize>() * (groups + 1);
    let bytes = 2 * program.states().len() * state_bytes;
    if bytes > TABLE_BYTES_MAX {
        return Err(regex::Error::Syntax(format!(
            "its {} groups take too much memory; write `(?:` for those that are not used",
            groups - 1
        )));
    }
    Ok(bytes)
}

/// Returns the error of the `regex` crate for one of its engine.
fn regex_error(error: &meta::BuildError) -> regex::Error {
    match (error.size_limit(), error.syntax_error()) {
        (Some(bytes), _) => regex::Error::CompiledTooBig(bytes),
        (None, Some(syntax)) => regex::Error::Syntax(syntax.to_string()),
        (None, None) => regex::Error::Syntax(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use proptest::prelude::*;

    use super::super::budget::CACHES_BYTES;
    use super::{BoundedRegex, RegexOptions};
    use crate::pattern::{PatternAccount, PatternBudget};

    /// The caches of these patterns grow with every text that they have not seen.
    fn growing(number: usize) -> String {
        format!("(a|b)[0-9ab]{{14}}/.*x{number}")
    }

    /// Returns a text that is like no other with a smaller number.
    fn text(number: u64) -> Vec<u8> {
        let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let byte = |at: u64| if bits >> (at % 64) & 1 == 0 { b'a' } else { b'0' };
        (0..200).map(byte).chain(*b"/x").collect()
    }

    #[test]
    fn caches_are_charged_on_all_threads_and_dropped_after_the_answer() {
        const PATTERNS: usize = 20;
        let options = RegexOptions::default();
        for room in [0, 300 << 10, 1 << 30] {
            let count = |account: &Arc<PatternAccount>| {
                let budget = PatternBudget::new(vec![account.clone()], Arc::default());
                let compile = |number| BoundedRegex::new(&growing(number), options, &budget);
                (0..PATTERNS).map(compile).collect::<Result<Vec<_>, _>>().map(|all| (budget, all))
            };
            let unlimited = Arc::new(PatternAccount::new(usize::MAX));
            let compiled = count(&unlimited).map(|kept| (unlimited.bytes(), kept));
            let compiled_bytes = compiled.expect("they are valid").0;
            let account = Arc::new(PatternAccount::new(compiled_bytes + room));
            let (budget, patterns) = count(&account).expect("there is room for the patterns");
            thread::scope(|scope| {
                for thread in 0..4 {
                    let (patterns, account) = (&patterns, &account);
                    scope.spawn(move || {
                        for number in 0..50 {
                            for pattern in patterns {
                                assert!(!pattern.is_match(&text(number * 4 + thread)));
                            }
                            assert!(account.bytes() <= compiled_bytes + room);
                        }
                    });
                }
            });
            let caches = || patterns.iter().map(|it| it.shared.caches.bytes()).sum::<usize>();
            let charged = account.bytes() - compiled_bytes + PATTERNS * CACHES_BYTES;
            assert!(caches() <= charged, "{} of {charged} bytes", caches());
            assert!(room < 1 << 30 || caches() > 4 << 20, "{} bytes", caches());
            budget.drop_caches();
            assert_eq!((caches(), account.bytes()), (0, compiled_bytes));
            assert!(patterns[3].is_match(b"aaaaaaaaaaaaaaa/x3"), "they match after it");
        }
    }

    #[test]
    fn nothing_matches_once_the_work_is_stopped() {
        let stop = Arc::new(AtomicBool::new(false));
        let budget = PatternBudget::new(Vec::new(), stop.clone());
        let texts = ["a".to_owned(), "b+".to_owned()];
        let regex = BoundedRegex::any_of(&texts, RegexOptions::default(), &budget);
        let regex = regex.expect("they are valid");
        assert!(regex.is_match(b"cb") && !regex.is_match(b"c"));
        stop.store(true, Ordering::Relaxed);
        assert!(!regex.is_match(b"cb"));
    }

    /// Returns an expression of so many groups, which match an `a` each or nothing.
    fn groups(number: usize) -> String {
        format!("^/{}$", "(a)?".repeat(number))
    }

    #[test]
    fn the_table_of_a_search_is_charged_when_its_pattern_is_compiled() {
        let keeps_groups = RegexOptions { keeps_groups: true, ..RegexOptions::default() };
        let texts: Vec<_> = (0..1500).map(|number| format!("^/(a)?(aa)?a*x{number}$")).collect();
        let path = [&b"/"[..], &b"a".repeat(8000)].concat();
        for case in ["groups", "kept groups", "set"] {
            let account = Arc::new(PatternAccount::new(usize::MAX));
            let budget = PatternBudget::new(vec![account.clone()], Arc::default());
            let compiled = match case {
                "groups" => BoundedRegex::new(&groups(8000), RegexOptions::default(), &budget),
                "kept groups" => BoundedRegex::new(&groups(300), keeps_groups, &budget),
                _ => BoundedRegex::any_of(&texts, RegexOptions::default(), &budget),
            };
            let (compiled, charged) = (compiled.expect(case), account.bytes());
            let captured = (case == "kept groups").then(|| compiled.groups(&path[..300]));
            assert_eq!(
                captured.map(|it| it.map_or(0, |it| it.len())),
                (case == "kept groups").then_some(301)
            );
            assert_eq!(compiled.is_match(&path), case == "groups", "{case}");
            let bytes = compiled.shared.caches.bytes();
            // Beside the table there are the caches of the automata, which grow step by step.
            let most = charged + 2 * super::CACHE_BYTES_MAX;
            assert!((1..=most).contains(&bytes), "{case}: {bytes} of {most} bytes");
            assert!(bytes <= account.bytes(), "{case}: {bytes} of {} bytes", account.bytes());
        }
        let error = BoundedRegex::new(&groups(8000), keeps_groups, &PatternBudget::default());
        let message = error.expect_err("its table has gigabytes").to_string();
        assert!(message.contains("its 8000 groups take too much memory"), "{message}");
    }

    #[test]
    fn several_expressions_are_each_valid_alone() {
        let set = |texts: &[&str]| {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            BoundedRegex::any_of(&texts, RegexOptions::default(), &PatternBudget::default())
        };
        assert!(set(&["a)|(b"]).is_err() && set(&["a", r"b\"]).is_err());
        let own_flags = set(&["(?i)a", "b|c$", ""]).expect("they are valid");
        assert!(own_flags.is_match(b"x") && own_flags.as_str() == "(?i)a\nb|c$\n");
        let flags = set(&["(?i)a", "b|c$"]).expect("they are valid");
        assert!(flags.is_match(b"A") && flags.is_match(b"xc") && !flags.is_match(b"Bcx"));
        assert!(!set(&[]).expect("it is valid").is_match(b"a"));
    }

    proptest! {
        /// A budget without room for caches changes no result, and neither does the engine below
        /// the crate `regex`.
        #[test]
        fn matches_are_those_of_regex(
            pattern in "[ab(|)*+?.^$\\\\bw]{1,12}",
            texts in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"abB /\n\xff"[..]), 0..12), 1..8),
            is_unicode: bool,
            ignores_case: bool,
        ) {
            let mut builder = regex::bytes::RegexBuilder::new(&pattern);
            let expected = builder.unicode(is_unicode).case_insensitive(ignores_case).build();
            let options = RegexOptions { is_unicode, ignores_case, ..RegexOptions::default() };
            let limited = |bytes_max| {
                let account = Arc::new(PatternAccount::new(bytes_max));
                (PatternBudget::new(vec![account.clone()], Arc::default()), account)
            };
            let (unlimited, account) = limited(usize::MAX);
            let _compiled = BoundedRegex::new(&pattern, options, &unlimited);
            let (small, _) = limited(account.bytes());
            for budget in [PatternBudget::default(), small] {
                let own = BoundedRegex::new(&pattern, options, &budget);
                prop_assert_eq!(own.is_ok(), expected.is_ok());
                let (Ok(own), Ok(expected)) = (own, &expected) else { continue };
                let keeps_groups = RegexOptions { keeps_groups: true, ..options };
                let all = BoundedRegex::new(&pattern, keeps_groups, &PatternBudget::default());
                let all = all.expect("its groups are few");
                for text in &texts {
                    prop_assert_eq!(own.is_match(text), expected.is_match(text));
                }
                for text in &texts {
                    let groups = expected.captures(text).map(|groups| {
                        let bytes = |it: regex::bytes::Match<'_>| it.as_bytes().to_vec();
                        groups.iter().map(|it| it.map_or(Vec::new(), bytes)).collect::<Vec<_>>()
                    });
                    let first = groups.as_ref().map(|groups| groups[..1].to_vec());
                    prop_assert_eq!((own.groups(text), all.groups(text)), (first, groups));
                }
            }
        }
    }
}
