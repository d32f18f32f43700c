//! Limits of packet filters, iptables and nft, for each address over the requests of a log.
//!
//! Both filter packets. A rule about new connections (`--ctstate NEW`, `ct state new`, `--syn`)
//! counts connections, and a log has requests: each counts as a connection. The arithmetic is that
//! of `xt_hashlimit.c` and `xt_limit.c` (credits that come evenly, up to the burst: a token bucket),
//! of `xt_connlimit.c` (connections at once), of `xt_recent.c` (hits within the last seconds; a rejected packet is none, one or two) and of
//! `nft_limit.c` (the same bucket, whose size is what the rate gives in a second and the burst).

use super::{Preset, client};
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey, Word, lines};

const CONNECTIONS: &str = "it counts new connections, and the log has requests: each counts as a \
                           connection, so a client that reuses its connections counts too often";

/// The burst of a limit that does not set it, in packets (`XT_HASHLIMIT_BURST`, `XT_LIMIT_BURST`,
/// and that of nft).
const BURST: u64 = 5;

/// The hits that `--hitcount` may be at most, unless the module is loaded with more.
const HITS_MAX: u64 = 255;

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

/// Whether a line is one of iptables, of its `iptables-save` form, or of ip6tables.
fn is_iptables(line: &[Word<'_>]) -> bool {
    line.iter().any(|word| matches!(word.text, "-m" | "--match"))
        && line
            .iter()
            .any(|word| matches!(word.text, "hashlimit" | "recent" | "limit" | "connlimit"))
}

/// Whether a line of a text is an iptables rule with a limit.
pub(super) fn looks_like_iptables(text: &str) -> bool {
    lines(text).any(|line| is_iptables(&line))
}

/// Whether a text is of nft: a rate of a limit.
pub(super) fn looks_like_nft(text: &str) -> bool {
    lines(text).any(|line| rate_at(&line).is_some())
}

/// The position of the rate in a line of nft: after `limit rate`, with `over` before it or not.
fn rate_at(line: &[Word<'_>]) -> Option<usize> {
    let at = line.windows(2).position(|two| two[0].text == "limit" && two[1].text == "rate")?;
    Some(at + 2)
}

/// Reads the limits of iptables.
///
/// # Errors
/// If there is none, or one is not valid.
pub(super) fn parse_iptables(text: &str) -> Result<Vec<Preset>, RuleError> {
    let (mut presets, mut lists, mut logged) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines(text).filter(|line| is_iptables(line)) {
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

/// The name of the list of addresses of a line with `recent`, which has a default (xt_recent).
fn list_of(line: &[Word<'_>]) -> String {
    let at = line.iter().position(|word| word.text == "--name");
    let name = at.and_then(|at| line.get(at + 1));
    name.map_or("DEFAULT", |name| name.text).to_owned()
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
            Limit { name, key: LimitKey(client()), ..Limit::new(count, window_ns, algorithm) };
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
    let algorithm = Algorithm::TokenBucket { delay_ns: 0, forget_s: None };
    let limit = Limit { name, burst, key, ..Limit::new(count, window_ns, algorithm) };
    Ok(Some(Preset { limit, notes }))
}

/// The address of the client, or its network.
fn address(mask: Option<Word<'_>>) -> Result<LimitKey, RuleError> {
    let Some(mask) = mask else { return Ok(LimitKey(client())) };
    let bits: Option<u8> = mask.text.parse().ok().filter(|bits| *bits <= 128);
    let bits = bits.ok_or_else(|| mask.error("a mask has 0 to 128 bits"))?;
    let field = "client".to_owned();
    Ok(LimitKey(vec![match bits {
        v4 @ 0..=31 => KeyPart::Network { field, v4, v6: 128 },
        32 => KeyPart::Field(field),
        v6 => KeyPart::Network { field, v4: 32, v6 },
    }]))
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
    let is_new = |word: &&Word<'_>| matches!(word.text, "NEW" | "new" | "--syn" | "syn");
    let place = line.iter().find(is_new).or(line.first());
    let mut notes: Vec<RuleError> = place.map(|word| word.error(CONNECTIONS)).into_iter().collect();
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

/// Reads the limits of nft.
///
/// # Errors
/// If there is none, or one is not valid.
pub(super) fn parse_nft(text: &str) -> Result<Vec<Preset>, RuleError> {
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
        Some(_) => LimitKey(client()),
        None => LimitKey::default(),
    };
    let algorithm = Algorithm::TokenBucket { delay_ns: 0, forget_s: None };
    let limit = Limit { burst: u64::max(burst, 1), key, ..Limit::new(count, window_ns, algorithm) };
    Ok(Preset { limit, notes: notes(line) })
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, looks_like_iptables, looks_like_nft, parse_iptables, parse_nft};

    #[test]
    fn lines_of_iptables_are_limits() {
        for (text, expected) in [
            (
                "iptables -A INPUT -p tcp --dport 80 -m conntrack --ctstate NEW -m hashlimit --hashlimit-above 20/min --hashlimit-burst 30 --hashlimit-mode srcip --hashlimit-name http -j DROP",
                "limit 20 requests in 1m by client as token-bucket burst 30",
            ),
            (
                "-A INPUT -m hashlimit --hashlimit-upto 5/sec --hashlimit-mode srcip --hashlimit-srcmask 24 --hashlimit-name a -j ACCEPT",
                "limit 5 requests in 1s by client/24 as token-bucket burst 5",
            ),
            (
                "iptables -A INPUT -p tcp --syn -m limit --limit 10/second --limit-burst 20 -j ACCEPT",
                "limit 10 requests in 1s as token-bucket burst 20",
            ),
            (
                "iptables -A INPUT -m state --state NEW -m recent --set\niptables -A INPUT -m state --state NEW -m recent --update --seconds 60 --hitcount 10 -j DROP",
                "limit 9 requests in 1m by client as sliding-log, with two hits for each rejected request",
            ),
            (
                "iptables -A INPUT -m recent --set\niptables -A INPUT -m recent --rcheck --seconds 60 --hitcount 10 -j DROP",
                "limit 9 requests in 1m by client as sliding-log",
            ),
            (
                "iptables -A INPUT -m recent --update --seconds 60 --hitcount 4 -j DROP\niptables -A INPUT -m recent --set -j ACCEPT",
                "limit 4 requests in 1m by client as sliding-log",
            ),
            (
                "iptables -A INPUT -m recent --rcheck --seconds 60 --hitcount 4 -j DROP\niptables -A INPUT -m recent --set -j ACCEPT",
                "limit 4 requests in 1m by client as sliding",
            ),
            (
                "iptables -A INPUT -p tcp --syn --dport 80 -m connlimit --connlimit-above 20 -j REJECT",
                "limit 20 requests at once by client",
            ),
            (
                "iptables -A INPUT -p tcp --syn -m connlimit --connlimit-upto 9 --connlimit-mask 24 -j ACCEPT",
                "limit 9 requests at once by client/24",
            ),
        ] {
            assert!(looks_like_iptables(text), "{text}");
            let presets = parse_iptables(text).expect(text);
            assert_eq!(presets.len(), 1, "{text}");
            assert_eq!(presets[0].limit.to_string(), expected, "{text}");
            assert!(presets[0].notes[0].message.contains("new connections"), "{text}");
        }
    }

    #[test]
    fn lines_of_nft_are_limits() {
        for (text, expected) in [
            (
                "tcp dport 80 ct state new limit rate over 10/second burst 20 packets drop",
                "limit 10 requests in 1s as token-bucket burst 20",
            ),
            (
                "tcp dport 443 ct state new meter flood { ip saddr limit rate over 30/minute } drop",
                "limit 30 requests in 1m by client as token-bucket burst 5",
            ),
            (
                "ct state new add @flood { ip saddr limit rate over 5/second burst 7 packets } drop",
                "limit 5 requests in 1s by client as token-bucket burst 7",
            ),
        ] {
            assert!(looks_like_nft(text), "{text}");
            let presets = parse_nft(text).expect(text);
            assert_eq!(presets[0].limit.to_string(), expected, "{text}");
            assert!(presets[0].notes[0].message.contains("new connections"), "{text}");
        }
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("-m hashlimit --hashlimit-mode srcip", "-m", "the rate is missing"),
            ("-m limit --limit 5/fortnight", "5/f", "is not a rate of packets"),
            ("-m limit --limit x/sec", "x/sec", "is not a rate of packets"),
            ("-m recent --update --seconds 60 --hitcount 256", "256", "from 1 to 255"),
            (
                "-m hashlimit --hashlimit-above 1/s --hashlimit-mode srcip --hashlimit-srcmask 200",
                "200",
                "0 to 128 bits",
            ),
            ("-m recent --set", "", "there is no limit"),
            ("-m connlimit -j REJECT", "-m", "the number of connections is missing"),
            ("-m connlimit --connlimit-above 0", "0", "is not a number from 1"),
        ] {
            let error = parse_iptables(text).err().expect(text);
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
        for (text, place, message) in [
            ("limit rate", "rate", "the rate is missing"),
            ("limit rate over 10 kbytes/second", "kbytes", "a rate of bytes"),
            ("limit rate 5/day burst x packets", "x packets", "is not a number of packets"),
        ] {
            let error = parse_nft(text).err().expect(text);
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }

    #[test]
    fn lines_that_only_log_have_no_limit() {
        for text in [
            "-A ufw-logging-deny -m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix \"[UFW BLOCK] \"",
            "-A INPUT -m limit --limit 3/min -j NFLOG",
        ] {
            let drop = "-A INPUT -m limit --limit 9/min -j DROP";
            let error = parse_iptables(text).err().expect(text);
            assert!(error.message.starts_with("this line only logs packets"), "{error}");
            let presets = parse_iptables(&format!("{text}\n{drop}")).expect(text);
            assert_eq!((presets.len(), presets[0].notes.len()), (1, 2));
            assert_eq!(presets[0].notes[1].range.start, 0);
        }
        assert!(parse_nft("limit rate 3/minute log prefix \"ssh\"").is_err());
        assert_eq!(
            parse_nft("limit rate over 3/minute log prefix \"a\" drop").map(|it| it.len()),
            Ok(1)
        );
    }

    #[test]
    fn a_burst_is_bounded() {
        for burst in ["9223372036854775808", "18446744073709551615", "1000000001"] {
            let text = format!("limit rate over 10/second burst {burst} packets drop");
            let error = parse_nft(&text).err().expect("it is too large");
            assert!(error.message.contains("is not a number of packets"), "{error}");
        }
    }

    #[test]
    fn only_a_list_of_the_same_name_counts_before() {
        let text = |set: &str, update: &str| {
            format!(
                "-A INPUT -m recent {set} --set\n\
                 -A INPUT -m recent {update} --update --seconds 60 --hitcount 10 -j DROP"
            )
        };
        for (set, update, count) in
            [("", "", 9), ("--name W", "--name W", 9), ("--name S", "--name W", 10)]
        {
            let presets = parse_iptables(&text(set, update)).expect("a limit");
            assert_eq!(presets[0].limit.count, count, "{set} {update}");
            let counts_twice = presets[0].limit.algorithm == Algorithm::RecentHits;
            assert_eq!(counts_twice, count == 9);
        }
    }
}
