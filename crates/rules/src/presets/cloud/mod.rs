//! Rate limits of AWS WAF, Cloudflare and Azure, in JSON or Terraform.
//!
//! None of them publishes its algorithm. AWS WAF estimates the rate over the window, with more
//! weight for recent requests, and may take minutes to notice; Cloudflare counts in each data
//! center; Azure counts in each of several servers.

mod expression;

use std::ops::Range;

use weir_core::PatternBudget;

use super::{Preset, Setting, client, header_field, settings};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey};

/// A service by its settings: the count, and the window with its unit in nanoseconds and its value
/// if it is left out.
struct Service {
    /// What stands between a count and the one before it.
    mark: &'static [&'static str],
    count: &'static [&'static str],
    window: &'static [&'static str],
    unit_ns: u64,
    window_default: u64,
    note: &'static str,
}

const SECOND_NS: u64 = 1_000_000_000;

const SERVICES: [Service; 3] = [
    Service {
        mark: &["requests_per_period"],
        count: &["requests_per_period"],
        window: &["period"],
        unit_ns: SECOND_NS,
        window_default: 60,
        note: "Cloudflare counts in each data center and does not publish how its windows lie: a \
               client over the limit in a sliding window may have been blocked",
    },
    Service {
        mark: &["rateLimitThreshold", "rate_limit_threshold"],
        count: &["rateLimitThreshold", "rate_limit_threshold"],
        window: &["rateLimitDurationInMinutes", "rate_limit_duration_in_minutes"],
        unit_ns: 60 * SECOND_NS,
        window_default: 1,
        note: "Azure counts in each of several servers and does not publish how its windows lie: a \
               client over the limit in a sliding window may have been blocked",
    },
    Service {
        mark: &["RateBasedStatement", "rate_based_statement"],
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

/// The most rate limits that are read of a text.
const LIMITS_MAX: usize = 100;

/// Reads the rate limits of the first service that the text has any of.
///
/// # Errors
/// If there is none, or a setting is not valid.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let settings = settings(text);
    let counts_of = |service: &Service| -> Vec<Setting<'_>> {
        let is_count = |it: &&Setting<'_>| service.count.contains(&it.name);
        let mut end = 0;
        let counts = settings.iter().filter(is_count).copied();
        // `Limit` is also a setting of other things.
        let is_rate = |count: &Setting<'_>| {
            let before = &text[std::mem::replace(&mut end, count.start)..count.start];
            service.mark.iter().any(|mark| before.contains(mark))
        };
        let first = counts.clone().next();
        let counts: Vec<Setting<'_>> = counts.filter(is_rate).collect();
        if counts.is_empty() { first.into_iter().collect() } else { counts }
    };
    let found = SERVICES.iter().map(|service| (service, counts_of(service)));
    let Some((service, counts)) = found.into_iter().find(|(_, counts)| !counts.is_empty()) else {
        return Err(RuleError::new(
            0..0,
            "there is no rate in it: `Limit` of AWS WAF, `requests_per_period` of Cloudflare or \
             `rateLimitThreshold` of Azure",
        ));
    };
    if let Some(further) = counts.get(LIMITS_MAX) {
        return Err(further.error(format!("these are more than {LIMITS_MAX} rate limits")));
    }
    let starts: Vec<usize> = counts.iter().map(|count| count.start).collect();
    let presets = counts.iter().map(|count| {
        let block = block_of(text, count.start, &starts);
        let is_within = |it: &&Setting<'_>| block.contains(&it.start);
        let settings: Vec<Setting<'_>> = settings.iter().filter(is_within).copied().collect();
        preset(text, service, *count, &settings, counts.len() == 1, budget)
    });
    presets.collect()
}

/// The largest block in braces around a rate that is around no other rate; the whole text for the
/// only one.
fn block_of(text: &str, at: usize, rates: &[usize]) -> Range<usize> {
    let mut block = at..at;
    let mut open = Vec::new();
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(place),
            b'}' => {
                let inner = open.pop().unwrap_or(place)..place + 1;
                if !inner.contains(&at) {
                    continue;
                }
                if rates.iter().filter(|rate| inner.contains(rate)).count() > 1 {
                    return block;
                }
                block = inner;
            }
            _ => {}
        }
    }
    if let [_] = rates { 0..text.len() } else { block }
}

