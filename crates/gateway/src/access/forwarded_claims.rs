//! What a backend learns of the token of a request.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::route::changes::RouteChanges;
use crate::token::VerifiedToken;

/// The longest value of a claim that is forwarded, in bytes. Servers refuse heads of 8 KiB and more.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// What a route tells its backend of a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardedClaims {
    /// Header fields, and the claims that they have, by name or path.
    pub fields: Vec<(HeaderName, String)>,
    /// Whether the backend gets the token itself. `None` means that it does if the client sent it in
    /// `Authorization`.
    pub token: Option<bool>,
}

/// What a backend is told about the user of a request, and what its route changes besides.
#[derive(Debug, Default)]
pub(crate) struct UserFields {
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
    hides_token: bool,
    /// What the route changes besides, if anything.
    pub(crate) changes: Option<Arc<RouteChanges>>,
}

/// A claim that does not fit into a header field: it has control characters, spaces around it, or is
/// too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnusableClaim;

impl ForwardedClaims {
    /// The fields for a token. A claim that it does not have leaves its field out.
    ///
    /// # Errors
    /// If a claim does not fit into a field.
    pub(crate) fn of(
        &self,
        token: &VerifiedToken,
        was_moved: bool,
    ) -> Result<UserFields, UnusableClaim> {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (name, claim) in &self.fields {
            let Some(text) = token.claim_at(claim).and_then(field_text) else { continue };
            // A server removes the spaces around a value, which could make it another user's.
            let is_padded = text.trim().len() < text.len();
            if is_padded || text.len() > VALUE_BYTES_MAX || text.contains(char::is_control) {
                return Err(UnusableClaim);
            }
            let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| UnusableClaim)?;
            fields.push((name.clone(), value));
        }
        Ok(UserFields { fields, hides_token: !self.token.unwrap_or(!was_moved), changes: None })
    }
}

impl UserFields {
    /// Sets the fields of a request whose client's own have been removed.
    pub(crate) fn apply(self, headers: &mut HeaderMap) {
        if let Some(changes) = &self.changes {
            changes.request.apply(headers);
        }
        if self.hides_token {
            headers.remove(AUTHORIZATION);
        }
        headers.extend(self.fields);
    }
}

/// The text of a claim in a header field. A list of plain values has commas between them, if they
/// have none themselves; all else is JSON.
fn field_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(items) => {
            let plain: Option<Vec<String>> = items.iter().map(plain_text).collect();
            let text = plain.map_or_else(|| value.to_string(), |items| items.join(","));
            Some(Cow::Owned(text))
        }
        value => Some(Cow::Owned(value.to_string())),
    }
}

fn plain_text(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => {
            let is_plain = !text.contains(',') && text.trim() == text;
            is_plain.then(|| text.clone())
        }
        Value::Number(_) | Value::Bool(_) => Some(item.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::field_text;

    #[test]
    fn a_claim_is_text() {
        for (value, expected) in [
            (json!("ada"), Some("ada")),
            (json!(""), Some("")),
            (json!(7), Some("7")),
            (json!(true), Some("true")),
            (json!(null), None),
            (json!(["a", "b", 3]), Some("a,b,3")),
            (json!([]), Some("")),
            (json!(["a,b", "c"]), Some(r#"["a,b","c"]"#)),
            (json!(["a", " b"]), Some(r#"["a"," b"]"#)),
            (json!([["a"]]), Some(r#"[["a"]]"#)),
            (json!({ "a": 1 }), Some(r#"{"a":1}"#)),
        ] {
            assert_eq!(field_text(&value).as_deref(), expected, "{value}");
        }
    }
}
