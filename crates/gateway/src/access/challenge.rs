//! The `WWW-Authenticate` challenges for requests without a valid token.

use hyper::header::HeaderValue;

/// The kind of challenge. It reveals only whether the client sent a token (RFC 6750 section 3).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Challenge {
    NoToken,
    InvalidToken,
    /// The token is valid, but lacks a right.
    InsufficientScope,
}

/// The values of `WWW-Authenticate`, with the realm (RFC 9110 section 11.5).
#[derive(Debug)]
pub(crate) struct Challenges {
    no_token: HeaderValue,
    invalid_token: HeaderValue,
    insufficient_scope: HeaderValue,
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
        let with_error =
            |error: &str| HeaderValue::from_str(&format!("{no_token}, error=\"{error}\"")).ok();
        Some(Self {
            invalid_token: with_error("invalid_token")?,
            insufficient_scope: with_error("insufficient_scope")?,
            no_token: HeaderValue::from_str(&no_token).ok()?,
        })
    }

    pub(crate) fn field(&self, challenge: Challenge) -> HeaderValue {
        match challenge {
            Challenge::NoToken => self.no_token.clone(),
            Challenge::InvalidToken => self.invalid_token.clone(),
            Challenge::InsufficientScope => self.insufficient_scope.clone(),
        }
    }
}

impl Default for Challenges {
    fn default() -> Self {
        let of = HeaderValue::from_static;
        Self {
            no_token: of("Bearer realm=\"weir\""),
            invalid_token: of("Bearer realm=\"weir\", error=\"invalid_token\""),
            insufficient_scope: of("Bearer realm=\"weir\", error=\"insufficient_scope\""),
        }
    }
}
