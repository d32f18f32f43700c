//! The middleware RateLimit of Traefik, in YAML, TOML or labels.
//!
//! A request takes a token, and waits for it at most the time that the middleware allows. A bucket
//! that is not used for some whole seconds is forgotten, and so full again.

use super::{Preset, Setting, client, duration_ns, header_field, settings};
use crate::error::RuleError;
use crate::windows::{Algorithm, Key, KeyPart, Limit};

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
    let mut notes = Vec::new();
    for name in ["depth", "excludedIPs", "ipv6Subnet", "redis"] {
        let found = find(name);
        notes.extend(found.iter().map(|it| it.error(format!("`{name}` is not followed"))));
    }
    let key = match (find("requestHeaderName").first(), find("requestHost").first()) {
        (Some(header), _) => vec![KeyPart::Field(header_field(header.value))],
        (_, Some(host)) if host.value == "true" => vec![KeyPart::Field("host".to_owned())],
        _ => client(),
    };
    let limit = Limit {
        name: None,
        count,
        window_ns: period_ns,
        burst,
        algorithm: algorithm(count, period_ns),
        key: Key(key),
        condition: None,
    };
    Ok(vec![Preset { limit, notes }])
}

/// The longest wait and the life of a bucket, as `New` of rate_limiter.go computes them from the
/// rate in a second.
fn algorithm(count: u64, period_ns: u64) -> Algorithm {
    let rate = count as f64 * 1e9 / period_ns as f64;
    let (delay_ns, idle_s) = match rate < 1.0 {
        true => (500_000_000, (1.0 / rate) as u64),
        false => (1_000_000_000 / (rate as u64 * 2), 1),
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
