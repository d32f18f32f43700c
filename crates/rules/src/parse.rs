//! Recognises the family of a text, and parses its rules.

use std::sync::Arc;

use crate::anubis::{self, Anubis};
use crate::crowdsec::CrowdSec;
use crate::error::{ParseError, RuleError};
use crate::fail2ban;
use crate::files::{MergedTexts, RuleFiles};
use crate::ingress;
use crate::lists::{self, ListRule};
use crate::modsecurity::{self, ModSecurity};
use crate::nginx;
use crate::presets;
use crate::rule::{Family, Rule};
use crate::unread;
use crate::windows::{self, WindowRule};

/// The number of bytes that are examined to decide whether a text is a log.
const LOG_BYTES: usize = 64 << 10;

/// Reads the rules of a text, which may refer to `files`. `name` is used for rules that have none
/// of their own. The family is recognised by the text if it is not given.
///
/// # Errors
/// If the text is not a rule of the family, or of any.
pub fn parse_rules(
    text: &str,
    name: &str,
    family: Option<Family>,
    files: &RuleFiles,
) -> Result<Vec<Box<dyn Rule>>, RuleError> {
    Ok(parse_rules_up_to(usize::MAX, text, name, family, files)?)
}

/// Reads the rules of a text as [`parse_rules`] does, but no more than `rules_max`. They are
/// counted before their patterns are compiled, which may take long.
///
/// # Errors
/// If the text is not a rule of the family, or of any, or has more rules, or if the budget of
/// `files` refuses its patterns.
pub fn parse_rules_up_to(
    rules_max: usize,
    text: &str,
    name: &str,
    family: Option<Family>,
    files: &RuleFiles,
) -> Result<Vec<Box<dyn Rule>>, ParseError> {
    let family = match family {
        Some(family) => family,
        None => recognise(text).map_err(|error| {
            // What is missing of a rule may be in a template.
            let place = error.range.clone();
            let about_all = of_template(text, RuleError { range: 0..0, ..error });
            let is_template = !about_all.range.is_empty();
            RuleError {
                range: if is_template { about_all.range.clone() } else { place },
                ..about_all
            }
        })?,
    };
    let rules = rules_of(family, rules_max, text, name, files).map_err(|error| match error {
        ParseError::Rule(error) => ParseError::Rule(of_template(text, error)),
        other => other,
    });
    // A refused pattern may have become a note, without which the rules would seem complete.
    match files.budget().refusal() {
        Some(refusal) => Err(ParseError::Patterns(refusal)),
        None => rules,
    }
}

/// The mistake of a text, if it is none but a place that a template has not filled in yet.
fn of_template(text: &str, error: RuleError) -> RuleError {
    let start = error.range.start.min(text.len());
    let line_start = text.as_bytes()[..start].iter().rposition(|byte| *byte == b'\n');
    let rest = &text[line_start.map_or(0, |line_feed| line_feed + 1)..];
    let line_end = rest.find('\n').unwrap_or(rest.len());
    // An error without a place is about the whole text.
    let searched = if error.range.is_empty() { rest } else { &rest[..line_end] };
    let template = [("{{", "}}"), ("{%", "%}"), ("${", "}")].iter().find_map(|(open, close)| {
        let start = searched.find(open)?;
        let end = start + searched[start..].find(close)? + close.len();
        // `${name}` is also a variable of nginx; those of Terraform have a dot.
        (*open != "${" || searched[start..end].contains('.')).then_some(start..end)
    });
    let Some(template) = template else { return error };
    let offset = text.len() - rest.len();
    let written = &searched[template.clone()];
    let message = format!("`{written}` is of a template: write the value that it stands for");
    match error.message.contains("template") {
        true => error,
        false => RuleError::new(offset + template.start..offset + template.end, message),
    }
}

