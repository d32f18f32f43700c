//! The duration of bans, from CrowdSec's `profiles.yaml`.

use super::duration::parse_duration_ns;
use crate::error::RuleError;
use crate::yaml::{Yaml, YamlValue, documents};

/// The file's name among the files that rules may refer to.
pub(super) const PROFILES: &str = "profiles.yaml";

/// The duration of a ban in CrowdSec's default profile, in nanoseconds.
const BAN_NS: i64 = 4 * 3_600 * 1_000_000_000;

/// Returns the duration of the first ban in the profiles, in nanoseconds; `None` if no profile
/// bans. Without profiles, returns the duration in CrowdSec's default profile. Filters are not
/// evaluated: all profiles are assumed to apply to alerts with a remediation.
///
/// # Errors
/// If the text is not YAML, or a duration is not valid.
pub(super) fn ban_ns(profiles: Option<&str>) -> Result<Option<i64>, RuleError> {
    let Some(text) = profiles else { return Ok(Some(BAN_NS)) };
    // Positions in the profiles are not positions in the scenario's text.
    let in_profiles = |error| RuleError::new(0..0, format_args!("{PROFILES}: {error}"));
    for document in documents(text).map_err(in_profiles)? {
        let Some(YamlValue::Sequence(decisions)) = get(&document, "decisions").map(|it| &it.value)
        else {
            continue;
        };
        for decision in decisions {
            let is_ban = get(decision, "type").and_then(Yaml::scalar) == Some("ban");
            let Some(duration) = get(decision, "duration").filter(|_| is_ban) else { continue };
            let shown = duration.scalar().unwrap_or_default();
            let message = || {
                let message = format_args!("`{shown}` is not a valid duration in {PROFILES}");
                RuleError::new(0..0, message)
            };
            return parse_duration_ns(shown).map(Some).ok_or_else(message);
        }
    }
    Ok(None)
}

fn get<'y>(mapping: &'y Yaml, key: &str) -> Option<&'y Yaml> {
    let YamlValue::Mapping(pairs) = &mapping.value else { return None };
    pairs.iter().find(|(name, _)| name.scalar() == Some(key)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::{BAN_NS, ban_ns};

    #[test]
    fn the_first_ban_counts() {
        let profiles = "name: captcha\ndecisions:\n  - type: captcha\n    duration: 1m\n---\n\
                        name: ban\ndecisions:\n  - type: ban\n    duration: 1h30m\n";
        assert_eq!(ban_ns(None), Ok(Some(BAN_NS)));
        assert_eq!(ban_ns(Some(profiles)), Ok(Some(5_400_000_000_000)));
        assert_eq!(ban_ns(Some("name: none\ndecisions: []\n")), Ok(None));
        assert!(ban_ns(Some("decisions:\n  - type: ban\n    duration: 4 hours\n")).is_err());
    }
}
