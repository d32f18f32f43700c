//! The local rate limit of Envoy, in YAML: a token bucket that is filled at intervals.
//!
//! `token_bucket` holds `max_tokens`, and gets `tokens_per_fill` of them after each `fill_interval`
//! (`local_ratelimit_impl.cc`). All requests of a process share it, unless descriptors tell clients
//! apart. A bucket that is filled to its size at each interval counts as a window does, and others
//! as a token bucket.

use super::{Preset, Setting, duration_ns, settings};
use crate::error::RuleError;
use crate::windows::{Algorithm, Limit};

/// Whether a text has a bucket of Envoy.
pub(super) fn looks_like(text: &str) -> bool {
    let has = |name: &str| settings(text).iter().any(|setting| setting.name == name);
    text.contains(BUCKET) && has("max_tokens")
}

/// The name of a bucket.
const BUCKET: &str = "token_bucket";

/// Settings that are not followed, with the reason.
const UNFOLLOWED: [(&str, &str); 4] = [
    ("descriptors", "the bucket of a descriptor is replayed for all requests together"),
    ("filter_enabled", "the limit is replayed as if it were in force"),
    ("filter_enforced", "the limit is replayed as if it were in force"),
    ("local_rate_limit_per_downstream_connection", "a log does not have connections"),
];

/// Reads the buckets of a configuration, each of which is a limit.
///
/// # Errors
/// If there is none, or a setting is not valid.
pub(super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let settings = settings(text);
    let mut presets = Vec::new();
    for max in settings.iter().filter(|it| it.name == "max_tokens") {
        let start = text[..max.start].rfind(BUCKET).unwrap_or(0);
        let end = text[max.start..].find(BUCKET).map_or(text.len(), |end| max.start + end);
        let is_own = |it: &&Setting<'_>| (start..end).contains(&it.start);
        presets.push(bucket(max, &settings.iter().filter(is_own).copied().collect::<Vec<_>>())?);
    }
    if presets.is_empty() {
        return Err(RuleError::new(0..0, "there is no `token_bucket` with `max_tokens` in it"));
    }
    let noted = UNFOLLOWED.iter().filter_map(|(name, reason)| {
        let at = text.find(name)?;
        Some(RuleError::new(at..at + name.len(), format!("`{name}` is not followed: {reason}")))
    });
    let notes: Vec<RuleError> = noted.collect();
    presets.iter_mut().for_each(|preset| preset.notes.extend(notes.iter().cloned()));
    Ok(presets)
}

/// The limit of a bucket.
fn bucket(max: &Setting<'_>, own: &[Setting<'_>]) -> Result<Preset, RuleError> {
    let find = |name: &str| own.iter().find(|setting| setting.name == name);
    let size = max.number()?;
    let fill = find("tokens_per_fill").map_or(Ok(1), Setting::number)?;
    let interval = find("fill_interval")
        .ok_or_else(|| max.error("the bucket has no `fill_interval`; write fill_interval: 60s"))?;
    let interval_ns = duration_ns(interval.value, 1_000_000_000)
        .ok_or_else(|| interval.error(format!("`{}` is not an interval", interval.value)))?;
    if size == 0 || fill == 0 {
        return Err(max.error("a bucket without tokens rejects everything"));
    }
    let mut notes = Vec::new();
    let algorithm = Algorithm::TokenBucket { delay_ns: 0, forget_s: None };
    notes.push(interval.error(
        "Envoy fills the bucket at once after each interval, which begins when the process does; \
         here the tokens come evenly, so single requests may differ",
    ));
    let limit = Limit { burst: size, ..Limit::new(fill, interval_ns, algorithm) };
    Ok(Preset { limit, notes })
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};

    const TEXT: &str = "stat_prefix: x\ntoken_bucket:\n  max_tokens: 100\n  tokens_per_fill: 50\n  \
                          fill_interval: 60s\nfilter_enabled:\n  runtime_key: a\n";

    #[test]
    fn a_bucket_is_a_limit_of_all_requests() {
        assert!(looks_like(TEXT));
        let presets = parse(TEXT).expect("it is valid");
        let expected = "limit 50 requests in 1m as token-bucket burst 100";
        assert_eq!(presets[0].limit.to_string(), expected);
        let lines: Vec<usize> = presets[0].notes.iter().map(|note| note.line(TEXT)).collect();
        assert_eq!(lines, [5, 6]);
        let two = format!("{TEXT}{}", TEXT.replace("100", "7").replace("50", "3"));
        let texts: Vec<String> =
            parse(&two).expect("two").iter().map(|it| it.limit.to_string()).collect();
        assert_eq!(texts, [expected, "limit 3 requests in 1m as token-bucket burst 7"]);
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("token_bucket:", "", "there is no `token_bucket`"),
            ("token_bucket: {max_tokens: x}", "x}", "`x` is not a number"),
            ("token_bucket: {max_tokens: 5}", "5", "no `fill_interval`"),
            ("token_bucket: {max_tokens: 0, fill_interval: 1s}", "0", "rejects everything"),
            ("token_bucket: {max_tokens: 5, fill_interval: 1y}", "1y", "not an interval"),
        ] {
            let error = parse(text).err().expect(text);
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}
