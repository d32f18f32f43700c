//! Signing keys of the test issuers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING,
    ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// The secret of the HMAC issuers.
pub(crate) const SECRET: &[u8] =
    b"sixty-four bytes that only the issuer and the gateway know: 0123";

/// Reads a file of the test data.
pub(crate) fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Encodes base64 as in tokens.
pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a private key of the test data as PKCS #8.
fn private_key(name: &str) -> Vec<u8> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(&data(&format!("{name}.pem"))).unwrap();
    key.secret_pkcs8_der().to_vec()
}

/// Signs with a key of `attacks.txt` and an algorithm.
pub(crate) fn sign(key: &str, algorithm: &str, signed: &[u8]) -> Vec<u8> {
    let random = SystemRandom::new();
    match algorithm {
        "HS256" | "HS384" | "HS512" => {
            let hash = match algorithm {
                "HS256" => hmac::HMAC_SHA256,
                "HS384" => hmac::HMAC_SHA384,
                _ => hmac::HMAC_SHA512,
            };
            hmac::sign(&hmac::Key::new(hash, &secret(key)), signed).as_ref().to_vec()
        }
        "ES256" => sign_ecdsa(key, &ECDSA_P256_SHA256_FIXED_SIGNING, signed),
        "DER" => sign_ecdsa(key, &ECDSA_P256_SHA256_ASN1_SIGNING, signed),
        "ES384" => sign_ecdsa(key, &ECDSA_P384_SHA384_FIXED_SIGNING, signed),
        "EdDSA" => ed25519(key).sign(signed).as_ref().to_vec(),
        _ => {
            let encoding: &dyn RsaEncoding = match algorithm {
                "RS256" => &RSA_PKCS1_SHA256,
                "RS384" => &RSA_PKCS1_SHA384,
                "RS512" => &RSA_PKCS1_SHA512,
                "PS256" => &RSA_PSS_SHA256,
                "PS384" => &RSA_PSS_SHA384,
                "PS512" => &RSA_PSS_SHA512,
                _ => panic!("{algorithm}: unknown algorithm"),
            };
            let key = rsa(key);
            let mut signature = vec![0; key.public().modulus_len()];
            key.sign(encoding, &random, signed, &mut signature).unwrap();
            signature
        }
    }
}

fn secret(key: &str) -> Vec<u8> {
    match key {
        "secret" => SECRET.to_vec(),
        "other-secret" => vec![0; 32],
        "no-secret" => Vec::new(),
        "rsa-pem" => data("rsa.public.pem"),
        "p256-pem" => data("p256.public.pem"),
        _ => panic!("{key}: unknown secret"),
    }
}

fn rsa(key: &str) -> RsaKeyPair {
    RsaKeyPair::from_pkcs8(&private_key(key)).unwrap()
}

fn ed25519(key: &str) -> Ed25519KeyPair {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(&private_key(key)).unwrap()
}

fn ecdsa(key: &str, algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    EcdsaKeyPair::from_pkcs8(algorithm, &private_key(key), &SystemRandom::new()).unwrap()
}

fn sign_ecdsa(key: &str, algorithm: &'static EcdsaSigningAlgorithm, signed: &[u8]) -> Vec<u8> {
    ecdsa(key, algorithm).sign(&SystemRandom::new(), signed).unwrap().as_ref().to_vec()
}

/// Returns the public part of a key as members of a JSON Web Key, without braces.
pub(crate) fn public_members(key: &str) -> String {
    let point = |curve: &str, point: &[u8]| {
        let (x, y) = point[1..].split_at(point.len() / 2);
        format!(r#""kty":"EC","crv":"{curve}","x":"{}","y":"{}""#, encode(x), encode(y))
    };
    match key {
        "rsa" | "other-rsa" => {
            let pair = rsa(key);
            let (modulus, exponent): (Vec<u8>, Vec<u8>) = {
                let components: ring::rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
                (components.n, components.e)
            };
            format!(r#""kty":"RSA","n":"{}","e":"{}""#, encode(modulus), encode(exponent))
        }
        "p256" | "other-p256" => {
            point("P-256", ecdsa(key, &ECDSA_P256_SHA256_FIXED_SIGNING).public_key().as_ref())
        }
        "p384" => {
            point("P-384", ecdsa(key, &ECDSA_P384_SHA384_FIXED_SIGNING).public_key().as_ref())
        }
        "ed25519" => {
            let key = ed25519(key);
            format!(r#""kty":"OKP","crv":"Ed25519","x":"{}""#, encode(key.public_key()))
        }
        _ => panic!("{key}: unknown key"),
    }
}

/// Creates a token of a header and claims, signed with a key.
pub(crate) fn token(header: &str, claims: &str, key: &str, algorithm: &str) -> String {
    let signed = format!("{}.{}", encode(header), encode(claims));
    let signature = encode(sign(key, algorithm, signed.as_bytes()));
    format!("{signed}.{signature}")
}
