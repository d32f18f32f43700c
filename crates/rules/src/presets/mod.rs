//! Rate limits of other software, read from its own configuration and replayed as limits in a
//! window.
//!
//! | module | software | algorithm |
//! |---|---|---|
//! | [`caddy`] | caddy-ratelimit | the sliding ring of its `ringbuffer.go` |
//! | [`haproxy`] | HAProxy | the two periods of its `src/freq_ctr.c` |
//! | [`traefik`] | Traefik | the token bucket of `golang.org/x/time/rate`, as `pkg/middlewares/ratelimiter` uses it |
//! | [`envoy`] | Envoy | the bucket of its `local_ratelimit_impl.cc` |
//! | [`varnish`] | vsthrottle of Varnish | the bucket of its `vmod_vsthrottle.c` |
//! | [`firewall`] | iptables, nft | the credits of `xt_hashlimit.c` and `nft_limit.c`, the hits of `xt_recent.c` |
//! | [`evasive`] | mod_evasive | its own, of `mod_evasive24.c` |
//! | [`cloud`] | AWS WAF, Cloudflare, Azure | not published |

mod caddy;
mod cloud;
mod envoy;
pub(crate) mod evasive;
mod firewall;
mod haproxy;
mod selection;
mod traefik;
mod varnish;

use weir_core::PatternBudget;

use crate::error::RuleError;
use crate::rule::Family;
use crate::windows::{KeyPart, Limit, WindowRule};

/// The most limits that are read of a text.
const LIMITS_MAX: usize = 100;

/// A limit, and notes about the unsupported parts of its text.
struct Preset {
    limit: Limit,
    notes: Vec<RuleError>,
}

/// A function that checks whether a text belongs to a family.
type Recogniser = fn(&str) -> bool;

/// The family whose configuration a text looks like.
pub(crate) fn recognise(text: &str) -> Option<Family> {
    let families: [(Family, Recogniser); 9] = [
        (Family::ModEvasive, evasive::looks_like),
        (Family::Haproxy, haproxy::looks_like),
        (Family::Caddy, caddy::looks_like),
        (Family::Cloud, cloud::looks_like),
        (Family::Traefik, traefik::looks_like),
        (Family::Envoy, envoy::looks_like),
        (Family::Varnish, varnish::looks_like),
        (Family::Iptables, firewall::iptables::looks_like),
        (Family::Nft, firewall::nft::looks_like),
    ];
    families.into_iter().find(|(_, looks_like)| looks_like(text)).map(|(family, _)| family)
}

/// Reads the limits of a configuration.
///
/// # Errors
/// If it has none, or one is not valid.
pub(crate) fn parse(
    text: &str,
    name: &str,
    family: Family,
    budget: &PatternBudget,
) -> Result<Vec<WindowRule>, RuleError> {
    let presets = match family {
        Family::Caddy => caddy::parse(text, budget)?,
        Family::Haproxy => haproxy::parse(text, budget)?,
        Family::Traefik => traefik::parse(text)?,
        Family::Envoy => envoy::parse(text)?,
        Family::Varnish => varnish::parse(text, budget)?,
        Family::Iptables => firewall::iptables::parse(text)?,
        Family::Nft => firewall::nft::parse(text)?,
        _ => cloud::parse(text, budget)?,
    };
    let rule = |preset: Preset| WindowRule::new(preset.limit, name, family, preset.notes);
    Ok(presets.into_iter().map(rule).collect())
}

/// A setting of a text: a name and a value with `:`, `=` or a space between them.
#[derive(Debug, Clone, Copy)]
struct Setting<'t> {
    /// Without quotation marks, and without what stands before the last dot.
    name: &'t str,
    value: &'t str,
    /// The position of the value in the text.
    start: usize,
}

