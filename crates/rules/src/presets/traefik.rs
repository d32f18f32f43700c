//! The middleware RateLimit of Traefik, in YAML, TOML or labels.
//!
//! A request takes a token, and waits for it at most the time that the middleware allows. A bucket
//! that is not used for some whole seconds is forgotten, and so full again.

use std::ops::Range;

use super::{Preset, Setting, client, duration_ns, header_field, settings};
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey};

/// Whether a text has a rate limit with an average.
pub(super) fn looks_like(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("ratelimit") && settings(text).iter().any(|it| is(it, "average"))
}

fn is(setting: &Setting<'_>, name: &str) -> bool {
    setting.name.eq_ignore_ascii_case(name)
}

/// Reads the settings of one middleware.
///
/// # Errors
/// If there is no average, or several, or a setting is not valid.
pub(super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let settings = settings(text);
    let find = |name: &str| settings.iter().filter(|it| is(it, name)).collect::<Vec<_>>();
    let averages = find("average");
    let average = match &averages[..] {
        [average] => average,
        [] => return Err(RuleError::new(0..0, "there is no `average` in it")),
        [_, second, ..] => {
            return Err(second.error("give one RateLimit as the rule; this is the second"));
        }
    };
    let count = average.number()?;
    if count == 0 {
        return Err(average.error("an average of 0 is no limit"));
    }
    let period_ns = match find("period").first() {
        Some(period) => duration_ns(period.value, 1_000_000_000)
            .ok_or_else(|| period.error(format!("`{}` is not a period", period.value)))?,
        None => 1_000_000_000,
    };
    let burst = match find("burst").first() {
        Some(burst) => burst.number()?.max(1),
        None => 1,
    };
    let notes = unfollowed(text);
    let key = match (find("requestHeaderName").first(), find("requestHost").first()) {
        (Some(header), _) => vec![KeyPart::Field(header_field(header.value))],
        (_, Some(host)) if host.value == "true" => vec![KeyPart::Field("host".to_owned())],
        _ => client(),
    };
    let limit = Limit {
        burst,
        key: LimitKey::new(key),
        ..Limit::new(count, period_ns, algorithm(count, period_ns))
    };
    Ok(vec![Preset { limit, notes }])
}

/// Settings that are not followed, whether they have a value, a list or a block.
const UNFOLLOWED: [&str; 4] = ["depth", "excludedIPs", "ipv6Subnet", "redis"];

/// Names each of [`UNFOLLOWED`] at the first place where it is set.
fn unfollowed(text: &str) -> Vec<RuleError> {
    let lower = text.to_ascii_lowercase();
    let from = lower.find("ratelimit").unwrap_or(0);
    let mut notes: Vec<RuleError> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for key in keys(line) {
            let range = start + key.start..start + key.end;
            // Names of middlewares come before that of the limit.
            let segments = text[range.clone()].split('.').rev();
            let mut segments = segments.take_while(|it| !it.eq_ignore_ascii_case("ratelimit"));
            let found = segments
                .find_map(|it| UNFOLLOWED.iter().find(|name| name.eq_ignore_ascii_case(it)));
            let Some(name) = found.filter(|_| range.start >= from || range.end > from) else {
                continue;
            };
            let message = format!("`{name}` is not followed");
            if notes.iter().all(|note| note.message != message) {
                notes.push(RuleError::new(range, message));
            }
        }
        start += line.len();
    }
    notes
}

/// The places of the names in a line that have a value, a list or a block: before `:` or `=`, and
/// those of a table of TOML. A comment has none.
fn keys(line: &str) -> Vec<Range<usize>> {
    let is_name = |next: char| next.is_ascii_alphanumeric() || "_-.".contains(next);
    let is_table = line.trim_start().starts_with('[');
    let mut keys = Vec::new();
    let mut at = 0;
    while let Some(found) = line[at..].find(|next| is_name(next) || next == '#') {
        let start = at + found;
        if line[start..].starts_with('#') {
            break;
        }
        at = start + line[start..].find(|next| !is_name(next)).unwrap_or(line.len() - start);
        let after = line[at..].trim_start_matches(['"', '\'', '`']);
        let is_quoted = after.len() < line.len() - at;
        let after = after.trim_start_matches([' ', '\t']);
        // `redis:8080` is an address.
        let is_key = match after.strip_prefix(':') {
            Some(value) => is_quoted || !value.starts_with(|next| is_name(next) || next == '/'),
            None => after.starts_with('='),
        };
        if is_key || is_table && after.starts_with(']') {
            keys.push(start..at);
        }
    }
    keys
}

