//! Limits of nft.
//!
//! The arithmetic is that of `nft_limit.c`: a token bucket, whose size is what the rate gives in a
//! second and the burst.

use super::super::{Preset, client};
use super::{BURST, ONLY_LOGS, notes, only_logs, rate_of, with_logged};
use crate::error::RuleError;
use crate::windows::{Algorithm, Limit, LimitKey, Word, lines};

/// Whether a text is of nft: a rate of a limit.
pub(in super::super) fn looks_like(text: &str) -> bool {
    lines(text).any(|line| rate_at(&line).is_some())
}

/// The position of the rate in a line of nft: after `limit rate`, with `over` before it or not.
fn rate_at(line: &[Word<'_>]) -> Option<usize> {
    let at = line.windows(2).position(|two| two[0].text == "limit" && two[1].text == "rate")?;
    Some(at + 2)
}

/// Reads the limits of nft.
///
/// # Errors
/// If there is none, or one is not valid.
pub(in super::super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let (mut presets, mut logged) = (Vec::new(), Vec::new());
    for line in lines(text) {
        let Some(at) = rate_at(&line) else { continue };
        if only_logs(&line) {
            logged.push(line[at - 2].error(ONLY_LOGS));
            continue;
        }
        presets.push(of_nft(&line, at)?);
    }
    with_logged(presets, logged, "there is no `limit rate over 10/minute` in it")
}

/// The limit of a line of nft, with the position of its rate.
fn of_nft(line: &[Word<'_>], at: usize) -> Result<Preset, RuleError> {
    let at = at + usize::from(line.get(at).is_some_and(|word| word.text == "over"));
    let word = line.get(at).copied();
    let word = word.ok_or_else(|| line[at - 1].error("the rate is missing; write 10/minute"))?;
    let word = word.part(0..word.text.trim_end_matches(['}', ';']).len());
    if line.get(at + 1).is_some_and(|unit| unit.text.contains("bytes/")) {
        return Err(line[at + 1].error("a rate of bytes is not replayed; only one of packets is"));
    }
    let (count, window_ns) = rate_of(word)?;
    let burst = match &line[at + 1..] {
        [burst, number, ..] if burst.text == "burst" => {
            number.text.parse().ok().filter(|burst| *burst <= Limit::COUNT_MAX).ok_or_else(
                || {
                    let text = number.text;
                    number.error(format!(
                        "`{text}` is not a number of packets up to {}",
                        Limit::COUNT_MAX
                    ))
                },
            )?
        }
        _ => BURST,
    };
    // A meter or a dynamic set has a limit for each of its elements.
    let of_element = line[..at].iter().position(|word| matches!(word.text, "saddr"));
    let is_element = line[..at]
        .iter()
        .any(|word| matches!(word.text, "meter" | "add" | "update") || word.text.starts_with('@'));
    let key = match of_element.filter(|_| is_element) {
        Some(_) => LimitKey::new(client()),
        None => LimitKey::default(),
    };
    let algorithm = Algorithm::TokenBucket { delay_ns: 0, forget_s: None };
    let mut notes = notes(line);
    if key.parts.is_empty() {
        notes.push(word.error(
            "this limit counts all clients together; a meter or a dynamic set with `ip saddr` \
             counts each alone",
        ));
    }
    let limit = Limit { burst: u64::max(burst, 1), key, ..Limit::new(count, window_ns, algorithm) };
    Ok(Preset { limit, notes })
}
