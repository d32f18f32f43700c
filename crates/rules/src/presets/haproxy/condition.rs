//! Conditions of lines: tests of a request that a log has, and comparisons of counters, joined by
//! `or`, negated, or named by an `acl`.

use std::collections::HashMap;

use super::super::selection::bytewise;
use super::counter::{Comparison, CounterKind, comparison};
use crate::error::RuleError;
use crate::windows::Word;

/// The most alternatives of a condition.
const ALTERNATIVES_MAX: usize = 64;

/// The most tests of an alternative.
const TERMS_MAX: usize = 64;

/// A test, with its place in the line that is read.
#[derive(Debug, Clone)]
pub(super) struct Term<'t> {
    pub(super) place: Word<'t>,
    pub(super) is_negated: bool,
    pub(super) test: Test<'t>,
}

impl<'t> Term<'t> {
    /// The comparison of a counter that is not a general one.
    pub(super) fn rate(&self) -> Option<&Comparison<'t>> {
        let Test::Counter(comparison) = &self.test else { return None };
        let kind = comparison.counter.kind;
        (!matches!(kind, CounterKind::General(_) | CounterKind::Raise(_))).then_some(comparison)
    }
}

/// What a term tests.
#[derive(Debug, Clone)]
pub(super) enum Test<'t> {
    /// The request, as a condition of a log.
    Request(String),
    Counter(Comparison<'t>),
    /// Nothing: it always holds, or never.
    Constant(bool),
    /// What a log does not tell.
    Unknown,
}

/// Alternatives, of each of which all terms must hold.
pub(super) type Alternatives<'t> = Vec<Vec<Term<'t>>>;

/// The tests with the same name, of which one must hold.
pub(super) type Acls<'t> = HashMap<&'t str, Vec<Test<'t>>>;

/// The conditions that HAProxy defines itself.
const PREDEFINED: [(&str, &str); 7] = [
    ("METH_GET", "method=GET,HEAD"),
    ("METH_POST", "method=POST"),
    ("METH_PUT", "method=PUT"),
    ("METH_DELETE", "method=DELETE"),
    ("METH_HEAD", "method=HEAD"),
    ("METH_OPTIONS", "method=OPTIONS"),
    ("LOCALHOST", "client=127.0.0.0/8"),
];

/// The condition after `if` or `unless`; every request meets it if there is neither.
///
/// # Errors
/// If a comparison is not valid, or there are too many alternatives.
pub(super) fn alternatives<'t>(
    line: &[Word<'t>],
    acls: &Acls<'t>,
) -> Result<Alternatives<'t>, RuleError> {
    let Some(at) = line.iter().position(|word| matches!(word.text, "if" | "unless")) else {
        return Ok(vec![Vec::new()]);
    };
    let mut alternatives = vec![Vec::new()];
    for part in parts(&line[at + 1..]) {
        match part {
            Part::Or => alternatives.push(Vec::new()),
            Part::Term { place, is_negated, words } => {
                let tests = tests(place, words, acls)?;
                let terms = tests.into_iter().map(|test| Term { place, is_negated, test });
                let last = alternatives.last_mut();
                last.into_iter().for_each(|last| last.push(terms.clone().collect::<Vec<_>>()));
            }
        }
    }
    let mut expanded = Vec::new();
    for terms in alternatives {
        expanded.extend(expand(terms, line[at])?);
    }
    match line[at].text {
        "unless" => negated(expanded, line[at]),
        _ => Ok(expanded),
    }
}

/// The alternatives of terms that must all hold. Each is one of several tests: one of them must hold
/// or, if it is negated, none.
fn expand<'t>(terms: Vec<Vec<Term<'t>>>, place: Word<'t>) -> Result<Alternatives<'t>, RuleError> {
    let mut alternatives = vec![Vec::new()];
    for tests in terms {
        if tests.first().is_some_and(|term| term.is_negated) {
            alternatives.iter_mut().for_each(|terms: &mut Vec<_>| terms.extend(tests.clone()));
            check_terms(&alternatives, place)?;
            continue;
        }
        let each = alternatives.iter().flat_map(|before| {
            tests.iter().map(move |test| [&before[..], std::slice::from_ref(test)].concat())
        });
        alternatives = each.take(ALTERNATIVES_MAX + 1).collect();
        check_count(&alternatives, place)?;
        check_terms(&alternatives, place)?;
    }
    Ok(alternatives)
}

