//! Limits of packet filters, iptables and nft, for each address over the requests of a log.
//!
//! Both filter packets. A rule about new connections (`--ctstate NEW`, `ct state new`, `--syn`)
//! counts connections, and a log has requests: each counts as a connection.

pub(super) mod iptables;
pub(super) mod nft;
#[cfg(test)]
mod tests;

use super::Preset;
use crate::error::RuleError;
use crate::windows::{Limit, Word};

const CONNECTIONS: &str = "it counts new connections, and the log has requests: each counts as a \
                           connection, so a client that reuses its connections counts too often";

const PACKETS: &str = "it counts all packets, because nothing in the line selects new connections \
                       (`--ctstate NEW`, `ct state new`), and the log has requests: each counts as \
                       one packet here, and is several";

const ESTABLISHED: &str = "it counts the packets of connections that are already open, and the log \
                           has requests: each counts as one packet here, and is several";

/// The burst of a limit that does not set it, in packets (`XT_HASHLIMIT_BURST`, `XT_LIMIT_BURST`,
/// and that of nft).
const BURST: u64 = 5;

const ONLY_LOGS: &str = "this line only logs packets, so its limit rejects nothing: it bounds how \
                         much is logged";

/// The most lines that only log and are named.
const LOGGED_MAX: usize = 20;

/// The units of rates, in nanoseconds.
const UNITS: [(&str, u64); 5] = [
    ("second", 1_000_000_000),
    ("minute", 60_000_000_000),
    ("hour", 3_600_000_000_000),
    ("day", 86_400_000_000_000),
    ("week", 604_800_000_000_000),
];

/// The limits of a text, the first with notes about its lines that only log.
///
/// # Errors
/// If there is no limit.
fn with_logged(
    mut presets: Vec<Preset>,
    mut logged: Vec<RuleError>,
    missing: &str,
) -> Result<Vec<Preset>, RuleError> {
    logged.truncate(LOGGED_MAX);
    match presets.first_mut() {
        Some(first) => first.notes.extend(logged),
        None => {
            let missing = || RuleError::new(0..0, missing);
            return Err(logged.into_iter().next().unwrap_or_else(missing));
        }
    }
    Ok(presets)
}

/// Whether a line only logs or marks packets, whatever its limit.
fn only_logs(line: &[Word<'_>]) -> bool {
    let is_jump = |word: &Word<'_>| matches!(word.text, "-j" | "--jump");
    let target = line.windows(2).find(|two| is_jump(&two[0])).map(|two| two[1].text);
    let is_log = matches!(target, Some("LOG" | "NFLOG" | "ULOG" | "MARK" | "CONNMARK" | "TRACE"));
    let logs = line.iter().any(|word| word.text == "log" || word.text.starts_with("log;"));
    let decides = |word: &Word<'_>| {
        let word = word.text.trim_end_matches(['}', ';']);
        matches!(word, "drop" | "reject" | "accept" | "return" | "jump" | "goto" | "continue")
    };
    is_log || target.is_none() && logs && !line.iter().any(decides)
}

/// A rate such as `20/minute` or `20/min`.
fn rate_of(word: Word<'_>) -> Result<(u64, u64), RuleError> {
    let rate = || {
        let (count, unit) = word.text.split_once('/')?;
        let count: u64 = count.parse().ok().filter(|it| (1..=Limit::COUNT_MAX).contains(it))?;
        let known = UNITS.iter().find(|(name, _)| !unit.is_empty() && name.starts_with(unit));
        known.map(|(_, unit_ns)| (count, *unit_ns))
    };
    rate().ok_or_else(|| {
        word.error(format!("`{}` is not a rate of packets; write 20/second or 5/minute", word.text))
    })
}

/// Notes about what a line counts, and what of it is not followed.
fn notes(line: &[Word<'_>]) -> Vec<RuleError> {
    let (place, counts) = packets(line);
    let mut notes: Vec<RuleError> = place.map(|word| word.error(counts)).into_iter().collect();
    let is_source = |word: &&Word<'_>| matches!(word.text, "-s" | "--source" | "--src" | "saddr");
    // `ip saddr limit` is a key, and `ip saddr 192.0.2.0/24` a condition.
    for (at, word) in line.iter().enumerate().filter(|(_, word)| is_source(word)) {
        if line.get(at + 1).is_some_and(|next| {
            next.text.starts_with(|it: char| it.is_ascii_hexdigit() || it == '@')
        }) {
            notes
                .push(word.error("which addresses this is for is not followed: all of them count"));
        }
    }
    notes
}

/// Which packets a line counts, and where it says so.
fn packets<'l, 't>(line: &'l [Word<'t>]) -> (Option<&'l Word<'t>>, &'static str) {
    let has = |word: &Word<'_>, state: &str| {
        let states = word.text.trim_matches(['{', '}', ';']).split(',');
        states.into_iter().any(|it| it.eq_ignore_ascii_case(state))
    };
    // `recent` and `connlimit` are about connections by themselves, in every state.
    let is_new = |word: &&Word<'_>| {
        has(word, "new")
            || matches!(word.text, "--syn" | "syn" | "--tcp-flags" | "connlimit" | "recent")
    };
    let is_open = |word: &&Word<'_>| has(word, "established");
    if let Some(word) = line.iter().find(is_new) {
        return (Some(word), CONNECTIONS);
    }
    match line.iter().find(is_open) {
        Some(word) => (Some(word), ESTABLISHED),
        None => (line.first(), PACKETS),
    }
}
