//! Rate limits of AWS WAF, Cloudflare and Azure, in JSON or Terraform.
//!
//! None of them publishes its algorithm. AWS WAF estimates the rate over the window, with more
//! weight for recent requests, and may take minutes to notice; Cloudflare counts in each data
//! center; Azure counts in each of several servers.

use super::{Preset, Setting, client, header_field, settings};
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey};

/// A service by its settings: the count, and the window with its unit in nanoseconds and its value
/// if it is left out.
struct Service {
    count: &'static [&'static str],
    window: &'static [&'static str],
    unit_ns: u64,
    window_default: u64,
    note: &'static str,
}

const SECOND_NS: u64 = 1_000_000_000;

const SERVICES: [Service; 3] = [
    Service {
        count: &["requests_per_period"],
        window: &["period"],
        unit_ns: SECOND_NS,
        window_default: 60,
        note: "Cloudflare counts in each data center and does not publish how its windows lie: a \
               client over the limit in a sliding window may have been blocked",
    },
    Service {
        count: &["rateLimitThreshold", "rate_limit_threshold"],
        window: &["rateLimitDurationInMinutes", "rate_limit_duration_in_minutes"],
        unit_ns: 60 * SECOND_NS,
        window_default: 1,
        note: "Azure counts in each of several servers and does not publish how its windows lie: a \
               client over the limit in a sliding window may have been blocked",
    },
    Service {
        count: &["Limit", "limit"],
        window: &["EvaluationWindowSec", "evaluation_window_sec"],
        unit_ns: SECOND_NS,
        window_default: 300,
        note: "AWS WAF estimates the rate, with more weight for recent requests, and may take \
               minutes to notice: a client over the limit in a sliding window may have been blocked",
    },
];

/// The settings that only these services have.
const MARKS: [&str; 6] = [
    "requests_per_period",
    "rateLimitThreshold",
    "rate_limit_threshold",
    "RateBasedStatement",
    "rate_based_statement",
    "EvaluationWindowSec",
];

/// Whether a text has a setting of one of the services.
pub(super) fn looks_like(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// Reads the first rate limit.
///
/// # Errors
/// If there is none, or a setting is not valid.
pub(super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let settings = settings(text);
    let find = |names: &[&str]| {
        settings.iter().find(|it: &&Setting<'_>| names.contains(&it.name)).copied()
    };
    let found = SERVICES.iter().find_map(|service| Some((service, find(service.count)?)));
    let Some((service, count)) = found else {
        return Err(RuleError::new(
            0..0,
            "there is no rate in it: `Limit` of AWS WAF, `requests_per_period` of Cloudflare or \
             `rateLimitThreshold` of Azure",
        ));
    };
    let window = find(service.window);
    let window_ns = match window {
        Some(window) => window.number()?.saturating_mul(service.unit_ns),
        None => service.window_default * service.unit_ns,
    };
    let count_number = count.number()?;
    if count_number == 0 || !(SECOND_NS..=Limit::WINDOW_NS_MAX).contains(&window_ns) {
        let wrong = window.filter(|_| count_number > 0).unwrap_or(count);
        return Err(wrong.error(format!("`{}` is not a rate limit", wrong.value)));
    }
    let hold_ns = match find(&["mitigation_timeout"]) {
        Some(timeout) => timeout.number()?.saturating_mul(SECOND_NS),
        None => window_ns,
    };
    let hold_ns = hold_ns.min(Limit::WINDOW_NS_MAX);
    let mut notes = Vec::new();
    for name in ["expression", "counting_expression", "SearchString", "matchValues"] {
        let message = "which requests count is not followed: all of them do; give a condition with \
                       --where";
        notes.extend(find(&[name]).map(|setting| setting.error(message)));
    }
    let header = find(&["HeaderName", "header_name"]).map(|setting| setting.value);
    let key = match header {
        Some(header) => vec![KeyPart::Field(header_field(header))],
        None => client(),
    };
    let algorithm = Algorithm::Unpublished { note: service.note, hold_ns };
    let limit = Limit { key: LimitKey(key), ..Limit::new(count_number, window_ns, algorithm) };
    Ok(vec![Preset { limit, notes }])
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};

    #[test]
    fn the_services_are_recognised() {
        for (text, expected) in [
            (
                r#"{"RateBasedStatement": {"Limit": 2000, "AggregateKeyType": "IP"}}"#,
                "limit 2000 requests in 5m by client as unpublished",
            ),
            (
                "rate_based_statement {\n  limit = 100\n  evaluation_window_sec = 60\n}",
                "limit 100 requests in 1m by client as unpublished",
            ),
            (
                r#"{"ratelimit": {"period": 10, "requests_per_period": 20, "mitigation_timeout": 60}}"#,
                "limit 20 requests in 10s by client as unpublished",
            ),
            (
                r#"{"rateLimitDurationInMinutes": 5, "rateLimitThreshold": 100}"#,
                "limit 100 requests in 5m by client as unpublished",
            ),
        ] {
            assert!(looks_like(text), "{text}");
            assert_eq!(parse(text).expect(text)[0].limit.to_string(), expected);
        }
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("RateBasedStatement", "", "there is no rate in it"),
            ("Limit: x", "x", "`x` is not a number"),
            ("Limit: 0", "0", "`0` is not a rate limit"),
            ("requests_per_period: 5, period: 0", "0", "`0` is not a rate limit"),
        ] {
            let error = parse(text).err().expect(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}