/// The alternatives of a condition that does not hold.
fn negated<'t>(
    alternatives: Alternatives<'t>,
    place: Word<'t>,
) -> Result<Alternatives<'t>, RuleError> {
    let mut result = vec![Vec::new()];
    for terms in alternatives {
        let each = result.iter().flat_map(|before: &Vec<Term<'t>>| {
            terms.iter().map(move |term| {
                let is_negated = !term.is_negated;
                [&before[..], &[Term { is_negated, ..term.clone() }]].concat()
            })
        });
        result = each.take(ALTERNATIVES_MAX + 1).collect();
        check_count(&result, place)?;
        check_terms(&result, place)?;
    }
    Ok(result)
}

/// Refuses a condition of too many tests: each is copied for each alternative and each limit.
fn check_terms(alternatives: &Alternatives<'_>, place: Word<'_>) -> Result<(), RuleError> {
    match alternatives.iter().any(|terms| terms.len() > TERMS_MAX) {
        true => Err(place.error(format!("the condition has more than {TERMS_MAX} tests"))),
        false => Ok(()),
    }
}

fn check_count(alternatives: &Alternatives<'_>, place: Word<'_>) -> Result<(), RuleError> {
    match alternatives.len() {
        0..=ALTERNATIVES_MAX => Ok(()),
        _ => Err(place.error(format!("it has more than {ALTERNATIVES_MAX} alternatives"))),
    }
}

/// A part of a condition.
enum Part<'a, 't> {
    Or,
    /// The name of an `acl`, or the words between braces.
    Term {
        place: Word<'t>,
        is_negated: bool,
        words: &'a [Word<'t>],
    },
}

/// The parts of a condition.
fn parts<'a, 't>(words: &'a [Word<'t>]) -> Vec<Part<'a, 't>> {
    let mut parts = Vec::new();
    let (mut at, mut is_negated) = (0, false);
    while let Some(place) = words.get(at) {
        let text = place.text.trim_start_matches('!');
        is_negated ^= (place.text.len() - text.len()) % 2 == 1;
        let inner = at + 1;
        at = inner;
        match text {
            "" => continue,
            "or" | "||" => parts.push(Part::Or),
            "{" => {
                let length = words[inner..].iter().position(|word| word.text == "}");
                let end = length.map_or(words.len(), |length| inner + length);
                parts.push(Part::Term { place: *place, is_negated, words: &words[inner..end] });
                at = end + 1;
            }
            _ => parts.push(Part::Term { place: *place, is_negated, words: &words[at - 1..at] }),
        }
        is_negated = false;
    }
    parts
}

/// The tests of a term, of which one must hold.
fn tests<'t>(
    place: Word<'t>,
    words: &[Word<'t>],
    acls: &Acls<'t>,
) -> Result<Vec<Test<'t>>, RuleError> {
    let is_named = !place.text.trim_start_matches('!').starts_with('{');
    if !is_named {
        return Ok(vec![test(words)?]);
    }
    let name = place.text.trim_start_matches('!');
    if let Some(tests) = acls.get(name) {
        return Ok(tests.clone());
    }
    let predefined = PREDEFINED.iter().find(|(known, _)| *known == name);
    Ok(vec![match (name, predefined) {
        ("TRUE", _) => Test::Constant(true),
        ("FALSE", _) => Test::Constant(false),
        (_, Some((_, condition))) => Test::Request((*condition).to_owned()),
        _ => Test::Unknown,
    }])
}

/// The test of the words of an `acl`, or between braces.
///
/// # Errors
/// If it is a comparison of a counter that is not valid.
pub(super) fn test<'t>(words: &[Word<'t>]) -> Result<Test<'t>, RuleError> {
    if let Some(comparison) = comparison(words)? {
        return Ok(Test::Counter(comparison));
    }
    Ok(request(words).map_or(Test::Unknown, Test::Request))
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparing {
    Whole,
    Begin,
    End,
    Inside,
    Folder,
    Domain,
    Expression,
}

const COMPARING: [(&str, Comparing); 7] = [
    ("str", Comparing::Whole),
    ("beg", Comparing::Begin),
    ("end", Comparing::End),
    ("sub", Comparing::Inside),
    ("dir", Comparing::Folder),
    ("dom", Comparing::Domain),
    ("reg", Comparing::Expression),
];

