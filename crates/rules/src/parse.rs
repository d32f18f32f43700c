//! From a text to rules: recognises the family, and lets it read the text.

use crate::error::RuleError;
use crate::limit_req::LimitReq;
use crate::rule::{Family, Rule};

/// Reads the rules of a text. `name` is used for rules that have none of their own. The family is
/// recognised by the text if it is not given.
///
/// # Errors
/// If the text is not a rule of the family, or of any.
pub fn parse_rules(
    text: &str,
    name: &str,
    family: Option<Family>,
) -> Result<Vec<Box<dyn Rule>>, RuleError> {
    match family.unwrap_or(Family::LimitReq) {
        Family::LimitReq => Ok(vec![Box::new(LimitReq::parse(text, name)?)]),
    }
}
