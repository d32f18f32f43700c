//! `vsthrottle.is_denied` of Varnish, in VCL: a token bucket for each key.
//!
//! `calc_tokens` of `vmod_vsthrottle.c` (varnish-modules) adds whole tokens, and a request that
//! takes one drops the part of the next that had come.

use super::{Preset, client, duration_ns, header_field};
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey};

const CALL: &str = "vsthrottle.is_denied(";

/// Whether a text throttles requests.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains(CALL)
}

/// Reads the calls, each of which is a limit.
///
/// # Errors
/// If there is none, or one is not valid.
pub(super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let mut presets = Vec::new();
    for (at, _) in text.match_indices(CALL).filter(|(at, _)| !is_in_comment(text, *at)) {
        presets.push(call(text, at)?);
    }
    match presets.is_empty() {
        true => {
            let message = "there is no `vsthrottle.is_denied(client.identity, 15, 10s)` in it";
            Err(RuleError::new(0..0, message))
        }
        false => Ok(presets),
    }
}

/// Whether a place is after `#` or `//` in its line.
fn is_in_comment(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |line_feed| line_feed + 1);
    let before = text[start..at].trim_start();
    before.starts_with('#') || before.starts_with("//")
}

/// The limit of a call at a position.
fn call(text: &str, at: usize) -> Result<Preset, RuleError> {
    let open = at + CALL.len();
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
    let key_text = arguments.get(limit_at + 1).copied().unwrap_or_default();
    let mut notes = Vec::new();
    let key = key(key_text);
    if key.0.is_empty() {
        notes.push(error("the key has no field of a log, so all requests count together"));
    }
    let condition = "the conditions around it are not followed: all requests count; give a \
                     condition with --where";
    if text[..at].rfind("if (").is_some_and(|begin| text[begin..at].contains("&&")) {
        notes.push(error(condition));
    }
    let algorithm = Algorithm::WholeTokens { block_ns: block_ns.unwrap_or(0) };
    let limit = Limit { key, ..Limit::new(count, period_ns, algorithm) };
    Ok(Preset { limit, notes })
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
    LimitKey(parts)
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};

    #[test]
    fn calls_are_limits() {
        for (call, expected, notes) in [
            ("client.identity, 15, 10s", "limit 15 requests in 10s by client as whole-tokens", 0),
            (
                "\"rw\" + client.ip + req.http.host, 2, 1m, 30s",
                "limit 2 requests in 1m by client, host as whole-tokens; then rejected for 30s",
                0,
            ),
            ("\"all\", 1000, 1s", "limit 1000 requests in 1s as whole-tokens", 1),
        ] {
            let text =
                format!("sub vcl_recv {{\n  # {0}\n  if (vsthrottle.is_denied({call})) {{\n", "x");
            assert!(looks_like(&text), "{text}");
            let presets = parse(&text).expect(&text);
            assert_eq!(presets[0].limit.to_string(), expected, "{text}");
            assert_eq!(presets[0].notes.len(), notes, "{text}");
        }
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for call in ["", "client.ip", "client.ip, 5", "client.ip, x, 10s", "client.ip, 5, 10y"] {
            let text = format!("if (vsthrottle.is_denied({call})) {{}}");
            let error = parse(&text).err().expect(&text);
            assert!(error.message.contains("write the key, the number"), "{text}: {error}");
            assert_eq!(error.range.start, 4, "{text}");
        }
        let text = "# vsthrottle.is_denied(client.ip, 5, 10s)";
        assert!(parse(text).err().expect(text).message.contains("there is no"));
        assert!(parse("vsthrottle.is_denied(a, 5, 1s").is_err());
    }
}
