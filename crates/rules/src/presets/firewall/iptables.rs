//! Limits of iptables and ip6tables.
//!
//! The arithmetic is that of `xt_hashlimit.c` and `xt_limit.c` (credits that come evenly, up to the
//! burst: a token bucket), of `xt_connlimit.c` (connections at once) and of `xt_recent.c` (hits
//! within the last seconds; a rejected packet is none, one or two).

use super::super::{Preset, client};
use super::{BURST, ONLY_LOGS, notes, only_logs, rate_of, with_logged};
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey, Word, lines};

/// The hits that `--hitcount` may be at most, unless the module is loaded with more.
const HITS_MAX: u64 = 255;

/// Whether a line is one of iptables, of its `iptables-save` form, or of ip6tables.
fn is_iptables(line: &[Word<'_>]) -> bool {
    line.iter().any(|word| matches!(word.text, "-m" | "--match"))
        && line
            .iter()
            .any(|word| matches!(word.text, "hashlimit" | "recent" | "limit" | "connlimit"))
}

/// The words of each command. A line goes on in the next after `\\`, and if the next begins with an
/// option that begins no command: texts in mails and posts are broken anywhere.
fn commands(text: &str) -> Vec<Vec<Word<'_>>> {
    let mut commands: Vec<Vec<Word<'_>>> = Vec::new();
    let mut goes_on = false;
    for mut line in lines(text) {
        let next_goes_on = line.last().is_some_and(|word| word.text == "\\");
        line.truncate(line.len() - usize::from(next_goes_on));
        let is_option = line.first().is_some_and(|word| {
            // `iptables-save` writes `-A CHAIN` first.
            word.text.starts_with("--") || matches!(word.text, "-m" | "-j" | "-p")
        });
        match commands.last_mut() {
            Some(command) if goes_on || is_option && begins_command(command) => {
                command.append(&mut line);
            }
            _ => commands.push(line),
        }
        goes_on = next_goes_on;
    }
    commands
}

