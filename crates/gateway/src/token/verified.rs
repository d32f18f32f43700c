//! Verified tokens.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::claims::Claims;

/// A token with a valid signature and valid claims.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedToken {
    expires_at_unix_s: i64,
    /// The claim `sub`, shared by the records of all requests with this token.
    subject: Option<Arc<str>>,
    members: Map<String, Value>,
}

impl VerifiedToken {
    pub(super) fn new(claims: Claims) -> Self {
        let Claims { members, expires_at_unix_s } = claims;
        let subject = members.get("sub").and_then(Value::as_str).map(Arc::from);
        Self { expires_at_unix_s, subject, members }
    }

    /// The claim `iss`, which equals the issuer in the settings.
    pub fn issuer(&self) -> &str {
        self.text("iss").unwrap_or_default()
    }

    /// The claim `sub`, if there is one.
    pub fn subject(&self) -> Option<&Arc<str>> {
        self.subject.as_ref()
    }

    /// The claim `exp` in whole seconds since 1970.
    pub fn expires_at_unix_s(&self) -> i64 {
        self.expires_at_unix_s
    }

    /// Returns a claim of any type by its exact name. Integers beyond 64 bits are floating-point
    /// numbers.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// Returns a claim of any type by its exact name, or else by its path: `realm_access.tenant`
    /// is the member `tenant` of the object `realm_access`. Names may contain dots themselves, as
    /// URLs do, so each part of the path may have some; of several members that fit, the first
    /// found with the longest name counts.
    pub fn claim_at(&self, path: &str) -> Option<&Value> {
        member_at(&self.members, path)
    }

    /// All claims by name.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.members
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }
}

fn member_at<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = members.get(path) {
        return Some(value);
    }
    let mut dots = path.rmatch_indices('.').map(|(at, _)| path.split_at(at));
    dots.find_map(|(name, rest)| {
        let inner = members.get(name)?.as_object()?;
        member_at(inner, rest.strip_prefix('.')?)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::member_at;

    #[test]
    fn a_claim_has_a_path() {
        let members = json!({
            "tenant": "a",
            "realm_access": { "tenant": "b", "roles": ["c"], "x.y": "d" },
            "https://shop.example/tenant": "e",
            "https://shop.example/app": { "plan": "f" },
            "a.b": "g",
            "a": { "b": "h", "c": "i" },
        });
        let members = members.as_object().expect("an object");
        for (path, expected) in [
            ("tenant", Some("a")),
            ("realm_access.tenant", Some("b")),
            ("realm_access.x.y", Some("d")),
            ("https://shop.example/tenant", Some("e")),
            ("https://shop.example/app.plan", Some("f")),
            ("a.b", Some("g")),
            ("a.c", Some("i")),
            ("realm_access.nothing", None),
            ("tenant.x", None),
            ("realm_access.roles.0", None),
            ("realm_access.", None),
            (".tenant", None),
            ("", None),
        ] {
            let found = member_at(members, path).and_then(Value::as_str);
            assert_eq!(found, expected, "{path}");
        }
    }
}
