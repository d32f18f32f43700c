//! Verification of JSON Web Tokens.
//!
//! - [`bearer_token`] extracts the token of a request.
//! - [`TokenVerifier`] verifies the tokens of one issuer, configured with [`IssuerSettings`].
//! - [`VerifiedToken`] holds the claims of an accepted token; [`TokenRefusal`] is the reason for a
//!   refusal.
//!
//! The rules are those of RFC 8725. Each issuer has a fixed list of algorithms, bound to the type
//! of its keys. `kid` only selects among the issuer's own keys, and a token never supplies a key.
//! `exp`, `iss` and `aud` are required. Duplicate names, encodings that are not canonical, and
//! critical extensions are refused. Ring verifies the signatures.
//!
//! An issuer can also be asked about its tokens (RFC 7662), if only it can read them.
//!
//! This module reads no clock: callers pass the time in seconds since 1970. Only the answers about
//! refused tokens are kept by a timer.

mod algorithm;
mod bearer;
mod cache;
mod choice;
mod claims;
mod compact;
mod counters;
mod encoding;
mod header;
mod introspection;
mod json;
mod key;
mod key_directory;
mod refusal;
mod settings;
mod settings_error;
mod source;
mod verified;
mod verifier;

pub use self::algorithm::{Algorithm, KeyType, UnknownAlgorithm};
pub use self::bearer::bearer_token;
pub use self::cache::{CacheCounters, CacheLimits};
pub(crate) use self::choice::IssuerChoice;
pub use self::counters::TokenCounters;
pub use self::key::{KeyProblem, KeySetFault, PemFault, SkippedKey};
pub(crate) use self::key_directory::KeyDirectory;
pub use self::refusal::TokenRefusal;
pub use self::settings::{IntrospectionSource, IssuerSettings, KeySource};
pub use self::settings_error::{SettingsError, SettingsProblem};
pub use self::source::{KeySourceError, KeySourceFault, KeyStatus, RefreshRules};
pub use self::verified::VerifiedToken;
pub use self::verifier::{TokenVerifier, VerifiedBy};