/// Whether a line begins as a command does, so that options alone belong to it.
fn begins_command(line: &[Word<'_>]) -> bool {
    let is_program =
        |word: &Word<'_>| word.text.ends_with("iptables") || word.text.ends_with("ip6tables");
    line.iter().any(|word| is_program(word) || matches!(word.text, "-A" | "-I"))
}

/// Whether a line of a text is an iptables rule with a limit.
pub(in super::super) fn looks_like(text: &str) -> bool {
    commands(text).iter().any(|line| is_iptables(line))
}

/// Reads the limits of iptables.
///
/// # Errors
/// If there is none, or one is not valid.
pub(in super::super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let (mut presets, mut lists, mut logged) = (Vec::new(), Vec::new(), Vec::new());
    for line in commands(text).into_iter().filter(|line| is_iptables(line)) {
        if only_logs(&line) {
            logged.extend(line.first().map(|word| word.error(ONLY_LOGS)));
            continue;
        }
        let list = list_of(&line);
        presets.extend(of_iptables(&line, lists.contains(&list))?);
        if line.iter().any(|word| word.text == "--set") {
            lists.push(list);
        }
    }
    let missing = "there is no limit in it: `-m hashlimit --hashlimit-above 20/minute`, `-m recent \
                   --update --seconds 60 --hitcount 10`, `-m limit --limit 5/second` or `-m \
                   connlimit --connlimit-above 20`";
    with_logged(presets, logged, missing)
}

/// The name of the list of addresses of a line with `recent`, which has a default (xt_recent).
fn list_of(line: &[Word<'_>]) -> String {
    let at = line.iter().position(|word| word.text == "--name");
    let name = at.and_then(|at| line.get(at + 1));
    name.map_or("DEFAULT", |name| name.text).to_owned()
}

/// The limit of a line of iptables; `None` of a line that only puts addresses into a list. `is_set`
/// tells whether such a line is before it, so that the packet itself is one of the hits.
fn of_iptables(line: &[Word<'_>], is_set: bool) -> Result<Option<Preset>, RuleError> {
    let after = |names: &[&str]| {
        let at = line.iter().position(|word| names.contains(&word.text))?;
        line.get(at + 1).copied()
    };
    let has = |name: &str| line.iter().any(|word| word.text == name);
    let number = |word: Word<'_>, max: u64| {
        let number = word.text.parse().ok().filter(|number| (1..=max).contains(number));
        number.ok_or_else(|| word.error(format!("`{}` is not a number from 1 to {max}", word.text)))
    };
    let notes = notes(line);
    let burst = after(&["--hashlimit-burst", "--limit-burst"]).map(|word| number(word, 10_000));
    let burst = burst.transpose()?.unwrap_or(BURST);
    let name = after(&["--hashlimit-name", "--name"]).map(|word| word.text.to_owned());
    if has("recent") {
        let Some(seconds) = after(&["--seconds"]) else { return Ok(None) };
        let hits = after(&["--hitcount"]).map(|word| number(word, HITS_MAX)).transpose()?;
        let hits = hits.unwrap_or(1);
        let window_ns = number(seconds, 31_536_000)? * 1_000_000_000;
        // `recent_mt` adds a hit for `--set`, and for `--update` if it matches. A line that rejects
        // keeps a packet from the lines after it.
        let (count, algorithm) = match (is_set, has("--rcheck")) {
            (false, false) => (hits, Algorithm::SlidingLog),
            (false, true) => (hits, Algorithm::SlidingRing),
            (true, true) => (hits - 1, Algorithm::SlidingLog),
            (true, false) => (hits - 1, Algorithm::RecentHits),
        };
        if count == 0 {
            return Err(seconds.error("a hitcount of 1 rejects every packet; write 2 or more"));
        }
        let limit =
            Limit { name, key: LimitKey::new(client()), ..Limit::new(count, window_ns, algorithm) };
        return Ok(Some(Preset { limit, notes }));
    }
    if has("connlimit") {
        let above = after(&["--connlimit-above", "--connlimit-upto"]);
        let above = above.ok_or_else(|| {
            line[0].error("the number of connections is missing; write --connlimit-above 20")
        })?;
        let key = match has("--connlimit-daddr") {
            true => LimitKey::default(),
            false => address(after(&["--connlimit-mask"]))?,
        };
        let count = number(above, Limit::COUNT_MAX)?;
        let limit = Limit { name, key, ..Limit::new(count, 0, Algorithm::Concurrency) };
        return Ok(Some(Preset { limit, notes }));
    }
    let rate = after(&["--hashlimit-above", "--hashlimit-upto", "--hashlimit", "--limit"]);
    let Some(rate) = rate else {
        return Err(line[0].error("the rate is missing; write --hashlimit-above 20/minute"));
    };
    let (count, window_ns) = rate_of(rate)?;
    let key = match (has("hashlimit"), after(&["--hashlimit-mode"])) {
        (false, _) | (true, None) => LimitKey::default(),
        (true, Some(mode)) => match mode.text.split(',').any(|part| part == "srcip") {
            true => address(after(&["--hashlimit-srcmask"]))?,
            false => LimitKey::default(),
        },
    };
    let mut notes = notes;
    if !has("hashlimit") {
        notes.push(rate.error(
            "this limit counts all clients together; `-m hashlimit --hashlimit-mode srcip` counts \
             each alone",
        ));
    } else if key.parts.is_empty() {
        notes.push(
            rate.error("without `srcip` in --hashlimit-mode the limit counts all clients together"),
        );
    }
    let algorithm = Algorithm::TokenBucket { delay_ns: 0, forget_s: None };
    let limit = Limit { name, burst, key, ..Limit::new(count, window_ns, algorithm) };
    Ok(Some(Preset { limit, notes }))
}

/// The address of the client, or its network.
fn address(mask: Option<Word<'_>>) -> Result<LimitKey, RuleError> {
    let Some(mask) = mask else { return Ok(LimitKey::new(client())) };
    let bits: Option<u8> = mask.text.parse().ok().filter(|bits| *bits <= 128);
    let bits = bits.ok_or_else(|| mask.error("a mask has 0 to 128 bits"))?;
    let field = "client".to_owned();
    Ok(LimitKey::new(vec![match bits {
        v4 @ 0..=31 => KeyPart::Network { field, v4, v6: 128 },
        32 => KeyPart::Field(field),
        v6 => KeyPart::Network { field, v4: 32, v6 },
    }]))
}
