//! What a client is asked for that has no good token.

use hyper::header::HeaderValue;

/// What a client without a good token is told: only whether it sent one (RFC 6750 section 3).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Challenge {
    NoToken,
    InvalidToken,
}

/// The challenges, with the name of what is protected (RFC 9110 section 11.5).
#[derive(Debug)]
pub(crate) struct Challenges {
    no_token: HeaderValue,
    invalid_token: HeaderValue,
}

impl Challenges {
    /// Challenges with this realm; `None` if it cannot be in quotes in a header field as it is.
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
