//! The lines in which limits are written: `limit 100 requests in 1m by client as sliding`.
//!
//! ```text
//! line      = "limit" number [ "requests" ] amount { clause } [ "#" comment ]
//! amount    = "in" duration | "at" "once"
//! clause    = "by" part { [ "," ] part } | "where" condition | "as" algorithm
//!           | "burst" number | "named" name
//! part      = field | field "/" bits [ "/" bits ] | "hash(" field ")" | "first(" field ")"
//! ```
//!
//! A condition ends at a word that begins the next clause; such a word in it needs quotation marks.

use weir_core::{PatternBudget, nearest_name, parse_duration_ns};

use super::key::{KeyPart, LimitKey};
use super::limit::{Algorithm, Limit};
use super::words::{Word, lines};
use crate::condition::RuleCondition;
use crate::error::{ParseError, RuleError};

/// The words that begin a clause.
const CLAUSES: [&str; 5] = ["by", "where", "as", "burst", "named"];

const EXAMPLE: &str = "limit 100 requests in 1m by client";

/// Whether a text is in this language: its first line that is not a comment begins with `limit`.
pub(crate) fn looks_like(text: &str) -> bool {
    let first = lines(text).find_map(|words| words.first().copied());
    first.is_some_and(|first| first.text == "limit")
}

/// Reads the limits of a text, one in each line.
///
/// # Errors
/// At the first mistake, and if there is no limit, or more than `rules_max`.
pub(super) fn parse(
    text: &str,
    rules_max: usize,
    budget: &PatternBudget,
) -> Result<Vec<Limit>, ParseError> {
    let words = lines(text).filter(|words| !words.is_empty());
    let lines: Vec<Line<'_>> = words.map(|words| Line { text, words, at: 0, budget }).collect();
    if lines.is_empty() {
        let message = format!("there is no limit in it; write `{EXAMPLE}`");
        return Err(RuleError::new(0..0, message).into());
    }
    ParseError::check_count(lines.len(), rules_max)?;
    Ok(lines.into_iter().map(Line::limit).collect::<Result<_, RuleError>>()?)
}

/// A line that is read word by word.
struct Line<'t> {
    text: &'t str,
    words: Vec<Word<'t>>,
    at: usize,
    budget: &'t PatternBudget,
}

impl<'t> Line<'t> {
    fn peek(&self) -> Option<Word<'t>> {
        self.words.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Word<'t>> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    /// The next word, of which `what` says what it should be.
    fn expect(&mut self, what: &str) -> Result<Word<'t>, RuleError> {
        let end = self.words.last().map_or(0, |last| last.range().end);
        self.next().ok_or_else(|| RuleError::new(end..end + 1, format!("{what} is missing here")))
    }

    /// Takes the next word if it is one of these.
    fn take(&mut self, texts: &[&str]) -> bool {
        let is_one = self.peek().is_some_and(|word| texts.contains(&word.text));
        self.at += usize::from(is_one);
        is_one
    }

    fn limit(mut self) -> Result<Limit, RuleError> {
        let first = self.expect("a limit")?;
        if first.text != "limit" {
            let message = format!("`{}` does not begin a limit; write `{EXAMPLE}`", first.text);
            return Err(first.error(message));
        }
        let count = self.number("the number of requests")?;
        self.take(&["request", "requests"]);
        let window_ns = self.amount()?;
        let algorithm =
            if window_ns == 0 { Algorithm::Concurrency } else { Algorithm::SlidingRing };
        let mut limit = Limit::new(count, window_ns, algorithm);
        let (mut burst, mut seen) = (None, Vec::new());
        while let Some(word) = self.next() {
            if seen.contains(&word.text) {
                return Err(word.error(format!("`{}` stands twice in the limit", word.text)));
            }
            match word.text {
                "by" => limit.key = self.key()?,
                "where" => limit.condition = Some(self.condition()?),
                "as" => limit.algorithm = self.algorithm(window_ns)?,
                "burst" => burst = Some((word, self.number("the size of the bucket")?)),
                "named" => limit.name = Some(unquoted(self.expect("a name")?.text).to_owned()),
                other => return Err(unknown_clause(word, other)),
            }
            seen.push(word.text);
        }
        if let Some((word, burst)) = burst {
            if !limit.algorithm.has_burst() {
                let message = "only `as token-bucket` and `as leaky-bucket` have a burst";
                return Err(word.error(message));
            }
            limit.burst = burst;
        }
        Ok(limit)
    }

    fn number(&mut self, what: &str) -> Result<u64, RuleError> {
        let word = self.expect(what)?;
        let number = word.text.parse().ok().filter(|_| !word.text.starts_with('+'));
        let is_valid = |number: &u64| (1..=Limit::COUNT_MAX).contains(number);
        number.filter(is_valid).ok_or_else(|| {
            let max = Limit::COUNT_MAX;
            word.error(format!("`{}` is not a number from 1 to {max}: {what}", word.text))
        })
    }

    /// The window in nanoseconds; 0 for `at once`.
    fn amount(&mut self) -> Result<u64, RuleError> {
        let word = self.expect("`in` and a duration, or `at once`,")?;
        match word.text {
            "at" if self.take(&["once"]) => Ok(0),
            "in" | "per" => window_ns(self.expect("a duration such as 10s or 1m")?),
            other => Err(word.error(format!(
                "`{other}` stands where `in` and a duration should, or `at once`: `{EXAMPLE}`"
            ))),
        }
    }

    fn key(&mut self) -> Result<LimitKey, RuleError> {
        let mut parts = Vec::new();
        while let Some(word) = self.peek().filter(|word| !CLAUSES.contains(&word.text)) {
            self.at += 1;
            let mut from = 0;
            for piece in word.text.split(',') {
                let part = word.part(from..from + piece.len());
                from += piece.len() + 1;
                if !piece.is_empty() && piece != "and" {
                    parts.push(key_part(part)?);
                }
            }
        }
        if parts.is_empty() {
            self.expect("a field such as client, client/24 or path")?;
            let word = self.words[self.at - 1];
            return Err(word.error(format!("`{}` stands where a field should", word.text)));
        }
        Ok(LimitKey::new(parts))
    }

    /// The condition up to the next clause.
    fn condition(&mut self) -> Result<RuleCondition, RuleError> {
        let first = self.expect("a condition such as path^=/login")?;
        let mut end = first.range().end;
        while let Some(word) = self.peek().filter(|word| !CLAUSES.contains(&word.text)) {
            self.at += 1;
            end = word.range().end;
        }
        let text = &self.text[first.start..end];
        RuleCondition::parse(text, self.budget).map_err(|error| error.moved_by(first.start))
    }

    fn algorithm(&mut self, window_ns: u64) -> Result<Algorithm, RuleError> {
        let word = self.expect("an algorithm such as sliding")?;
        let names = Algorithm::NAMED.map(|(name, _)| name);
        let found = Algorithm::NAMED.iter().find(|(name, _)| *name == word.text);
        let (_, algorithm) = found.ok_or_else(|| {
            let nearest = nearest_name(word.text, names)
                .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let all = names.join(", ");
            word.error(format!("`{}` is not an algorithm; {nearest}(they are {all})", word.text))
        })?;
        match (*algorithm == Algorithm::Concurrency, window_ns == 0) {
            (true, false) => Err(word.error("concurrency has no window; write `at once`")),
            (false, true) => {
                Err(word.error("`at once` has no window; write `in 1m` before this algorithm"))
            }
            _ => Ok(*algorithm),
        }
    }
}

