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
        if !is_plain(realm) {
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

    /// The same, with the issuers of whom a token may be for a client that has sent another one. Only
    /// those count whose names need no escapes.
    pub(crate) fn with_issuers<'a>(&self, issuers: impl Iterator<Item = &'a str>) -> Self {
        let issuers: Vec<&str> = issuers.filter(|it| is_plain(it)).collect();
        let invalid_token = self.invalid_token.to_str().ok().and_then(|field| {
            let description = format!("the issuer must be one of: {}", issuers.join(", "));
            let field = format!("{field}, error_description=\"{description}\"");
            HeaderValue::try_from(field).ok().filter(|_| !issuers.is_empty())
        });
        Self {
            no_token: self.no_token.clone(),
            invalid_token: invalid_token.unwrap_or_else(|| self.invalid_token.clone()),
            insufficient_scope: self.insufficient_scope.clone(),
        }
    }

    pub(crate) fn field(&self, challenge: Challenge) -> HeaderValue {
        match challenge {
            Challenge::NoToken => self.no_token.clone(),
            Challenge::InvalidToken => self.invalid_token.clone(),
            Challenge::InsufficientScope => self.insufficient_scope.clone(),
        }
    }
}

/// Whether a text needs no escapes in a quoted string.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
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
