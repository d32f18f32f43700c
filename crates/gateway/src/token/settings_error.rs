//! Why an issuer cannot be set up.

use std::fmt;

use super::algorithm::{Algorithm, KeyType};
use super::key::KeyProblem;
use crate::fetch::{InvalidFetchUrl, TrustError};

/// A mistake in the settings of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The name of the issuer in the configuration.
    pub issuer: String,
    /// What is wrong.
    pub problem: SettingsProblem,
}

/// What is wrong with the settings of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsProblem {
    /// The name of the issuer is empty, with which tokens would be compared.
    NoIssuer,
    /// There is no audience, or an empty one.
    NoAudience,
    /// The list of algorithms is empty.
    NoAlgorithm,
    /// An algorithm does not work with the keys.
    AlgorithmNotOfKey {
        /// The algorithm.
        algorithm: Algorithm,
        /// What the key is.
        key_type: KeyType,
    },
    /// Algorithms with secrets and with public keys cannot be mixed.
    MixedAlgorithms,
    /// Algorithms with secrets cannot be used with a set that is fetched.
    SecretInFetchedSet(Algorithm),
    /// The leeway is more than a minute.
    Leeway(u32),
    /// The list of types of tokens is empty.
    NoTokenType,
    /// The secret cannot be used.
    Secret(KeyProblem),
    /// The public key cannot be read: why.
    PublicKey(String),
    /// The file of keys cannot be used: why, with its path.
    KeySetFile(String),
    /// The address of the keys is not one that may be fetched.
    KeySetUrl(InvalidFetchUrl),
    /// The certificate authorities for the server of the keys.
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
                "{algorithm} needs {}, but {key_type} is given; name only algorithms of the key: {}",
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
                "a leeway of {seconds} s keeps expired tokens alive; 60 s are the most"
            ),
            Self::NoTokenType => {
                formatter.write_str("name at least one type of token, such as JWT")
            }
            Self::Secret(problem) => problem.fmt(formatter),
            Self::PublicKey(reason) => write!(formatter, "the public key cannot be used: {reason}"),
            Self::KeySetFile(reason) => formatter.write_str(reason),
            Self::KeySetUrl(error) => error.fmt(formatter),
            Self::Trust(error) => error.fmt(formatter),
        }
    }
}

fn algorithms_of(key_type: KeyType) -> String {
    let all = Algorithm::ALL.into_iter().filter(|algorithm| algorithm.key_type() == key_type);
    all.map(Algorithm::name).collect::<Vec<_>>().join(", ")
}

impl std::error::Error for SettingsError {}