fn unknown_clause(word: Word<'_>, text: &str) -> RuleError {
    let nearest = nearest_name(text, CLAUSES)
        .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let all = CLAUSES.join(", ");
    word.error(format!("`{text}` does not begin a clause; {nearest}(the clauses are {all})"))
}

/// Makes a part of a key from the name of a field.
type PartOfField = fn(String) -> KeyPart;

/// The functions of a field in a key.
const FUNCTIONS: [(&str, PartOfField); 2] = [("hash(", KeyPart::Hash), ("first(", KeyPart::First)];

/// A part of a key.
fn key_part(word: Word<'_>) -> Result<KeyPart, RuleError> {
    for (function, part) in FUNCTIONS {
        let Some(field) = word.text.strip_prefix(function) else { continue };
        let field = field.strip_suffix(')').filter(|field| !field.is_empty());
        let usage = || word.error(format!("write `{function}FIELD)`, without spaces"));
        return Ok(part(field.ok_or_else(usage)?.to_owned()));
    }
    // The names of these derived fields have a number in them.
    if ["network/", "path/"].iter().any(|derived| word.text.starts_with(derived)) {
        return Ok(KeyPart::Field(word.text.to_owned()));
    }
    let mut pieces = word.text.split('/');
    let field = pieces.next().unwrap_or_default().to_owned();
    let bits: Vec<&str> = pieces.collect();
    let read = |text: &str, max: u8| {
        let bits = text.parse::<u8>().ok().filter(|bits| *bits <= max && !text.starts_with('+'));
        bits.ok_or_else(|| {
            word.error(format!(
                "`{text}` is not a valid length of a network: write /0 to /32 for IPv4, up to \
                 /128 for IPv6, or both, as in client/24/64"
            ))
        })
    };
    match &bits[..] {
        [] if !field.is_empty() => Ok(KeyPart::Field(field)),
        [one] if !field.is_empty() => Ok(match read(one, 128)? {
            v4 @ 0..=32 => KeyPart::Network { field, v4, v6: 128 },
            v6 => KeyPart::Network { field, v4: 32, v6 },
        }),
        [one, two] if !field.is_empty() => {
            Ok(KeyPart::Network { field, v4: read(one, 32)?, v6: read(two, 128)? })
        }
        _ => Err(word.error(format!("`{}` is not a field or a network of one", word.text))),
    }
}

