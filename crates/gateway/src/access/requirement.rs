//! What a route requires of a token besides its validity.

use serde_json::Value;

use crate::token::VerifiedToken;

/// A claim that must have certain values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The claim, by name or path.
    pub claim: String,
    /// The values, all of which it must have.
    pub values: Vec<String>,
}

impl Requirement {
    /// Whether a token meets it.
    pub(crate) fn is_met(&self, token: &VerifiedToken) -> bool {
        let claim = token.claim_at(&self.claim);
        claim.is_some_and(|claim| self.values.iter().all(|value| self.has(claim, value)))
    }

    fn has(&self, claim: &Value, value: &str) -> bool {
        match claim {
            // A list of words (RFC 6749 section 3.3, RFC 8693 section 4.2).
            Value::String(text) if matches!(&*self.claim, "scope" | "scp") => {
                text.split(' ').any(|word| word == value)
            }
            Value::Array(items) => items.iter().any(|item| is_value(item, value)),
            claim => is_value(claim, value),
        }
    }
}

/// Whether a single value has this text.
fn is_value(claim: &Value, value: &str) -> bool {
    match claim {
        Value::String(text) => text == value,
        Value::Number(number) => *value == number.to_string(),
        Value::Bool(flag) => *value == flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Requirement;

    #[test]
    fn a_claim_has_its_values() {
        let has = |claim: &str, value: serde_json::Value, values: &[&str]| {
            let values = values.iter().map(|it| (*it).to_owned()).collect();
            let requirement = Requirement { claim: claim.to_owned(), values };
            requirement.values.iter().all(|it| requirement.has(&value, it))
        };
        assert!(has("scope", json!("orders:read orders:write"), &["orders:read"]));
        assert!(has("scope", json!("a b"), &["b", "a"]));
        assert!(!has("scope", json!("orders:read"), &["orders"]));
        assert!(!has("scope", json!("a b"), &["a", "c"]));
        assert!(has("scope", json!(["a", "b"]), &["a"]));
        assert!(!has("scope", json!(["a b"]), &["a"]));
        assert!(has("roles", json!(["admin", 7]), &["admin", "7"]));
        assert!(!has("roles", json!([["admin"]]), &["admin"]));
        assert!(!has("roles", json!("admin user"), &["admin"]));
        assert!(has("plan", json!("gold"), &["gold"]));
        assert!(has("level", json!(3), &["3"]));
        assert!(has("verified", json!(true), &["true"]));
        assert!(!has("plan", json!(null), &["null"]));
        assert!(!has("plan", json!({ "gold": 1 }), &["gold"]));
    }
}
