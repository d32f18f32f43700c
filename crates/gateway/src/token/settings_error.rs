//! Mistakes in the settings of an issuer.

use std::fmt;

use super::algorithm::{Algorithm, KeyType};
use super::key::{KeyProblem, PemFault};
use super::source::KeySourceError;
use crate::fetch::{InvalidFetchUrl, TrustError};

/// A mistake in the settings of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The name of the issuer in the configuration.
    pub issuer: String,
    /// The problem.
    pub problem: SettingsProblem,
}

/// A problem in the settings of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsProblem {
    /// The required claim `iss` is empty.
    NoIssuer,
    /// There is no audience, or one is empty.
    NoAudience,
    /// The list of algorithms is empty.
    NoAlgorithm,
    /// An algorithm does not work with the type of the keys.
    AlgorithmNotOfKey {
        /// The algorithm.
        algorithm: Algorithm,
        /// The type of the key.
        key_type: KeyType,
    },
    /// The list mixes algorithms with secrets and algorithms with public keys.
    MixedAlgorithms,
    /// The algorithm needs a secret, which a fetched set must not hold.
    SecretInFetchedSet(Algorithm),
    /// The leeway is more than a minute.
    Leeway(u32),
    /// The list of token types is empty.
    NoTokenType,
    /// The secret cannot be used.
    Secret(KeyProblem),
    /// The public key cannot be read.
    PublicKey(PemFault),
    /// The key set file cannot be used.
    KeySetFile(KeySourceError),
    /// The URL of the keys is not valid.
    KeySetUrl(InvalidFetchUrl),
    /// The URL at which the issuer is asked about tokens is not valid.
    IntrospectionUrl(InvalidFetchUrl),
    /// The credential for questions about tokens is not `ID:SECRET`.
    Credential,
    /// The certificate authorities for the key server cannot be used.
    Trust(TrustError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "issuer `{}`: {}", self.issuer, self.problem)
    }
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIssuer => {
                formatter.write_str("name the issuer as tokens do in the claim `iss`")
            }
            Self::NoAudience => {
                formatter.write_str("name at least one audience, as tokens do in the claim `aud`")
            }
            Self::NoAlgorithm => formatter.write_str("name at least one algorithm, such as RS256"),
            Self::AlgorithmNotOfKey { algorithm, key_type } => write!(
                formatter,
                "{algorithm} needs {}, but the key is {key_type}; name only algorithms of the key: {}",
                algorithm.key_type(),
                algorithms_of(*key_type)
            ),
            Self::MixedAlgorithms => formatter.write_str(
                "algorithms with secrets (HS256, HS384, HS512) and with public keys are mixed; \
                 name those that the issuer signs with",
            ),
            Self::SecretInFetchedSet(algorithm) => write!(
                formatter,
                "{algorithm} needs a secret, which a key set at a URL cannot hold; use secret_file, \
                 or an algorithm with public keys"
            ),
            Self::Leeway(seconds) => write!(
                formatter,
                "a leeway of {seconds} s keeps expired tokens alive; the maximum is 60 s"
            ),
            Self::NoTokenType => {
                formatter.write_str("name at least one type of token, such as JWT")
            }
            Self::Secret(problem) => problem.fmt(formatter),
            Self::PublicKey(fault) => write!(formatter, "the public key cannot be used: {fault}"),
            Self::KeySetFile(error) => error.fmt(formatter),
            Self::KeySetUrl(error) | Self::IntrospectionUrl(error) => error.fmt(formatter),
            Self::Credential => formatter
                .write_str("the credential is not ID:SECRET, as the issuer has given it out"),
            Self::Trust(error) => error.fmt(formatter),
        }
    }
}

fn algorithms_of(key_type: KeyType) -> String {
    let all = Algorithm::ALL.into_iter().filter(|algorithm| algorithm.key_type() == key_type);
    all.map(Algorithm::name).collect::<Vec<_>>().join(", ")
}

impl std::error::Error for SettingsError {}
