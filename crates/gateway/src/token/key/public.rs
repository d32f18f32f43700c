//! RSA, ECDSA and Ed25519 public keys.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::agreement::{self, ECDH_P256, ECDH_P384, EphemeralPrivateKey, agree_ephemeral};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

use super::problem::KeyProblem;
use super::small_order::has_small_order;
use crate::token::algorithm::{Algorithm, KeyType};

/// A validated public key.
#[derive(Debug, Clone)]
pub(in crate::token) enum PublicKey {
    /// Big-endian numbers without leading zeros.
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// An uncompressed point: 4, x and y (SEC 1 section 2.3.3).
    P256([u8; 65]),
    /// An uncompressed point: 4, x and y.
    P384([u8; 97]),
    /// An encoded point (RFC 8032 section 5.1.2).
    Ed25519([u8; 32]),
}

/// The accepted sizes of an RSA modulus in bits: the minimum of RFC 7518 section 3.3, and the
/// maximum of ring.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;

/// The maximum length of an exponent in bytes (a limit of ring).
const EXPONENT_BYTES_MAX: usize = 5;

/// The maximum first byte of an exponent of [`EXPONENT_BYTES_MAX`] bytes.
const HIGHEST_EXPONENT_BYTE_MAX: u8 = 1;

impl PublicKey {
    /// Validates an RSA key from its modulus and exponent, both big-endian.
    pub(super) fn rsa(modulus: &[u8], exponent: &[u8]) -> Result<Self, KeyProblem> {
        let [modulus, exponent] = [modulus, exponent].map(strip_leading_zeros);
        let bits = match modulus {
            [] => 0,
            [first, ..] => modulus.len() * 8 - first.leading_zeros() as usize,
        };
        // ring would round 2,041 bits up.
        if !RSA_BITS.contains(&bits) {
            return Err(KeyProblem::RsaBits(bits));
        }
        let is_odd = |digits: &[u8]| digits.last().is_some_and(|last| last & 1 == 1);
        let is_long = exponent.len() > EXPONENT_BYTES_MAX
            || exponent.len() == EXPONENT_BYTES_MAX && exponent[0] > HIGHEST_EXPONENT_BYTE_MAX;
        if !is_odd(modulus) || !is_odd(exponent) || exponent == [1] || is_long {
            return Err(KeyProblem::WeakRsa);
        }
        Ok(Self::Rsa(RsaPublicKeyComponents { n: modulus.to_vec(), e: exponent.to_vec() }))
    }

    /// Validates an uncompressed point on a curve.
    pub(super) fn ec(key_type: KeyType, point: &[u8]) -> Result<Self, KeyProblem> {
        let (curve, key): (&'static agreement::Algorithm, _) = match key_type {
            KeyType::P256 => (&ECDH_P256, point.try_into().map(Self::P256)),
            KeyType::P384 => (&ECDH_P384, point.try_into().map(Self::P384)),
            _ => return Err(KeyProblem::Unsupported),
        };
        let key = key.map_err(|_| KeyProblem::NotOnCurve)?;
        if is_on_curve(curve, point) { Ok(key) } else { Err(KeyProblem::NotOnCurve) }
    }

    /// Validates an Ed25519 key. Bytes that are not a point are accepted here, but ring then
    /// refuses every signature.
    pub(super) fn ed25519(key: &[u8]) -> Result<Self, KeyProblem> {
        let key = key.try_into().map_err(|_| KeyProblem::Malformed("x"))?;
        if has_small_order(&key) { Err(KeyProblem::SmallOrder) } else { Ok(Self::Ed25519(key)) }
    }

    pub(in crate::token) fn key_type(&self) -> KeyType {
        match self {
            Self::Rsa(_) => KeyType::Rsa,
            Self::P256(_) => KeyType::P256,
            Self::P384(_) => KeyType::P384,
            Self::Ed25519(_) => KeyType::Ed25519,
        }
    }

    /// The thumbprint of an Ed25519 key (RFC 8037 appendix A.3).
    pub(super) fn thumbprint(&self) -> Option<String> {
        let Self::Ed25519(key) = self else { return None };
        let x = URL_SAFE_NO_PAD.encode(key);
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        Some(URL_SAFE_NO_PAD.encode(digest(&SHA256, members.as_bytes())))
    }

