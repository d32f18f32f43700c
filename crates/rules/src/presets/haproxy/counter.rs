//! The names of counters, and the comparisons with them.

use super::super::duration_ns;
use crate::error::RuleError;
use crate::windows::{Limit, Word};

/// A number without a unit is in milliseconds.
pub(super) const PLAIN_NS: u64 = 1_000_000;

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterKind {
    /// A rate in a period, by the name that a table stores.
    Rate(&'static str),
    /// A count since the entry was made, by the name that a table stores.
    Count(&'static str),
    /// Connections at once.
    ConnectionsAtOnce,
    /// A general counter, by its number.
    General(u8),
    /// Raises a general counter when it is read.
    Raise(u8),
    /// One that a log cannot tell.
    Unknown,
}

/// The rates that a log tells.
pub(super) const RATES: [&str; 8] = [
    "http_req_rate",
    "http_err_rate",
    "http_fail_rate",
    "conn_rate",
    "sess_rate",
    "gpc0_rate",
    "gpc1_rate",
    "conn_cur",
];

/// The counts since an entry was made that a log tells.
const COUNTS: [&str; 5] = ["http_req_cnt", "http_err_cnt", "http_fail_cnt", "conn_cnt", "sess_cnt"];

/// The names of other counters without the prefix that says whose they are.
const NAMES: [&str; 18] = [
    "bytes_in_rate",
    "bytes_out_rate",
    "kbytes_in",
    "kbytes_out",
    "gpc_rate",
    "get_gpc",
    "inc_gpc",
    "get_gpt0",
    "get_gpt",
    "clr_gpc",
    "clr_gpc0",
    "clr_gpc1",
    "trackers",
    "updt_conn_cnt",
    "glitch_rate",
    "glitch_cnt",
    "bytes_in_cnt",
    "bytes_out_cnt",
];

/// The counter that an expression reads.
#[derive(Debug, Clone)]
pub(super) struct Counter<'t> {
    pub(super) place: Word<'t>,
    pub(super) kind: CounterKind,
    /// The number of the tracked counter; `None` for the entry of the client in a table.
    pub(super) number: Option<&'t str>,
    pub(super) table: Option<&'t str>,
}

/// A comparison of a counter with a number.
#[derive(Debug, Clone)]
pub(super) struct Comparison<'t> {
    pub(super) counter: Counter<'t>,
    /// The highest value for which it does not hold; `None` if it holds for values up to one.
    pub(super) most: Option<u64>,
    /// The word with the operator.
    pub(super) operator: Word<'t>,
    /// For a comparison that holds for values up to one: that value.
    pub(super) least: u64,
}

