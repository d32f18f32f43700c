//! The `WWW-Authenticate` challenges for requests without a valid token.

use hyper::header::HeaderValue;

/// The kind of challenge. It reveals only whether the client sent a token (RFC 6750 section 3).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Challenge {
    NoToken,
    InvalidToken,
}

/// The values of `WWW-Authenticate`, with the realm (RFC 9110 section 11.5).
#[derive(Debug)]
pub(crate) struct Challenges {
    no_token: HeaderValue,
    invalid_token: HeaderValue,
}

impl Challenges {
    /// Creates the challenges of a realm. Returns `None` if the realm would need escapes in a
    /// quoted string.
    pub(crate) fn new(realm: &str) -> Option<Self> {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        if !realm.bytes().all(is_plain) {
            return None;
        }
        let no_token = format!("Bearer realm=\"{realm}\"");
        let invalid_token = HeaderValue::from_str(&format!("{no_token}, error=\"invalid_token\""));
        let no_token = HeaderValue::from_str(&no_token).ok()?;
        Some(Self { no_token, invalid_token: invalid_token.ok()? })
    }

    pub(crate) fn field(&self, challenge: Challenge) -> HeaderValue {
        match challenge {
            Challenge::NoToken => self.no_token.clone(),
            Challenge::InvalidToken => self.invalid_token.clone(),
        }
    }
}

impl Default for Challenges {
    fn default() -> Self {
        Self {
            no_token: HeaderValue::from_static("Bearer realm=\"weir\""),
            invalid_token: HeaderValue::from_static(
                "Bearer realm=\"weir\", error=\"invalid_token\"",
            ),
        }
    }
}
