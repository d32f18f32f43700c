//! Signature algorithms (RFC 7518 section 3.1, RFC 8037 section 3.1).

use std::fmt;
use std::str::FromStr;

use weir_core::nearest_name;

/// A signature algorithm of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// ECDSA over P-384 with SHA-384.
    Es384,
    /// Ed25519. Tokens name it `EdDSA`, or `Ed25519` since RFC 9864.
    EdDsa,
}

/// The type of a key. Each algorithm works with one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// A secret that the issuer and the gateway share.
    Secret,
    /// An RSA public key.
    Rsa,
    /// A point on the curve P-256.
    P256,
    /// A point on the curve P-384.
    P384,
    /// An Ed25519 public key.
    Ed25519,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 12] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// The name in the header of a token.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The only type of key that the algorithm works with.
    pub fn key_type(self) -> KeyType {
        match self {
            Self::Hs256 | Self::Hs384 | Self::Hs512 => KeyType::Secret,
            Self::Rs256 | Self::Rs384 | Self::Rs512 => KeyType::Rsa,
            Self::Ps256 | Self::Ps384 | Self::Ps512 => KeyType::Rsa,
            Self::Es256 => KeyType::P256,
            Self::Es384 => KeyType::P384,
            Self::EdDsa => KeyType::Ed25519,
        }
    }

    /// Returns the algorithm that a token names. Names are case-sensitive (RFC 7515 section 4.1.1).
    pub(crate) fn from_token(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The minimum length of a secret: the length of the hash (RFC 7518 section 3.2). `None` for
    /// algorithms with public keys.
    pub(crate) fn secret_bytes_min(self) -> Option<usize> {
        match self {
            Self::Hs256 => Some(32),
            Self::Hs384 => Some(48),
            Self::Hs512 => Some(64),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Secret => "a secret",
            Self::Rsa => "an RSA key",
            Self::P256 => "a key on the curve P-256",
            Self::P384 => "a key on the curve P-384",
            Self::Ed25519 => "an Ed25519 key",
        })
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::from_token(name).ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

/// The error for a name that is not a supported signature algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAlgorithm(String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name) = self;
        match name.as_str() {
            "none" => {
                formatter.write_str("`none` is not accepted: anyone could write such a token")
            }
            "ES512" | "ES256K" | "Ed448" => write!(
                formatter,
                "`{name}` is not supported, because the cryptographic library (ring) lacks its \
                 curve; let the issuer sign with ES256, ES384 or EdDSA"
            ),
            _ => {
                let names = Algorithm::ALL.map(Algorithm::name);
                write!(formatter, "`{name}` is not a signature algorithm; ")?;
                if let Some(nearest) = nearest_name(name, names) {
                    write!(formatter, "did you mean `{nearest}`? ")?;
                }
                write!(formatter, "(known algorithms: {})", names.join(", "))
            }
        }
    }
}

impl std::error::Error for UnknownAlgorithm {}

#[cfg(test)]
mod tests {
    use super::Algorithm;

    #[test]
    fn names_are_case_sensitive_and_there_is_no_none() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
            assert!(algorithm.name().to_lowercase().parse::<Algorithm>().is_err());
        }
        assert_eq!("Ed25519".parse(), Ok(Algorithm::EdDsa));
        for (name, part) in [
            ("none", "anyone"),
            ("HS257", "did you mean `HS256`?"),
            ("rs256", "did you mean `RS256`?"),
            ("None", "known algorithms"),
            ("NONE", "known algorithms"),
            ("ES512", "lacks its curve"),
            ("", "known algorithms"),
        ] {
            let message = name.parse::<Algorithm>().unwrap_err().to_string();
            assert!(message.contains(part), "{name}: {message}");
        }
    }

    #[test]
    fn only_secrets_have_a_length() {
        for algorithm in Algorithm::ALL {
            let is_secret = algorithm.key_type() == super::KeyType::Secret;
            assert_eq!(algorithm.secret_bytes_min().is_some(), is_secret, "{algorithm}");
        }
    }
}