/// A test of a request as a condition of a log, if it can be one.
fn request(words: &[Word<'_>]) -> Option<String> {
    let (fetch, mut rest) = words.split_first()?;
    let (mut comparing, mut ignores_case) = (None, false);
    while let Some((flag, after)) = rest.split_first() {
        match (flag.text, after) {
            ("-i", _) => ignores_case = true,
            ("-n" | "--", _) => {}
            ("-m", [name, after @ ..]) => {
                comparing = Some(COMPARING.iter().find(|(known, _)| *known == name.text)?.1);
                rest = after;
                continue;
            }
            (flag, _) if flag.starts_with('-') => return None,
            _ => break,
        }
        rest = after;
    }
    let values: Vec<&str> = rest.iter().map(|word| unquoted(word.text)).collect();
    if values.is_empty() {
        return None;
    }
    let name = fetch.text;
    match name {
        "src" => {
            let is_list = values.iter().all(|value| value.contains(['.', ':']));
            return is_list.then(|| format!("client={}", values.join(",")));
        }
        "method" => return Some(format!("method={}", values.join(","))).filter(|_| plain(&values)),
        "status" => return statuses(&values),
        _ => {}
    }
    let (field, suffix) = field(name)?;
    let by_suffix = COMPARING.iter().find(|(known, _)| *known == suffix).map(|(_, it)| *it);
    let comparing = comparing.or(by_suffix).unwrap_or(Comparing::Whole);
    text_condition(&field, comparing, ignores_case, &values)
}

/// The field of a fetch, and what its name says about the comparison.
fn field(fetch: &str) -> Option<(String, &str)> {
    let (name, argument) = match fetch.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
        None => (fetch, None),
    };
    let (base, suffix) = match name.rsplit_once('_') {
        Some((base, suffix)) if COMPARING.iter().any(|(known, _)| *known == suffix) => {
            (base, suffix)
        }
        _ => (name, ""),
    };
    let field = match (base, argument) {
        ("path", None) => "path".to_owned(),
        ("query", None) => "query".to_owned(),
        ("hdr" | "req.hdr" | "req.fhdr", Some(header)) => {
            super::super::header_field(header.split(',').next()?)
        }
        ("cook" | "req.cook", Some(cookie)) => format!("cookie_{cookie}"),
        _ => return None,
    };
    Some((field, suffix))
}

/// A condition on a text.
fn text_condition(
    field: &str,
    comparing: Comparing,
    ignores_case: bool,
    values: &[&str],
) -> Option<String> {
    if values.iter().any(|value| value.contains('\'')) {
        return None;
    }
    if let ([value], false) = (values, ignores_case) {
        match comparing {
            Comparing::Whole => return Some(format!("{field}='{value}'")),
            Comparing::Begin => return Some(format!("{field}^='{value}'")),
            _ => {}
        }
    }
    let escaped = |value: &&str| match comparing {
        Comparing::Expression => format!("(?:{value})"),
        Comparing::Folder => regex::escape(value.trim_matches('/')),
        Comparing::Domain => regex::escape(value.trim_matches('.')),
        _ => regex::escape(value),
    };
    let any = values.iter().map(escaped).collect::<Vec<_>>().join("|");
    let pattern = match comparing {
        Comparing::Whole => format!("^(?:{any})$"),
        Comparing::Begin => format!("^(?:{any})"),
        Comparing::End => format!("(?:{any})$"),
        Comparing::Inside => any,
        Comparing::Expression => bytewise(&any).into_owned(),
        Comparing::Folder => format!("(?:^|/)(?:{any})(?:/|$)"),
        Comparing::Domain => format!("(?:^|[./:])(?:{any})(?:[./:]|$)"),
    };
    Some(format!("{field}~'{}{pattern}'", if ignores_case { "(?i)" } else { "" }))
}

/// The condition of statuses: single ones, ranges such as `400:499`, or `ge 400`.
fn statuses(values: &[&str]) -> Option<String> {
    let number = |text: &str| text.parse::<u16>().ok();
    let each = |value: &&str| match value.split_once(':') {
        Some((least, most)) => {
            Some(format!("(status>={} and status<={})", number(least)?, number(most)?))
        }
        None => Some(format!("status={}", number(value)?)),
    };
    match values {
        ["ge", value] => Some(format!("status>={}", number(value)?)),
        ["gt", value] => Some(format!("status>{}", number(value)?)),
        ["eq", value] => Some(format!("status={}", number(value)?)),
        _ => Some(values.iter().map(each).collect::<Option<Vec<_>>>()?.join(" or ")),
    }
}

/// Whether values need no quotation marks.
fn plain(values: &[&str]) -> bool {
    values.iter().all(|value| value.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
