//! Date templates.

use std::fmt;
use std::sync::LazyLock;

use fancy_regex::Regex;

use weir_core::PatternBudget;

use super::value::{self, DateValue};
use crate::error::RuleError;
use crate::fail2ban::pattern::{Found, Groups, Pattern};

/// The pattern of each field of a date, by its letter.
const FIELDS: [(&str, &str); 32] = [
    ("ExY", r"(?P<Y>20\d\d)"),
    ("Exy", r"(?P<y>\d{2})"),
    ("Exm", r"(?P<m>0[1-9]|1[0-2])"),
    ("Exd", r"(?P<d>[1-2]\d|0[1-9]|3[0-1])"),
    ("ExH", r"(?P<H>[0-1]\d|2[0-3])"),
    ("ExM", r"(?P<M>[0-5]\d)"),
    ("ExS", r"(?P<S>[0-5]\d|6[0-1])"),
    ("Exk", r" ?(?P<H>[0-1]?\d|2[0-3])"),
    ("Exl", r" ?(?P<I>1[0-2]|\d)"),
    ("ExZ", r"(?P<Z>[A-Z](?:[A-Z]{2,4})?)"),
    ("Exz", r"(?P<z>(?:[A-Z](?:[A-Z]{2,4})?)?[+-][01]\d(?::?\d{2})?|[A-Z](?:[A-Z]{2,4})?)"),
    ("Y", r"(?P<Y>\d{4})"),
    ("y", r"(?P<y>\d\d)"),
    ("m", r"(?P<m>0?[1-9]|1[0-2])"),
    ("d", r"(?P<d>[1-2]\d|[0 ]?[1-9]|3[0-1])"),
    ("H", r"(?P<H>[0-1]?\d|2[0-3])"),
    ("M", r"(?P<M>[0-5]?\d)"),
    ("S", r"(?P<S>[0-5]?\d|6[0-1])"),
    ("k", r" ?(?P<H>[0-2]?\d)"),
    ("l", r" ?(?P<I>1?\d)"),
    ("I", r"(?P<I>1[0-2]|0[1-9]|[1-9])"),
    ("f", r"(?P<f>[0-9]{1,6})"),
    ("z", r"(?P<z>Z|UTC|GMT|[+-][01]\d(?::?\d{2})?)"),
    ("Z", r"(?P<Z>Z|[A-Z]{3,5})"),
    ("a", r"(?P<a>mon|tue|wed|thu|fri|sat|sun)"),
    ("A", r"(?P<A>wednesday|thursday|saturday|tuesday|monday|friday|sunday)"),
    ("b", r"(?P<b>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"),
    (
        "B",
        r"(?P<B>september|february|november|december|january|october|august|march|april|june|july|may)",
    ),
    ("p", r"(?P<p>am|pm)"),
    ("j", r"(?P<j>36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9])"),
    ("w", r"(?P<w>[0-6])"),
    ("%", "%"),
];

/// The prefix that makes a template match only at the start of a line, after two characters at
/// most.
pub(super) const LINE_START: &str = "{^LN-BEG}";

/// A date template.
#[derive(Debug, Clone)]
pub(super) struct DateTemplate {
    pattern: Pattern,
    kind: Kind,
    /// Whether the template matches only at the start or the end of a line.
    pub(super) is_anchored: bool,
    /// The pattern; templates with equal patterns are equal.
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fields,
    /// Seconds since 1970, or milliseconds or microseconds, depending on the number of digits.
    Epoch {
        group: usize,
        is_long: bool,
    },
    Tai64n,
}

/// A date that a template found in a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TemplateMatch {
    /// The start of the whole match.
    pub(super) start: usize,
    /// The range to cut out of the line.
    pub(super) cut: (usize, usize),
    pub(super) value: DateValue,
}

/// The position in a word at which a template may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordStart {
    Anywhere,
    Word,
    Line,
}

/// One of fail2ban's checks of a template's text.
struct Check(LazyLock<Regex>);

macro_rules! check {
    ($name:ident, $pattern:literal) => {
        static $name: Check =
            Check(LazyLock::new(|| Regex::new($pattern).expect("a valid pattern")));
    };
}