fn rules_of(
    family: Family,
    rules_max: usize,
    text: &str,
    name: &str,
    files: &RuleFiles,
) -> Result<Vec<Box<dyn Rule>>, ParseError> {
    let budget = files.budget();
    let rules: Vec<Box<dyn Rule>> = match family {
        Family::LimitReq => nginx::parse(text, name, budget)?,
        Family::LimitConn => vec![nginx::parse_limit_conn(text, name, budget)?],
        Family::IngressNginx => ingress::parse(text, name, rules_max, budget)?,
        Family::Windows => boxed(WindowRule::parse(text, name, rules_max, budget)?),
        Family::Caddy
        | Family::Haproxy
        | Family::Traefik
        | Family::Envoy
        | Family::Varnish
        | Family::Iptables
        | Family::Nft
        | Family::Cloud => boxed(presets::parse(text, name, family, budget)?),
        Family::ModEvasive => vec![Box::new(presets::evasive::parse(text, name)?)],
        Family::Lists => vec![Box::new(ListRule::parse(text, name, budget)?)],
        Family::ModSecurity => vec![Box::new(ModSecurity::parse(text, name, files)?)],
        Family::Anubis => vec![Box::new(Anubis::parse(text, name, files)?)],
        Family::Fail2ban => fail2ban::parse(text, name, files, rules_max)?,
        Family::CrowdSec => boxed(CrowdSec::parse(text, files, rules_max)?),
    };
    ParseError::check_count(rules.len(), rules_max)?;
    Ok(rules)
}

/// Looks up the files that a text of rules refers to. Returns the names of those that are missing.
pub(crate) fn missing_files(
    (text, name): (&str, &str),
    family: Option<Family>,
    merged: &MergedTexts,
    find: &mut dyn FnMut(&str) -> Option<Arc<str>>,
) -> Vec<String> {
    match family.map_or_else(|| recognise(text), Ok) {
        Ok(Family::Fail2ban) => fail2ban::missing_files(text, name, merged, find),
        Ok(Family::ModSecurity) => modsecurity::missing_files(text, find),
        Ok(Family::Anubis) => anubis::missing_files(text, find),
        _ => Vec::new(),
    }
}

/// The family that a text looks like.
///
/// # Errors
/// If the text is a log, or in a language that is not read.
fn recognise(text: &str) -> Result<Family, RuleError> {
    if CrowdSec::looks_like(text) {
        return Ok(Family::CrowdSec);
    }
    if anubis::looks_like(text) {
        return Ok(Family::Anubis);
    }
    if windows::looks_like(text) {
        return Ok(Family::Windows);
    }
    if ingress::looks_like(text) {
        return Ok(Family::IngressNginx);
    }
    if modsecurity::looks_like(text) {
        return Ok(Family::ModSecurity);
    }
    if fail2ban::looks_like(text) {
        return Ok(Family::Fail2ban);
    }
    let has_limit = text.contains("limit_req") || text.contains("limit_conn");
    if !has_limit {
        if let Some(family) = presets::recognise(text) {
            return Ok(family);
        }
        if lists::looks_like(text) {
            return Ok(Family::Lists);
        }
    }
    if is_log(text) {
        let first = text.lines().next().unwrap_or_default();
        return Err(RuleError::new(
            0..first.len(),
            "this is a log, not a rule; name the rule first and the log as an argument",
        ));
    }
    match has_limit || unread::is_of_nginx(text) {
        true => Ok(Family::LimitReq),
        false => Err(unread::error(text)),
    }
}

/// Whether the beginning of a text is in a known format of logs.
fn is_log(text: &str) -> bool {
    let mut end = text.len().min(LOG_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let detection = weir_core::detect(&text.as_bytes()[..end]);
    detection.best().is_some_and(|best| best.parsed_lines * 2 > best.lines)
}

fn boxed<R: Rule + 'static>(rules: Vec<R>) -> Vec<Box<dyn Rule>> {
    rules.into_iter().map(|rule| Box::new(rule) as Box<dyn Rule>).collect()
}

#[cfg(test)]
mod tests {
    use super::{ParseError, RuleFiles, parse_rules, parse_rules_up_to};
    use crate::rule::Family;