impl Setting<'_> {
    fn error(&self, message: impl std::fmt::Display) -> RuleError {
        RuleError::new(self.start..self.start + self.value.len(), message)
    }

    /// The value as a number from 0 to the highest count.
    fn number(&self) -> Result<u64, RuleError> {
        let number = self.value.parse().ok().filter(|number| *number <= Limit::COUNT_MAX);
        number.ok_or_else(|| {
            let max = Limit::COUNT_MAX;
            self.error(format!("`{}` is not a number from 0 to {max}", self.value))
        })
    }
}

/// The settings of a text in JSON, YAML, TOML, Terraform or the labels of a container. A list or
/// block as a value is left out, and so is what is in it no setting.
fn settings(text: &str) -> Vec<Setting<'_>> {
    let is_name = |next: char| next.is_ascii_alphanumeric() || "_-.".contains(next);
    let mut settings = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(is_name) {
        let start = at + found;
        let length = text[start..].find(|next| !is_name(next)).unwrap_or(text.len() - start);
        let name = &text[start..start + length];
        at = start + length;
        let after = text[at..].trim_start_matches(['"', '\'', '`']).trim_start_matches([' ', '\t']);
        let Some(value) = after.strip_prefix([':', '=']) else { continue };
        let value = value.trim_start_matches([' ', '\t', '"', '\'', '`']);
        let value_start = text.len() - value.len();
        let is_end = |next: char| next.is_whitespace() || "\"'`,;{}[]".contains(next);
        let length = value.find(is_end).unwrap_or(value.len());
        let name = name.rsplit('.').next().unwrap_or(name);
        if length > 0 {
            settings.push(Setting { name, value: &value[..length], start: value_start });
            at = value_start + length;
        }
    }
    settings
}

/// The field of the log with a request header.
fn header_field(name: &str) -> String {
    match name.to_ascii_lowercase().replace('-', "_").as_str() {
        "host" => "host".to_owned(),
        "user_agent" => "user_agent".to_owned(),
        "referer" => "referer".to_owned(),
        other => format!("http_{other}"),
    }
}

/// The client as the only part of a key.
fn client() -> Vec<KeyPart> {
    vec![KeyPart::Field("client".to_owned())]
}

/// A duration of several numbers with units, such as `1h30m` or `10s`, in nanoseconds. A number
/// alone has the unit `plain_ns`.
fn duration_ns(text: &str, plain_ns: u64) -> Option<u64> {
    const UNITS: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ];
    let (mut rest, mut sum) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|next: char| next.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_ns = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, unit_ns)) => *unit_ns,
            None if unit.is_empty() => plain_ns,
            None => return None,
        };
        let part = number.parse::<u64>().ok()?.checked_mul(unit_ns)?;
        (rest, sum) = (after, sum.checked_add(part)?);
    }
    (1_000_000..=Limit::WINDOW_NS_MAX).contains(&sum).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::{duration_ns, settings};

    #[test]
    fn settings_are_found_in_every_notation() {
        for text in [
            r#"{"rateLimit": {"average": 100, "period": "1m"}}"#,
            "rateLimit:\n  average: 100\n  period: 1m\n",
            "[x.rateLimit]\n  average = 100\n  period = \"1m\"\n",
            "- \"a.rateLimit.average=100\"\n- \"a.rateLimit.period=1m\"",
        ] {
            let found: Vec<_> = settings(text)
                .into_iter()
                .filter(|setting| ["average", "period"].contains(&setting.name))
                .map(|setting| (setting.value, &text[setting.start..setting.start + 2]))
                .collect();
            assert_eq!(found, [("100", "10"), ("1m", "1m")], "{text}");
        }
    }

    #[test]
    fn durations_have_several_units() {
        assert_eq!(duration_ns("1h30m", 0), Some(5_400_000_000_000));
        assert_eq!(duration_ns("10s", 0), Some(10_000_000_000));
        assert_eq!(duration_ns("1500", 1_000_000), Some(1_500_000_000));
        for wrong in ["", "0s", "x", "1x", "s", "99999999999h", "-1s"] {
            assert_eq!(duration_ns(wrong, 1_000_000), None, "{wrong}");
        }
    }
}