check!(GLOBAL_FLAGS, r"\(\?[a-z]+\)");
check!(NO_WORD_START, r"^\(*(?:\(\?\w+\))?(?:\^|\(*\*\*|\((?:\?:)?\^)");
check!(NO_WORD_END, r"(?<!\\)(?:\$\)?|\\b|\\s|\*\*\)*)$");
check!(GROUPED, r"(?<!\(\?)(?<!\\)\((?!\?)");
check!(UNGROUPED, r"^((?:\(\?\w+\))?\^?(?:\(\?\w+\))?)(.*?)(\$?)$");
check!(LINE_STARTS, r"^(?:\(\?\w+\))?(?:\^|\((?:\?:)?\^(?!\|))");
check!(LINE_ENDS, r"(?<![\\|])(?:\$\)?)$");
check!(UNBOUND_START, r"^(\(*(?:\(\?\w+\))?\(*)\*\*");
check!(UNBOUND_END, r"(?<!\\)\*\*(\)*)$");
check!(LETTERS, r"(?<!%)%[aAbBpc]");
check!(EPOCH, r"(?i)(?<!\\)\{(L?)EPOCH\}");

impl Check {
    fn holds(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }
}

impl DateTemplate {
    /// Reads a template of a `datepattern`.
    ///
    /// # Errors
    /// If the template is not valid, or has an unknown field.
    pub(super) fn new(pattern: &str, budget: &PatternBudget) -> Result<Self, RuleError> {
        let key = if pattern.contains('%') { pattern.to_owned() } else { pattern.to_uppercase() };
        let bare = key.strip_prefix(LINE_START).or(key.strip_prefix('^')).unwrap_or(&key);
        let starts_line = bare.len() < key.len();
        match bare {
            "EPOCH" | "LEPOCH" => Self::epoch(starts_line, bare == "LEPOCH", pattern, budget),
            "TAI64N" => {
                let start = if starts_line { WordStart::Line } else { WordStart::Anywhere };
                Self::bound("@[0-9a-f]{24}", start, true, Kind::Tai64n, pattern, budget)
            }
            _ if EPOCH.holds(pattern) => Self::epoch_in(pattern, budget),
            _ => Self::fields(pattern, budget),
        }
    }

    fn epoch(
        starts_line: bool,
        is_long: bool,
        pattern: &str,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let kind = Kind::Epoch { group: 1, is_long };
        let number = epoch_number(is_long);
        let regex = if starts_line {
            format!(r"((?P<square>(?<=^\[))?{number})(?(square)(?=\]))")
        } else {
            format!(
                r"((?:^|(?P<square>(?<=^\[))|(?P<selinux>(?<=\baudit\())){number})(?:(?(selinux)(?=:\d+\)))|(?(square)(?=\])))"
            )
        };
        let start = if starts_line { WordStart::Line } else { WordStart::Anywhere };
        Self::bound(&regex, start, true, kind, pattern, budget)
    }

    /// A pattern with `{EPOCH}` in it.
    fn epoch_in(pattern: &str, budget: &PatternBudget) -> Result<Self, RuleError> {
        let is_long = pattern.to_uppercase().contains("{LEPOCH}");
        let number = format!("({})", epoch_number(is_long));
        let regex = EPOCH.0.replace_all(pattern, fancy_regex::NoExpand(&number));
        let kind = Kind::Epoch { group: 2, is_long };
        Self::bound(&format!("({regex})"), WordStart::Word, true, kind, pattern, budget)
    }

    fn fields(pattern: &str, budget: &PatternBudget) -> Result<Self, RuleError> {
        let (rest, mut start, ends_word) = match pattern.strip_prefix("{UNB}") {
            Some(rest) => (rest, WordStart::Anywhere, false),
            None => (pattern, WordStart::Word, true),
        };
        let rest = match rest.strip_prefix(LINE_START) {
            Some(rest) if start == WordStart::Word => {
                start = WordStart::Line;
                rest
            }
            _ => rest,
        };
        let regex = with_fields(rest, pattern.len() - rest.len())?;
        let flags = if LETTERS.holds(rest) { "(?iu)" } else { "" };
        Self::bound(&format!("{flags}{regex}"), start, ends_word, Kind::Fields, pattern, budget)
    }

