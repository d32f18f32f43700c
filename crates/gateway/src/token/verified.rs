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

    /// All claims by name.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.members
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }
}
