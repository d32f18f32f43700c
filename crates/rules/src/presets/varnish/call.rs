//! A call of `vsthrottle.is_denied`.

use std::ops::Range;

use super::super::{client, duration_ns, header_field};
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey};

/// The name of the function.
pub(super) const NAME: &str = "vsthrottle.is_denied";

/// A call as a limit of all requests that reach it.
#[derive(Debug)]
pub(super) struct Call {
    /// The place of the function's name.
    pub(super) range: Range<usize>,
    pub(super) limit: Limit,
    pub(super) notes: Vec<RuleError>,
}

/// Reads the call that begins at `at`, with its arguments from `open` on. Returns its end too.
///
/// # Errors
/// If it is not valid.
pub(super) fn read(text: &str, at: usize, open: usize) -> Result<(Call, usize), RuleError> {
    let range = at..open - 1;
    let error = |message: &str| RuleError::new(range.clone(), message);
    let end = end_of_call(&text[open..]).ok_or_else(|| error("the call has no `)`"))?;
    let inner = &text[open..open + end];
    let arguments: Vec<&str> = inner.rsplitn(4, ',').map(str::trim).collect();
    // From the last one on: the block, the period, the limit and the key.
    let limit_at = arguments.iter().rposition(|text| text.parse::<u64>().is_ok()).unwrap_or(0);
    let usage = "write the key, the number of requests and the period: \
                 vsthrottle.is_denied(client.identity, 15, 10s)";
    let (Some(count), true) = (arguments.get(limit_at), limit_at > 0) else {
        return Err(error(usage));
    };
    let duration = |argument: Option<&&str>| {
        argument
            .map(|text| duration_ns(text, 1_000_000_000).ok_or_else(|| error(usage)))
            .transpose()
    };
    let period_ns = duration(arguments.get(limit_at - 1))?.ok_or_else(|| error(usage))?;
    let block_ns = match limit_at {
        2.. => duration(arguments.get(limit_at - 2))?,
        _ => None,
    };
    let count: u64 = count
        .parse()
        .ok()
        .filter(|it| (1..=Limit::COUNT_MAX).contains(it))
        .ok_or_else(|| error("a limit of 0 requests rejects everything"))?;
    let mut notes = Vec::new();
    let key = key(arguments.get(limit_at + 1).copied().unwrap_or_default());
    if key.parts.is_empty() {
        notes.push(error("the key has no field of a log, so all requests count together"));
    }
    let algorithm = Algorithm::WholeTokens { block_ns: block_ns.unwrap_or(0) };
    let limit = Limit { key, ..Limit::new(count, period_ns, algorithm) };
    Ok((Call { range: range.clone(), limit, notes }, open + end + 1))
}

/// The length of the arguments up to the `)` that ends them.
fn end_of_call(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted) = (0, false);
    for (at, next) in text.char_indices() {
        match next {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted && depth == 0 => return Some(at),
            ')' if !is_quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The fields in an expression of a key, which joins texts and variables.
fn key(text: &str) -> LimitKey {
    let mut parts: Vec<KeyPart> = Vec::new();
    for word in text.split(|next: char| next.is_whitespace() || "+(),".contains(next)) {
        let part = match word {
            "client.identity" | "client.ip" | "remote.ip" => client(),
            "req.url" => ["path", "query"].map(|name| KeyPart::Field(name.to_owned())).into(),
            "req.method" => vec![KeyPart::Field("method".to_owned())],
            word => match word.strip_prefix("req.http.") {
                Some(header) => vec![KeyPart::Field(header_field(header))],
                None => continue,
            },
        };
        parts.extend(part.into_iter().filter(|part| !parts.contains(part)).collect::<Vec<_>>());
    }
    LimitKey::new(parts)
}
