//! The answer to a request without a good token (RFC 6750 section 3).

use std::fmt;

use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::refusal::TokenRefusal;

/// What a client is told: that it needs a token, or a better one. It is never told why, because each reason
/// would help to find a token that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    without_token: HeaderValue,
    with_token: HeaderValue,
}

impl Challenge {
    /// The status of the answer, for every refusal.
    pub const STATUS: StatusCode = StatusCode::UNAUTHORIZED;

    /// A challenge that names a realm, which is for people.
    ///
    /// # Errors
    /// If the realm has control characters or others than those of ASCII.
    pub fn new(realm: &str) -> Result<Self, InvalidRealm> {
        if !realm.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(InvalidRealm(realm.to_owned()));
        }
        let realm = realm.replace('\\', "\\\\").replace('"', "\\\"");
        let value = |text: String| HeaderValue::try_from(text);
        let without_token = value(format!("Bearer realm=\"{realm}\""));
        let with_token = value(format!("Bearer realm=\"{realm}\", error=\"invalid_token\""));
        match (without_token, with_token) {
            (Ok(without_token), Ok(with_token)) => Ok(Self { without_token, with_token }),
            _ => Err(InvalidRealm(realm)),
        }
    }

    /// The value of the field `WWW-Authenticate` after this refusal.
    pub fn www_authenticate(&self, refusal: TokenRefusal) -> &HeaderValue {
        if refusal.was_token_sent() { &self.with_token } else { &self.without_token }
    }
}

/// A text that cannot be a realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRealm(String);

impl fmt::Display for InvalidRealm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(realm) = self;
        write!(
            formatter,
            "{realm:?} cannot be a realm; use letters, digits, spaces and punctuation of ASCII"
        )
    }
}

impl std::error::Error for InvalidRealm {}

#[cfg(test)]
mod tests {
    use super::{Challenge, TokenRefusal};

    #[test]
    fn a_client_learns_whether_it_sent_a_token_and_no_more() {
        let challenge = Challenge::new(r#"a "b" \ c"#).unwrap();
        for refusal in TokenRefusal::ALL {
            let expected = match refusal {
                TokenRefusal::NoToken | TokenRefusal::OtherScheme => {
                    r#"Bearer realm="a \"b\" \\ c""#
                }
                _ => r#"Bearer realm="a \"b\" \\ c", error="invalid_token""#,
            };
            assert_eq!(challenge.www_authenticate(refusal), expected);
        }
        assert!(Challenge::new("a\r\nSet-Cookie: x").is_err());
        assert!(Challenge::new("é").is_err());
    }
}
