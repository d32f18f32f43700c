//! Why a key cannot be used.

use std::fmt;

use crate::token::algorithm::Algorithm;

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyProblem {
    /// This member is missing, or does not conform to RFC 7517 and RFC 7518.
    Malformed(&'static str),
    /// The type or the curve is not supported.
    Unsupported,
    /// The key is for encryption, or not for verification.
    OtherUse,
    /// The key is for an algorithm that is not in the issuer's list.
    AlgorithmNotAllowed,
    /// The key's algorithm does not work with keys of its type.
    WrongAlgorithm,
    /// The set publishes the private part of the key, so anyone can sign with it.
    Private,
    /// A fetched set contains a secret, so anyone who can fetch it can sign.
    SecretInFetchedSet,
    /// The RSA modulus has this many bits; 2,048 to 8,192 are accepted (RFC 7518 section 3.3).
    RsaBits(usize),
    /// The RSA modulus or exponent is even, or the exponent is below 3 or longer than 33 bits, as
    /// in no honestly generated key.
    WeakRsa,
    /// The point is not on its curve.
    NotOnCurve,
    /// The point has a small order, which allows forged signatures.
    SmallOrder,
    /// The secret is shorter than the algorithm needs.
    SecretTooShort {
        /// The algorithm.
        algorithm: Algorithm,
        /// The length of the secret.
        bytes: usize,
    },
    /// The secret is the text of a public key, a certificate or a key set.
    SecretIsPublic,
    /// The set has more keys than are read.
    TooMany,
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(name) => write!(formatter, "`{name}` is missing or malformed"),
            Self::Unsupported => formatter.write_str(
                "its type is not supported; RSA, the curves P-256 and P-384, and Ed25519 are",
            ),
            Self::OtherUse => formatter.write_str("it is not for the verification of signatures"),
            Self::AlgorithmNotAllowed => {
                formatter.write_str("its algorithm is not in the issuer's list")
            }
            Self::WrongAlgorithm => {
                formatter.write_str("its algorithm does not work with keys of its type")
            }
            Self::Private => formatter
                .write_str("the private part of the key is published, so anyone can sign with it"),
            Self::SecretInFetchedSet => {
                formatter.write_str("a secret does not belong in a set that is fetched")
            }
            Self::RsaBits(bits) => {
                write!(formatter, "its RSA modulus has {bits} bits; 2,048 to 8,192 are accepted")
            }
            Self::WeakRsa => formatter
                .write_str("its RSA modulus or exponent is weak, as in no honestly generated key"),
            Self::NotOnCurve => formatter.write_str("its point is not on the curve"),
            Self::SmallOrder => formatter
                .write_str("signatures can be forged for its point, which has a small order"),
            Self::SecretTooShort { algorithm, bytes } => write!(
                formatter,
                "the secret has {bytes} bytes, and {algorithm} needs {} (RFC 7518 section 3.2); \
                 make one with `openssl rand -hex 64`",
                algorithm.secret_bytes_min().unwrap_or_default()
            ),
            Self::SecretIsPublic => formatter.write_str(
                "the secret is the text of a public key, a certificate or a key set, which others \
                 know too; if tokens are signed with a private key, give the public one as a key \
                 and allow only its algorithms",
            ),
            Self::TooMany => formatter.write_str("the set has more keys than are read"),
        }
    }
}
