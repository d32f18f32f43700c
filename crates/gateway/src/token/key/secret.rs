//! HMAC keys (RFC 7518 section 3.2).

use ring::hmac;

use super::problem::KeyProblem;
use crate::token::algorithm::Algorithm;

/// A secret that the issuer and the gateway share, prepared for each of the issuer's algorithms.
///
/// `Debug` shows the algorithms only.
#[derive(Debug, Clone)]
pub(in crate::token) struct SecretKey {
    prepared: Vec<(Algorithm, hmac::Key)>,
}

/// Prefixes of public texts: PEM, JSON and SSH keys. In an algorithm confusion attack, a verifier
/// uses such a text, which everyone knows, as an HMAC secret.
const PUBLIC_TEXTS: [&[u8]; 4] = [b"-----BEGIN ", b"{", b"ssh-", b"ecdsa-"];

impl SecretKey {
    /// Prepares a secret for the HMAC algorithms in a list; others are ignored.
    ///
    /// # Errors
    /// If the secret is too short for one of the algorithms, or is a public text.
    pub(in crate::token) fn new(
        secret: &[u8],
        algorithms: &[Algorithm],
    ) -> Result<Self, KeyProblem> {
        let text = secret.trim_ascii_start();
        let is_public = PUBLIC_TEXTS.iter().any(|beginning| text.starts_with(beginning));
        if is_public || is_public_der(secret) {
            return Err(KeyProblem::SecretIsPublic);
        }
        let mut prepared = Vec::new();
        for &algorithm in algorithms {
            let Some(bytes_min) = algorithm.secret_bytes_min() else { continue };
            if secret.len() < bytes_min {
                return Err(KeyProblem::SecretTooShort { algorithm, bytes: secret.len() });
            }
            let hash = match algorithm {
                Algorithm::Hs384 => hmac::HMAC_SHA384,
                Algorithm::Hs512 => hmac::HMAC_SHA512,
                _ => hmac::HMAC_SHA256,
            };
            prepared.push((algorithm, hmac::Key::new(hash, secret)));
        }
        Ok(Self { prepared })
    }

    /// Verifies a signature in constant time.
    pub(super) fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let mut keys = self.prepared.iter();
        keys.find(|(known, _)| *known == algorithm)
            .is_some_and(|(_, key)| hmac::verify(key, signed, signature).is_ok())
    }
}

/// Whether the bytes are a public key or a certificate in DER.
fn is_public_der(secret: &[u8]) -> bool {
    use weir_net::der::{DerReader, SEQUENCE};
    let mut outer = DerReader::new(secret);
    outer.element(SEQUENCE).is_some() && outer.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, KeyProblem, SecretKey};

    #[test]
    fn secrets_are_long_and_secret() {
        let problem = |secret: &[u8], algorithm| SecretKey::new(secret, &[algorithm]).err();
        for algorithm in [Algorithm::Hs256, Algorithm::Hs384, Algorithm::Hs512] {
            let bytes_min = algorithm.secret_bytes_min().unwrap();
            assert_eq!(problem(&vec![7; bytes_min], algorithm), None);
            let bytes = bytes_min - 1;
            let expected = KeyProblem::SecretTooShort { algorithm, bytes };
            assert_eq!(problem(&vec![7; bytes], algorithm), Some(expected));
        }
        for text in [
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n",
            "\n  -----BEGIN CERTIFICATE-----\nMCowBQYDK2VwAyEA\n",
            r#"{"kty":"RSA","n":"AAAAAAAAAAAAAAAAAAAAAAAAAAAA","e":"AQAB"}"#,
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAA",
        ] {
            let found = problem(text.as_bytes(), Algorithm::Hs256);
            assert_eq!(found, Some(KeyProblem::SecretIsPublic), "{text}");
        }
        let der = [&[0x30, 60][..], &[1; 60]].concat();
        assert_eq!(problem(&der, Algorithm::Hs256), Some(KeyProblem::SecretIsPublic));
    }

    #[test]
    fn debug_does_not_show_the_secret() {
        let secret = b"hunter2 hunter2 hunter2 hunter2 hunter2";
        let key = SecretKey::new(secret, &[Algorithm::Hs256]).unwrap();
        let shown = format!("{key:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("104, 117"), "{shown}");
    }
}