    #[test]
    fn families_are_recognised() {
        for (text, family) in [
            ("limit_req_zone $a zone=b:1m rate=1r/s; limit_req zone=b;", Family::LimitReq),
            ("# mine\nlimit 5 requests in 1m", Family::Windows),
            ("rate_limit {\nzone a {\nevents 5\nwindow 1m\n}\n}", Family::Caddy),
            ("nginx.ingress.kubernetes.io/limit-rps: '5'", Family::IngressNginx),
            ("token_bucket: {max_tokens: 5, fill_interval: 1s}", Family::Envoy),
            ("if (vsthrottle.is_denied(client.ip, 5, 10s)) {", Family::Varnish),
            ("-A INPUT -m limit --limit 5/sec -j ACCEPT", Family::Iptables),
            ("ct state new limit rate over 5/second drop", Family::Nft),
            ("DOSPageCount 5", Family::ModEvasive),
            ("rateLimit:\n  average: 5", Family::Traefik),
            ("RateBasedStatement: {Limit: 5}", Family::Cloud),
            ("# bad\n192.0.2.0/24\n2001:db8::/32 ; x", Family::Lists),
            ("allow 10.0.0.0/8;\ndeny all;", Family::Lists),
            ("# x\nSecRule ARGS a deny", Family::ModSecurity),
            ("- {name: a, action: DENY, path_regex: ^/a}", Family::Anubis),
            ("# x\n[web]\nfailregex = ^<HOST> x", Family::Fail2ban),
        ] {
            let rules = parse_rules(text, "name", None, &RuleFiles::default()).expect(text);
            assert_eq!(rules[0].family(), family, "{text}");
        }
    }

    #[test]
    fn a_template_is_named_in_every_language() {
        for (text, template) in [
            ("limit_req_zone $a zone=b:1m rate={{ rate }}r/s;\nlimit_req zone=b;", "{{ rate }}"),
            ("rateLimit:\n  average: {{ .Values.x }}\n  burst: 5\n", "{{ .Values.x }}"),
            ("nginx.ingress.kubernetes.io/limit-rps: '{{ .Values.x }}'", "{{ .Values.x }}"),
            ("rate_limit {\nzone a {\nevents {% n %}\nwindow 1m\n}\n}", "{% n %}"),
            ("ratelimit {\n requests_per_period = ${var.n}\n}", "${var.n}"),
            ("limit {{ n }} requests in 1m", "{{ n }}"),
            ("[web]\nfailregex = ^<HOST> x\nmaxretry = {{ retries }}", "{{ retries }}"),
        ] {
            let error = parse_rules(text, "name", None, &RuleFiles::default()).expect_err(text);
            assert_eq!(&text[error.range.clone()], template, "{text}: {error}");
            assert!(error.message.contains("template: write the value"), "{text}: {error}");
        }
        // Another mistake in a text with a template stays.
        let text = "limit 5 requests in 1y\n# {{ x }}";
        let error = parse_rules(text, "name", None, &RuleFiles::default()).expect_err(text);
        assert!(error.message.contains("`y` is not a unit"), "{error}");
    }

    #[test]
    fn rules_are_counted_before_they_are_compiled() {
        let jail = |number| format!("[j{number}]\nfailregex = ^<HOST> ({number}\n");
        let scenario = "type: trigger\nname: a\ndescription: b\nfilter: 1\n---\n".to_owned();
        for text in [
            (0..40).map(jail).collect::<String>(),
            "limit 5 requests in 1m where user_agent~(\n".repeat(40),
            scenario.repeat(40),
            "rate_limit {\n".to_owned() + &"zone a {\nevents 5\nwindow 1m\n}\n".repeat(40) + "}",
        ] {
            let parsed = parse_rules_up_to(32, &text, "name", None, &RuleFiles::default());
            assert_eq!(parsed.err(), Some(ParseError::TooMany { found: 40, max: 32 }), "{text}");
        }
    }

    #[test]
    fn a_language_that_is_not_read_is_named() {
        let text = "<IfModule mod_qos.c>\n  QS_ClientEventBlockCount 20 600\n</IfModule>\n";
        let error = parse_rules(text, "name", None, &RuleFiles::default()).expect_err(text);
        assert_eq!(&text[error.range.clone()], "QS_ClientEventBlockCount");
        assert!(
            error.message.contains("mod_qos of Apache, which Weir does not read; the nearest"),
            "{error}"
        );
        let nearest = error.message.split('`').nth(1).expect("a rule");
        let rules = parse_rules(nearest, "name", None, &RuleFiles::default()).expect(nearest);
        assert_eq!(rules[0].family(), Family::Windows);
    }

    #[test]
    fn a_log_is_not_a_rule() {
        let line =
            r#"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] "GET /a?b HTTP/1.1" 404 153 "-" "x""#;
        let log = format!("{line}\n{line}\n");
        let error = parse_rules(&log, "name", None, &RuleFiles::default()).expect_err("a log");
        assert!(error.message.starts_with("this is a log, not a rule"), "{error}");
    }
}
