//! From a text to rules: recognises the family, and lets it read the text.

use std::collections::BTreeMap;

use crate::error::RuleError;
use crate::limit_req::LimitReq;
use crate::rule::{Family, Rule};

/// Files that rules may refer to, by their names without a folder.
#[derive(Debug, Clone, Default)]
pub struct RuleFiles {
    texts: BTreeMap<String, String>,
}

impl RuleFiles {
    /// Adds a file; one of the same name is replaced.
    pub fn add(&mut self, name: String, text: String) {
        self.texts.insert(name, text);
    }

    /// Returns the text of a file.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}

/// Reads the rules of a text, which may refer to `files`. `name` is used for rules that have none of
/// their own. The family is recognised by the text if it is not given.
///
/// # Errors
/// If the text is not a rule of the family, or of any.
pub fn parse_rules(
    text: &str,
    name: &str,
    family: Option<Family>,
    _files: &RuleFiles,
) -> Result<Vec<Box<dyn Rule>>, RuleError> {
    match family.unwrap_or(Family::LimitReq) {
        Family::LimitReq => Ok(vec![Box::new(LimitReq::parse(text, name)?)]),
    }
}
