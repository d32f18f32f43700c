//! Reasons for refusing a token, for the log and counters only.

use std::fmt;

/// Why a token was not accepted.
///
/// `Display` writes a sentence without any part of the token. The client does not see the reason,
/// because it would help to construct a token that passes. As in RFC 6750 section 3, the client
/// learns only whether it [sent a token](Self::was_token_sent).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum TokenRefusal {
    /// There is no `Authorization` field.
    NoToken,
    /// The `Authorization` field has a scheme other than `Bearer`.
    OtherScheme,
    /// There are two `Authorization` fields, or a token in the query as well (RFC 6750 section 2).
    SeveralTokens,
    /// The `Authorization` field does not consist of `Bearer`, a space and a token.
    MalformedField,
    /// The token is longer than the limit of the issuer.
    TooLong,
    /// The token does not have three parts.
    NotCompact,
    /// A part is not canonical, URL-safe base64 without padding.
    InvalidEncoding,
    /// The header is not a JSON object, or a member of it has the wrong type.
    InvalidHeader,
    /// The header or the claims have a duplicate name.
    DuplicateName,
    /// The header has `crit`: extensions that a verifier must understand (RFC 7515 section 4.1.11).
    CriticalExtension,
    /// The token's type is not in the issuer's list (RFC 8725 section 3.11).
    WrongType,
    /// The algorithm is not in the issuer's list; `none` never is.
    AlgorithmNotAllowed,
    /// The issuer has no key with this `kid`.
    UnknownKey,
    /// The key with this `kid` is not for this algorithm.
    WrongKeyType,
    /// The token has no `kid`, and too many keys are possible.
    AmbiguousKey,
    /// The issuer's keys could not be fetched, and no usable earlier keys are left.
    KeysUnavailable,
    /// The signature is invalid.
    InvalidSignature,
    /// The claims are not a JSON object.
    InvalidClaims,
    /// There is no claim `exp`.
    MissingExpiry,
    /// There is no claim `iss`.
    MissingIssuer,
    /// There is no claim `aud`.
    MissingAudience,
    /// `exp`, `nbf` or `iat` is not a number of seconds from 1970 to 9999.
    InvalidTime,
    /// `iss`, `sub` or `aud` is of the wrong type.
    InvalidName,
    /// `exp` has passed.
    Expired,
    /// `nbf` is in the future.
    NotYetValid,
    /// `iat` is in the future.
    IssuedInFuture,
    /// `iss` is another issuer.
    WrongIssuer,
    /// `aud` names none of the audiences.
    WrongAudience,
    /// Its issuer says that it does not count (RFC 7662).
    NotActive,
    /// Its issuer could not be asked about it.
    NotIntrospected,
}

impl TokenRefusal {
    /// All refusals, each at its [`index`](Self::index).
    pub const ALL: [Self; 30] = [
        Self::NoToken,
        Self::OtherScheme,
        Self::SeveralTokens,
        Self::MalformedField,
        Self::TooLong,
        Self::NotCompact,
        Self::InvalidEncoding,
        Self::InvalidHeader,
        Self::DuplicateName,
        Self::CriticalExtension,
        Self::WrongType,
        Self::AlgorithmNotAllowed,
        Self::UnknownKey,
        Self::WrongKeyType,
        Self::AmbiguousKey,
        Self::KeysUnavailable,
        Self::InvalidSignature,
        Self::InvalidClaims,
        Self::MissingExpiry,
        Self::MissingIssuer,
        Self::MissingAudience,
        Self::InvalidTime,
        Self::InvalidName,
        Self::Expired,
        Self::NotYetValid,
        Self::IssuedInFuture,
        Self::WrongIssuer,
        Self::WrongAudience,
        Self::NotActive,
        Self::NotIntrospected,
    ];

