//! Conditions and rules, which come from links, pages and configurations.

use weir_core::Condition;
use weir_rules::{Family, RuleFiles, parse_rules_up_to};

/// The maximum number of rules of a text, as the server has it.
const RULES_MAX: usize = 32;

/// A condition. Its normal form is read as the same condition.
pub(crate) fn conditions(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Condition::parse(text) {
        Ok(condition) => {
            assert_eq!(
                Condition::parse(&condition.to_string()).as_ref(),
                Ok(&condition),
                "{text:?}"
            );
        }
        Err(error) => {
            let range = error.range.clone();
            assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
        }
    }
}

/// A rule of a family, by its number in the first byte.
pub(crate) fn rules(bytes: &[u8]) {
    let Some((number, text)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let family = Family::ALL.get(usize::from(*number)).copied();
    let mut files = RuleFiles::default();
    files.add("other.conf".to_owned(), "[DEFAULT]\nfindtime = 5\n".to_owned());
    match parse_rules_up_to(RULES_MAX, text, "rule", family, &files) {
        Ok(rules) => {
            for rule in rules {
                assert!(!rule.description().is_empty());
                rule.replay().finish(None);
            }
        }
        Err(error) => assert!(!format!("{error:?}").is_empty()),
    }
}