/// The counter that an expression such as `sc_http_req_rate(0)` reads, if it is one.
pub(super) fn counter(place: Word<'_>) -> Option<Counter<'_>> {
    let (name, argument) = match place.text.split_once('(') {
        Some((name, rest)) => (name, rest.split(')').next().unwrap_or_default()),
        None => (place.text, ""),
    };
    let mut arguments = argument.split(',').map(str::trim).filter(|it| !it.is_empty());
    let (number, bare) = if let Some(bare) = name.strip_prefix("src_") {
        (None, bare)
    } else if let Some(bare) = name.strip_prefix("src,table_") {
        (None, bare)
    } else {
        let rest = name.strip_prefix("sc")?;
        let (digits, bare) = rest.split_once('_')?;
        match digits {
            "" => (Some(arguments.next().unwrap_or("0")), bare),
            _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => (Some(digits), bare),
            _ => return None,
        }
    };
    let kind = match bare {
        "conn_cur" => CounterKind::ConnectionsAtOnce,
        "get_gpc0" | "gpc0" => CounterKind::General(0),
        "get_gpc1" | "gpc1" => CounterKind::General(1),
        "inc_gpc0" => CounterKind::Raise(0),
        "inc_gpc1" => CounterKind::Raise(1),
        _ => {
            let known = |names: &[&'static str]| names.iter().find(|name| **name == bare).copied();
            match (known(&RATES), known(&COUNTS)) {
                (Some(rate), _) => CounterKind::Rate(rate),
                (None, Some(count)) => CounterKind::Count(count),
                (None, None) if NAMES.contains(&bare) => CounterKind::Unknown,
                (None, None) => return None,
            }
        }
    };
    Some(Counter { place, kind, number, table: arguments.next() })
}

/// The comparison of `sc_http_req_rate(0) gt 20`, if it is one of a counter.
///
/// # Errors
/// If the operator or the number is missing or not valid.
pub(super) fn comparison<'t>(words: &[Word<'t>]) -> Result<Option<Comparison<'t>>, RuleError> {
    let Some(counter) = words.first().and_then(|word| counter(*word)) else { return Ok(None) };
    let Some(operator) = words.get(1).copied() else {
        // A fetch alone is true if it is not 0.
        let operator = counter.place;
        return match counter.kind {
            CounterKind::Rate("http_req_rate") => {
                Err(operator.error("the rate that is denied is missing; write `gt 20` after this"))
            }
            _ => Ok(Some(Comparison { counter, most: Some(0), operator, least: 0 })),
        };
    };
    let value = |word: Word<'_>, text: &str| {
        text.parse()
            .ok()
            .filter(|it| *it <= Limit::COUNT_MAX)
            .ok_or_else(|| word.error(format!("`{text}` is not a number of requests")))
    };
    let (most, least) = match operator.text {
        "gt" | "ge" | "lt" | "le" | "eq" => {
            let number = words.get(2).copied().ok_or_else(|| {
                counter.place.error("the rate that is denied is missing; write `gt 20` after this")
            })?;
            let value: u64 = value(number, number.text)?;
            match operator.text {
                "gt" => (Some(value), 0),
                "ge" => (Some(value.saturating_sub(1)), 0),
                "le" => (None, value),
                "lt" => (None, value.saturating_sub(1)),
                // A counter grows by one, so it is equal before it is greater.
                _ => (Some(value.saturating_sub(1)), 0),
            }
        }
        "-m" if words.get(2).is_some_and(|kind| matches!(kind.text, "found" | "bool")) => {
            (Some(0), 0)
        }
        "-m" => {
            let message = "only `-m found` and `-m bool` are read; write `gt 20` after the counter";
            return Err(operator.error(message));
        }
        text => {
            let begin = text.split(':').next().unwrap_or_default();
            (Some(value(operator, begin)?.saturating_sub(1)), 0)
        }
    };
    Ok(Some(Comparison { counter, most, operator, least }))
}

impl Comparison<'_> {
    /// The count up to which the comparison does not hold, or holds if it is negated.
    ///
    /// # Errors
    /// If it holds for low counts, and not for high ones.
    pub(super) fn count(&self, is_negated: bool) -> Result<u64, RuleError> {
        let operator = self.operator;
        match (self.most, is_negated) {
            (Some(most), false) => Ok(most),
            (None, true) => Ok(self.least),
            (None, false) => {
                Err(operator
                    .error(format!("`{}` is not supported; write `gt` or `ge`", operator.text)))
            }
            (Some(_), true) => Err(operator.error(format!(
                "`{}` of a condition that is negated is not supported; write `le` or `lt`",
                operator.text
            ))),
        }
    }
}

/// The stored counters of a table, each with its period in nanoseconds.
///
/// # Errors
/// If a period is not valid.
pub(super) fn stores<'t>(word: Word<'t>) -> Result<Vec<(&'t str, u64)>, RuleError> {
    let mut stores = Vec::new();
    let mut rest = word.text;
    while let Some(open) = rest.find('(') {
        let name = rest[..open].rsplit(',').next().unwrap_or_default();
        let inner = rest[open + 1..].split(')').next().unwrap_or_default();
        let period = inner.rsplit(',').next().unwrap_or_default();
        let period_ns = duration_ns(period, PLAIN_NS)
            .ok_or_else(|| word.error(format!("`{period}` is not a period; write 10s")))?;
        stores.push((name, period_ns));
        rest = rest[open + 1..].split_once(')').map_or("", |(_, after)| after);
    }
    let plain = word.text.split(',').filter(|name| !name.contains(['(', ')']));
    stores.extend(plain.map(|name| (name, 0)));
    Ok(stores)
}