/// The longest wait and the life of a bucket, as `New` of rate_limiter.go computes them from the
/// rate in a second.
fn algorithm(count: u64, period_ns: u64) -> Algorithm {
    let rate = count as f64 * 1e9 / period_ns as f64;
    let (delay_ns, idle_s) = if rate < 1.0 {
        (500_000_000, (1.0 / rate) as u64)
    } else {
        (1_000_000_000 / (rate as u64 * 2), 1)
    };
    Algorithm::TokenBucket { delay_ns, forget_s: Some(1 + idle_s) }
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};
    use crate::windows::Algorithm;

    #[test]
    fn a_middleware_is_a_token_bucket() {
        let text = "http:\n  middlewares:\n    a:\n      rateLimit:\n        average: 100\n        \
                    period: 1m\n        burst: 50\n        sourceCriterion:\n          \
                    requestHeaderName: X-Key\n";
        assert!(looks_like(text));
        let presets = parse(text).expect("it is valid");
        let expected = "limit 100 requests in 1m by http_x_key as token-bucket burst 50";
        assert_eq!(presets[0].limit.to_string(), expected);
        let algorithm = |text| parse(text).expect(text)[0].limit.algorithm;
        assert_eq!(
            algorithm("- \"traefik.x.ratelimit.average=10\""),
            Algorithm::TokenBucket { delay_ns: 50_000_000, forget_s: Some(2) }
        );
        assert_eq!(
            algorithm("average = 6\nperiod = \"1m\""),
            Algorithm::TokenBucket { delay_ns: 500_000_000, forget_s: Some(11) }
        );
    }

    #[test]
    fn settings_that_are_not_followed_are_named_in_every_notation() {
        for (text, expected) in [
            (
                "rateLimit:\n  average: 2\n  sourceCriterion:\n    ipStrategy:\n      excludedIPs:\n        - 192.0.2.7\n",
                vec![(5, "excludedIPs")],
            ),
            (
                "rateLimit:\n  average: 2\n  sourceCriterion: {ipStrategy: {depth: 2, ipv6Subnet: 64}}",
                vec![(3, "depth"), (3, "ipv6Subnet")],
            ),
            (
                "{\"rateLimit\": {\"average\": 2, \"redis\": {\"endpoints\": [\"redis:6379\"]}}}",
                vec![(1, "redis")],
            ),
            (
                "[http.middlewares.a.rateLimit]\naverage = 2\n[http.middlewares.a.rateLimit.redis]\nendpoints = [\"a:1\"]\n",
                vec![(3, "redis")],
            ),
            (
                "[http.middlewares.a.rateLimit]\naverage = 2\n[http.middlewares.a.rateLimit.sourceCriterion.ipStrategy]\nexcludedIPs = [\"a\"]\n",
                vec![(4, "excludedIPs")],
            ),
            (
                "- \"traefik.http.middlewares.a.ratelimit.average=2\"\n- \"traefik.http.middlewares.a.ratelimit.sourcecriterion.ipstrategy.excludedips=192.0.2.7\"",
                vec![(2, "excludedIPs")],
            ),
            (
                "- \"traefik.http.middlewares.a.ratelimit.average=2\"\n- \"traefik.http.middlewares.a.ratelimit.redis.endpoints=r:1\"\n- \"traefik.http.middlewares.a.ratelimit.redis.db=1\"",
                vec![(2, "redis")],
            ),
            (
                "redis:\n  rateLimit:\n    average: 2\n# redis:\nservers:\n  - url: http://redis:8080\n",
                vec![],
            ),
            ("- \"traefik.http.middlewares.redis.ratelimit.average=2\"", vec![]),
        ] {
            let notes = parse(text).expect(text).remove(0).notes;
            let found: Vec<_> =
                notes.iter().map(|note| (note.line(text), &*note.message)).collect();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(line, name)| (line, format!("`{name}` is not followed")))
                .collect();
            let expected: Vec<_> = expected.iter().map(|(line, name)| (*line, &**name)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("rateLimit:", "", "no `average`"),
            ("average: x", "x", "`x` is not a number"),
            ("average: 0", "0", "no limit"),
            ("average: 5\naverage: 6", "6", "the second"),
            ("average: 5\nperiod: 1y", "1y", "`1y` is not a period"),
        ] {
            let error = parse(text).err().expect(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}