    /// Verifies a signature. Returns false for algorithms of other key types.
    ///
    /// ECDSA signatures have a fixed length (RFC 7518 section 3.4), so a signature in DER is
    /// invalid. Ring refuses r or s = 0.
    pub(super) fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa(key) => rsa_parameters(algorithm)
                .is_some_and(|parameters| key.verify(parameters, signed, signature).is_ok()),
            Self::P256(point) if algorithm == Algorithm::Es256 => {
                verify(&ECDSA_P256_SHA256_FIXED, point, signed, signature)
            }
            Self::P384(point) if algorithm == Algorithm::Es384 => {
                verify(&ECDSA_P384_SHA384_FIXED, point, signed, signature)
            }
            Self::Ed25519(key) if algorithm == Algorithm::EdDsa => {
                verify(&ED25519, key, signed, signature)
            }
            _ => false,
        }
    }
}

fn verify(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    signed: &[u8],
    signature: &[u8],
) -> bool {
    UnparsedPublicKey::new(algorithm, key).verify(signed, signature).is_ok()
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
        Algorithm::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
        Algorithm::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

fn strip_leading_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    &digits[zeros..]
}

/// Whether a point is on its curve. Without this check, a wrong point would only make every
/// signature invalid. Ring checks points only for key agreement, so this starts one.
fn is_on_curve(curve: &'static agreement::Algorithm, point: &[u8]) -> bool {
    let Ok(private) = EphemeralPrivateKey::generate(curve, &SystemRandom::new()) else {
        return false;
    };
    let public = agreement::UnparsedPublicKey::new(curve, point);
    agree_ephemeral(private, &public, |_| ()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{KeyProblem, KeyType, PublicKey};

    fn problem(modulus: &[u8], exponent: &[u8]) -> Option<KeyProblem> {
        PublicKey::rsa(modulus, exponent).err()
    }

    #[test]
    fn rsa_keys_have_honest_numbers() {
        let modulus = |bytes: usize, first: u8, last: u8| {
            let mut digits = vec![0x55; bytes];
            (digits[0], digits[bytes - 1]) = (first, last);
            digits
        };
        let good = modulus(256, 0x80, 1);
        let f4 = [1, 0, 1];
        assert_eq!(problem(&good, &f4), None);
        assert_eq!(problem(&[&[0][..], &good].concat(), &[0, 1, 0, 1]), None);
        assert_eq!(problem(&good, &[3]), None);
        assert_eq!(problem(&modulus(256, 0x7f, 1), &f4), Some(KeyProblem::RsaBits(2_047)));
        assert_eq!(problem(&modulus(128, 0x80, 1), &f4), Some(KeyProblem::RsaBits(1_024)));
        assert_eq!(problem(&modulus(1_025, 1, 1), &f4), Some(KeyProblem::RsaBits(8_193)));
        assert_eq!(problem(&[0; 256], &f4), Some(KeyProblem::RsaBits(0)));
        assert_eq!(problem(&[], &f4), Some(KeyProblem::RsaBits(0)));
        assert_eq!(problem(&modulus(256, 0x80, 2), &f4), Some(KeyProblem::WeakRsa));
        for exponent in [&[][..], &[0], &[1], &[2], &[0, 1], &[2, 0, 0, 0, 1], &[1; 6]] {
            assert_eq!(problem(&good, exponent), Some(KeyProblem::WeakRsa), "{exponent:?}");
        }
    }

    #[test]
    fn points_are_on_their_curve() {
        let bad = |key_type, point: &[u8]| PublicKey::ec(key_type, point).err();
        let mut zero = [0; 65];
        zero[0] = 4;
        assert_eq!(bad(KeyType::P256, &zero), Some(KeyProblem::NotOnCurve));
        assert_eq!(bad(KeyType::P256, &[4; 65]), Some(KeyProblem::NotOnCurve));
        assert_eq!(bad(KeyType::P256, &[0]), Some(KeyProblem::NotOnCurve));
        assert_eq!(bad(KeyType::P384, &zero), Some(KeyProblem::NotOnCurve));
        assert_eq!(bad(KeyType::Rsa, &zero), Some(KeyProblem::Unsupported));
    }
}