    /// Adds the boundaries at both ends of a template, and the group that is cut out.
    fn bound(
        regex: &str,
        start: WordStart,
        ends_word: bool,
        kind: Kind,
        pattern: &str,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let mut regex = regex.trim().to_owned();
        let flags = GLOBAL_FLAGS.0.find(&regex).ok().flatten().map(|found| found.range());
        let flags = flags.map(|range| regex.drain(range).collect::<String>()).unwrap_or_default();
        let is_bound = start != WordStart::Anywhere && !NO_WORD_START.holds(&regex);
        let is_end_bound = ends_word && !NO_WORD_END.holds(&regex);
        if !GROUPED.holds(&regex) {
            regex = UNGROUPED.0.replace(&regex, "$1($2)$3").into_owned();
        }
        let mut is_anchored = false;
        if is_bound {
            is_anchored = start == WordStart::Line;
            let prefix = if is_anchored { r"^(?:\W{0,2})?" } else { r"(?=^|\b|\W)" };
            regex = format!("{prefix}{regex}");
        }
        if is_end_bound {
            regex += r"(?=\b|\W|$)";
        }
        is_anchored |= LINE_STARTS.holds(&regex) || LINE_ENDS.holds(&regex);
        let regex = UNBOUND_START.0.replace(&regex, "$1");
        let regex = format!("{flags}{}", UNBOUND_END.0.replace(&regex, "$1"));
        let lazy = Pattern::lazy(&regex, Groups::All, false, budget)
            .map_err(|error| not_valid(pattern, &error.message))?;
        Ok(Self { pattern: lazy, kind, is_anchored, text: regex })
    }

    /// Compiles the template in advance instead of at its first use. `pattern` is its text.
    ///
    /// # Errors
    /// If it cannot be compiled; such a template finds nothing.
    pub(super) fn compile(&self, pattern: &str) -> Result<(), RuleError> {
        self.pattern.compile().map_err(|reason| not_valid(pattern, reason))
    }

    /// Finds the date in a line. `default_offset_s` is for dates without a zone.
    pub(super) fn find(&self, line: &str, default_offset_s: i64) -> Option<TemplateMatch> {
        let Found::Match(groups) = self.pattern.find(line) else { return None };
        let cut = groups.get(1).map_or((0, 0), |group| (group.start(), group.end()));
        let value = match self.kind {
            Kind::Fields => value::of_groups(&groups, default_offset_s),
            Kind::Epoch { group, is_long } => {
                epoch_value(groups.get(group).map_or("", |group| group.as_str()), is_long)
            }
            Kind::Tai64n => {
                let digits = line.get(cut.0 + 2..cut.0 + 17);
                let seconds = digits.and_then(|digits| i64::from_str_radix(digits, 16).ok());
                seconds.map_or(DateValue::Unknown, |seconds| DateValue::Time(seconds as f64))
            }
        };
        Some(TemplateMatch { start: groups.get(0).map_or(0, |whole| whole.start()), cut, value })
    }
}

fn not_valid(pattern: &str, reason: impl fmt::Display) -> RuleError {
    let message = format_args!("this is not a valid date pattern: {reason}");
    RuleError::new(0..pattern.len(), message)
}

fn epoch_number(is_long: bool) -> &'static str {
    if is_long { r"\d{10,11}(?:\d{3}(?:\.\d{1,6}|\d{3})?)?" } else { r"\d{10,11}\b(?:\.\d{3,6})?" }
}

fn epoch_value(text: &str, is_long: bool) -> DateValue {
    let divisor = match text.len() {
        16.. if is_long && !text.contains('.') => 1_000_000.0,
        13.. if is_long => 1_000.0,
        _ => 1.0,
    };
    let number: Option<f64> = text.parse().ok();
    number.map_or(DateValue::Unknown, |number| DateValue::Time(number / divisor))
}

/// Replaces the letters of fields by their patterns. `offset` is the position of the text in its
/// pattern.
fn with_fields(text: &str, offset: usize) -> Result<String, RuleError> {
    let mut result = String::new();
    let mut position = 0;
    while let Some(length) = text[position..].find('%') {
        result += &text[position..position + length];
        position += length + 1;
        let field = FIELDS.iter().find(|(letters, _)| text[position..].starts_with(letters));
        let Some((letters, pattern)) = field else {
            let range = offset + position - 1..offset + (position + 1).min(text.len());
            let message = "this is not a field of a date; write %% for the sign itself";
            return Err(RuleError::new(range, message));
        };
        result += pattern;
        position += letters.len();
    }
    result += &text[position..];
    Ok(result)
}