fn preset(
    text: &str,
    service: &Service,
    count: Setting<'_>,
    settings: &[Setting<'_>],
    is_alone: bool,
    budget: &PatternBudget,
) -> Result<Preset, RuleError> {
    let find = |names: &[&str]| settings.iter().find(|it| names.contains(&it.name)).copied();
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
    for name in ["SearchString", "search_string", "matchValues", "match_values"] {
        notes.extend(find(&[name]).map(|setting| setting.error(NOT_FOLLOWED)));
    }
    let condition = condition(text, settings, &mut notes, budget)?;
    let header = find(&["HeaderName", "header_name"]).map(|setting| setting.value);
    let key = match header {
        Some(header) => vec![KeyPart::Field(header_field(header))],
        None => client(),
    };
    let algorithm = Algorithm::Unpublished { note: service.note, hold_ns };
    let name = find(&["Name", "name", "ref"]).filter(|_| !is_alone);
    let limit = Limit {
        name: name.map(|name| name.value.to_owned()),
        key: LimitKey(key),
        condition,
        ..Limit::new(count_number, window_ns, algorithm)
    };
    Ok(Preset { limit, notes })
}

const NOT_FOLLOWED: &str =
    "which requests count is not followed: all of them do; give a condition with --where";

/// The condition of Cloudflare's requests that count: those of `counting_expression`, or else of
/// `expression`.
fn condition(
    text: &str,
    settings: &[Setting<'_>],
    notes: &mut Vec<RuleError>,
    budget: &PatternBudget,
) -> Result<Option<RuleCondition>, RuleError> {
    let find = |name: &str| settings.iter().find(|it| it.name == name);
    let Some(setting) = find("counting_expression").or_else(|| find("expression")) else {
        return Ok(None);
    };
    let (written, range) = quoted_text(text, setting.start);
    let followed = expression::follow(&written);
    let error = |message: String| RuleError::new(range.clone(), message);
    let Some(condition) = followed.condition else {
        let is_all = followed.left_out.is_empty();
        notes.extend((!is_all).then(|| error(NOT_FOLLOWED.to_owned())));
        return Ok(None);
    };
    for part in followed.left_out {
        notes.push(error(format!(
            "`{part}` is not followed: requests count whether they meet it or not"
        )));
    }
    let condition = RuleCondition::parse(&condition, budget);
    condition.map(Some).map_err(|refused| error(refused.message))
}

/// The text in quotation marks that begins at a place, with its escapes undone; without quotation
/// marks, the rest of the line.
fn quoted_text(text: &str, start: usize) -> (String, Range<usize>) {
    let is_quoted = text[..start].ends_with('"');
    let (mut value, mut end) = (String::new(), text.len());
    let mut characters = text[start..].char_indices();
    while let Some((at, next)) = characters.next() {
        match next {
            '"' if is_quoted => {
                end = start + at;
                break;
            }
            '\n' if !is_quoted => {
                end = start + at;
                break;
            }
            '\\' if is_quoted => match characters.next().map(|(_, escaped)| escaped) {
                Some(escaped @ ('"' | '\\' | '/')) => value.push(escaped),
                Some('n' | 't') => value.push(' '),
                other => value.extend(['\\'].into_iter().chain(other)),
            },
            _ => value.push(next),
        }
    }
    (value, start..end)
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};
    use weir_core::PatternBudget;

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
            assert_eq!(
                parse(text, &PatternBudget::default()).expect(text)[0].limit.to_string(),
                expected
            );
        }
    }

    #[test]
    fn each_rate_has_its_own_expression() {
        let text = r#"[
            {"expression": "(http.request.uri.path contains \"/login\")",
             "ratelimit": {"period": 10, "requests_per_period": 20}},
            {"ratelimit": {"period": 60, "requests_per_period": 5, "counting_expression": "http.request.uri.path in {\"/a\" \"/b\"} and ip.geoip.country eq \"DE\""},
             "expression": "true"}
        ]"#;
        let presets = parse(text, &PatternBudget::default()).expect(text);
        let limits: Vec<String> = presets.iter().map(|it| it.limit.to_string()).collect();
        assert_eq!(
            limits,
            [
                "limit 20 requests in 10s by client where path~'/login' as unpublished",
                "limit 5 requests in 1m by client where path~'^/a$' or path~'^/b$' as unpublished",
            ]
        );
        let notes: Vec<&str> = presets[1].notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(
            notes,
            [
                "`ip.geoip.country eq \"DE\"` is not followed: requests count whether they meet it or not",
            ]
        );
        let terraform = "rules {\n  expression = \"http.host eq \\\"a.example\\\"\"\n  ratelimit {\n    \
                         period = 60\n    requests_per_period = 5\n  }\n}";
        let presets = parse(terraform, &PatternBudget::default()).expect(terraform);
        assert!(presets[0].limit.to_string().contains("host~"), "{}", presets[0].limit);
    }

    #[test]
    fn each_rule_of_aws_has_its_name() {
        let text = r#"{"Limit": 1, "Rules": [
            {"Name": "a", "Statement": {"RateBasedStatement": {"Limit": 100, "AggregateKeyType": "IP"}}},
            {"Name": "b", "Statement": {"RateBasedStatement": {"Limit": 200, "EvaluationWindowSec": 60}}}
        ]}"#;
        let presets = parse(text, &PatternBudget::default()).expect(text);
        let limits: Vec<_> =
            presets.iter().map(|it| (it.limit.name.as_deref(), it.limit.to_string())).collect();
        assert_eq!(
            limits,
            [
                (Some("a"), "limit 100 requests in 5m by client as unpublished".to_owned()),
                (Some("b"), "limit 200 requests in 1m by client as unpublished".to_owned()),
            ]
        );
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("RateBasedStatement", "", "there is no rate in it"),
            ("Limit: x", "x", "`x` is not a number"),
            ("Limit: 0", "0", "`0` is not a rate limit"),
            ("requests_per_period: 5, period: 0", "0", "`0` is not a rate limit"),
        ] {
            let error = parse(text, &PatternBudget::default()).err().expect(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}