/// The length of a window in nanoseconds.
fn window_ns(word: Word<'_>) -> Result<u64, RuleError> {
    let window_ns = parse_duration_ns(word.text)
        .map_err(|error| word.part(error.range.clone()).error(error.to_string()))?;
    if !(1_000_000..=Limit::WINDOW_NS_MAX).contains(&window_ns) {
        let message = "is not a window from 1ms to 366d; write 500ms, 10s, 5m or 1h";
        return Err(word.error(format!("`{}` {message}", word.text)));
    }
    Ok(window_ns)
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::looks_like;

    fn parse(text: &str) -> Result<Vec<super::Limit>, crate::error::RuleError> {
        Ok(super::parse(text, usize::MAX, &weir_core::PatternBudget::default())?)
    }

    #[test]
    fn limits_are_read_and_written_alike() {
        for (text, expected) in [
            ("limit 5 in 10s", "limit 5 requests in 10s as sliding"),
            ("limit 1 request per 60s by client", "limit 1 request in 1m by client as sliding"),
            ("limit 5 in 1.5h", "limit 5 requests in 90m as sliding"),
            ("limit 5 in 1m30s", "limit 5 requests in 90s as sliding"),
            ("limit 5 in 2w", "limit 5 requests in 14d as sliding"),
            (
                "limit 100 requests in 1m by client where path^=/login as sliding",
                "limit 100 requests in 1m by client where path^=/login as sliding",
            ),
            (
                "limit 5 in 90m as token-bucket burst 9 by client/24/64, path and hash(cookie_id)",
                "limit 5 requests in 90m by client/24/64, path, hash(cookie_id) as token-bucket burst 9",
            ),
            (
                "limit 5 in 1m by first(http_x_forwarded_for)",
                "limit 5 requests in 1m by first(http_x_forwarded_for) as sliding",
            ),
            ("limit 9 at once by client/64 # why", "limit 9 requests at once by client/64"),
            (
                "limit 3 in 1d by host where user_agent~'a as b' or status=404 named 'x y' as fixed",
                "limit 3 requests in 1d by host where user_agent~'a as b' or status=404 as fixed",
            ),
        ] {
            let limits = parse(text).expect(text);
            assert_eq!(limits[0].to_string(), expected);
            assert_eq!(parse(expected).expect(expected)[0].to_string(), expected);
        }
        let named = parse("limit 3 in 1s named 'x y'").expect("it is valid");
        assert_eq!(named[0].name.as_deref(), Some("x y"));
        assert_eq!(parse("# a\n\nlimit 1 in 1s\nlimit 2 in 2s\n").expect("two").len(), 2);
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("", "", "there is no limit"),
            ("limit", "", "the number of requests is missing"),
            ("limit x in 1m", "x", "`x` is not a number from 1"),
            ("limit 0 in 1m", "0", "`0` is not a number from 1"),
            ("limit 5 requests on 1m", "on", "stands where `in`"),
            ("limit 5 in 1y", "y", "`y` is not a unit of a duration"),
            ("limit 5 in 10", "10", "`10` lacks a unit; write 10s or 10min"),
            ("limit 5 in 0s", "0s", "`0s` is not a window from 1ms"),
            ("limit 5 in 53w", "53w", "`53w` is not a window from 1ms to 366d"),
            ("limit 5 in 1m bye client", "bye", "did you mean `by`?"),
            ("limit 5 in 1m by where a", "where", "stands where a field should"),
            ("limit 5 in 1m by client/129", "client/129", "`129` is not a valid length"),
            ("limit 5 in 1m by client/33/64", "client/33/64", "`33` is not a valid length"),
            ("limit 5 in 1m by hash(", "hash(", "write `hash(FIELD)`"),
            ("limit 5 in 1m by first()", "first(", "write `first(FIELD)`"),
            ("limit 5 in 1m as slidng", "slidng", "did you mean `sliding`?"),
            ("limit 5 in 1m as concurrency", "concurrency", "has no window"),
            ("limit 5 at once as fixed", "fixed", "has no window"),
            ("limit 5 in 1m burst 9", "burst", "only `as token-bucket`"),
            ("limit 5 in 1m by a by b", "by b", "`by` stands twice"),
            ("limit 5 in 1m where status==404 as fixed", "==404", "`==` is not an operator"),
            ("limit 5 in 1m where time>now", "now", "a rule has no clock"),
            ("limit 5 in 1m\nlmit 5 in 1m", "lmit", "does not begin a limit"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            if !place.is_empty() {
                assert_eq!(Some(error.range.start), text.rfind(place), "{text}");
            }
        }
    }

    #[test]
    fn the_language_is_recognised() {
        for text in ["limit", "\n\tlimit 5 in 1s\nnot one", "# mine\n limit 5 in 1s # ours"] {
            assert!(looks_like(text), "{text}");
        }
        let of_others =
            ["limit_req zone=one;", "[sshd]\nlimit 5 in 1s", "unlimited", "Limit 5 in 1s"];
        for text in of_others.into_iter().chain(["", "# limit 5 in 1s", "'limit 5 in 1s'"]) {
            assert!(!looks_like(text), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in "(limit )?[a-z0-9/'\"#(),é=\n ]{0,40}") {
            match parse(&text) {
                Ok(_) => prop_assert!(looks_like(&text)),
                Err(error) => {
                    prop_assert!(error.range.start <= text.len());
                    error.excerpt(&text);
                }
            }
        }
    }
}