    /// The name in metrics and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::OtherScheme => "other_scheme",
            Self::SeveralTokens => "several_tokens",
            Self::MalformedField => "malformed_field",
            Self::TooLong => "token_too_long",
            Self::NotCompact => "not_compact",
            Self::InvalidEncoding => "invalid_encoding",
            Self::InvalidHeader => "invalid_header",
            Self::DuplicateName => "duplicate_name",
            Self::CriticalExtension => "critical_extension",
            Self::WrongType => "wrong_type",
            Self::AlgorithmNotAllowed => "algorithm_not_allowed",
            Self::UnknownKey => "unknown_key",
            Self::WrongKeyType => "wrong_key_type",
            Self::AmbiguousKey => "ambiguous_key",
            Self::KeysUnavailable => "keys_unavailable",
            Self::InvalidSignature => "invalid_signature",
            Self::InvalidClaims => "invalid_claims",
            Self::MissingExpiry => "missing_expiry",
            Self::MissingIssuer => "missing_issuer",
            Self::MissingAudience => "missing_audience",
            Self::InvalidTime => "invalid_time",
            Self::InvalidName => "invalid_name",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::IssuedInFuture => "issued_in_future",
            Self::WrongIssuer => "wrong_issuer",
            Self::WrongAudience => "wrong_audience",
            Self::NotActive => "not_active",
            Self::NotIntrospected => "not_introspected",
        }
    }

    /// The index in [`ALL`](Self::ALL), for arrays of counters.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the client sent a bearer token, valid or not.
    pub fn was_token_sent(self) -> bool {
        !matches!(self, Self::NoToken | Self::OtherScheme)
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoToken => "the request has no token",
            Self::OtherScheme => "the Authorization field has a scheme other than Bearer",
            Self::SeveralTokens => "the request has a token in more than one place",
            Self::MalformedField => "the Authorization field is not `Bearer`, a space and a token",
            Self::TooLong => "the token is longer than the limit",
            Self::NotCompact => "the token does not have three parts",
            Self::InvalidEncoding => "a part of the token is not canonical base64",
            Self::InvalidHeader => "the token's header does not conform to RFC 7515",
            Self::DuplicateName => "the token has a duplicate name",
            Self::CriticalExtension => "the token needs an extension that is not supported",
            Self::WrongType => "the token is of a type that the issuer's settings do not allow",
            Self::AlgorithmNotAllowed => "the token's algorithm is not in the issuer's list",
            Self::UnknownKey => "the issuer has no key with the token's `kid`",
            Self::WrongKeyType => "the key that the token names is not for the token's algorithm",
            Self::AmbiguousKey => "the token names no key, and too many keys are possible",
            Self::KeysUnavailable => "the issuer's keys could not be fetched",
            Self::InvalidSignature => "the token's signature is invalid",
            Self::InvalidClaims => "the token's claims are not a JSON object",
            Self::MissingExpiry => "the token has no claim `exp`",
            Self::MissingIssuer => "the token has no claim `iss`",
            Self::MissingAudience => "the token has no claim `aud`",
            Self::InvalidTime => "a time in the token is not a number of seconds from 1970 to 9999",
            Self::InvalidName => "the token's `iss`, `sub` or `aud` is of the wrong type",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::IssuedInFuture => "the token was issued in the future",
            Self::WrongIssuer => "the token is from another issuer",
            Self::WrongAudience => "the token is for another audience",
            Self::NotActive => "the token does not count, says its issuer",
            Self::NotIntrospected => "the issuer could not be asked about the token",
        })
    }
}

impl std::error::Error for TokenRefusal {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::TokenRefusal;

    #[test]
    fn each_refusal_has_a_place_a_name_and_a_sentence() {
        for (index, refusal) in TokenRefusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal.index(), index);
        }
        let names: HashSet<_> = TokenRefusal::ALL.into_iter().map(TokenRefusal::name).collect();
        let sentences: HashSet<_> = TokenRefusal::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), TokenRefusal::ALL.len());
        assert_eq!(sentences.len(), TokenRefusal::ALL.len());
    }
}
