//! JSON Web Tokens: verified, remembered, refused.
//!
//! - [`bearer_token`] takes the token out of a request.
//! - [`TokenVerifier`] verifies the tokens of one issuer, as [`IssuerSettings`] describe it.
//! - [`VerifiedToken`] has the claims of a good token; [`TokenRefusal`] is why another is not.
//!
//! The rules are those of RFC 8725: a fixed list of algorithms for each issuer, bound to the type of its
//! keys; `kid` chooses among the issuer's own keys and nothing else; no key comes out of a token; `exp`,
//! `iss` and `aud` have to be there. A name twice, an encoding that is not canonical, and an extension that
//! has to be understood are refused. ring verifies the signatures.
//!
//! No clock is read here: each call gets the time in seconds since 1970.

mod algorithm;
mod bearer;
mod cache;
mod claims;
mod compact;
mod counters;
mod encoding;
mod header;
mod json;
mod key;
mod refusal;
mod settings;
mod settings_error;
mod source;
mod verified;
mod verifier;

pub use self::algorithm::{Algorithm, KeyType, UnknownAlgorithm};
pub use self::bearer::bearer_token;
pub use self::cache::{CacheCounters, CacheLimits};
pub use self::counters::TokenCounters;
pub use self::key::{KeyProblem, SkippedKey};
pub use self::refusal::TokenRefusal;
pub use self::settings::{IssuerSettings, KeySource};
pub use self::settings_error::{SettingsError, SettingsProblem};
pub use self::source::{KeyStatus, RefreshRules};
pub use self::verified::VerifiedToken;
pub use self::verifier::{TokenVerifier, VerifiedBy};
