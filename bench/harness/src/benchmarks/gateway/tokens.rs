//! Tokens that are signed before they are sent.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};

use crate::settings::{folder, text};
use weir_tools::shell::{Outcome, root};

/// The secret of the issuer that signs with HMAC.
pub(super) const SECRET: &str = "sixty-four bytes that only the issuer and the gateway know: 0123";

/// How long tokens are valid, and how long a file of them is reused.
const VALID: Duration = Duration::from_secs(30 * 24 * 3600);
const USED_AGAIN: Duration = Duration::from_secs(20 * 24 * 3600);

/// An algorithm, with a route of the gateway that is named after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::benchmarks) enum Algorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(super) const ALL: [Self; 4] = [Self::Hs256, Self::Rs256, Self::Es256, Self::EdDsa];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The file with the key that the gateway needs: a secret, or a public key.
    pub(super) fn key_file(self) -> Outcome<PathBuf> {
        let name = match self {
            Self::Hs256 => {
                let file = folder()?.join("gateway-secret");
                fs::write(&file, SECRET)?;
                return Ok(fs::canonicalize(file)?);
            }
            Self::Rs256 => "rsa.public.pem",
            Self::Es256 => "p256.public.pem",
            Self::EdDsa => "ed25519.public.pem",
        };
        Ok(keys().join(name))
    }

    /// More tokens than a gateway verifies in a run.
    fn count(self) -> usize {
        if self == Self::Hs256 { 150_000 } else { 90_000 }
    }
}

/// The folder of the issuers' keys.
fn keys() -> PathBuf {
    root().join("crates/gateway/tests/data")
}

/// A file of tokens, one per line, each for a different user; `least` is their number in a smoke
/// run.
pub(in crate::benchmarks) fn file(algorithm: Algorithm, least: Option<usize>) -> Outcome<PathBuf> {
    let count = least.unwrap_or(algorithm.count());
    let file = folder()?.join(format!("tokens-{}-{count}", algorithm.name()));
    let age = fs::metadata(&file).and_then(|metadata| metadata.modified());
    if age.is_ok_and(|written| written.elapsed().is_ok_and(|age| age < USED_AGAIN)) {
        return Ok(file);
    }
    let signer = Signer::new(algorithm)?;
    let expires = SystemTime::now().duration_since(UNIX_EPOCH)? + VALID;
    let mut lines = String::new();
    for number in 0..count {
        let claims = format!(
            r#"{{"iss":"https://login.example","aud":"api","exp":{},"sub":"user-{number}","tenant":"a"}}"#,
            expires.as_secs()
        );
        let _ = writeln!(lines, "{}", signer.token(algorithm, &claims)?);
    }
    // A later run must not find an incomplete file.
    let part = file.with_extension("part");
    fs::write(&part, lines)?;
    fs::rename(part, &file)?;
    Ok(file)
}

/// The first token of a file.
pub(in crate::benchmarks) fn first(file: &Path) -> Outcome<String> {
    let tokens = fs::read_to_string(file)?;
    Ok(tokens.lines().next().ok_or_else(|| format!("{} is empty", text(file)))?.to_owned())
}

/// A private key.
enum Signer {
    Secret(hmac::Key),
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    fn new(algorithm: Algorithm) -> Outcome<Self> {
        let rejected = |error| format!("the key for {} is rejected: {error}", algorithm.name());
        Ok(match algorithm {
            Algorithm::Hs256 => Self::Secret(hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes())),
            Algorithm::Rs256 => {
                Self::Rsa(RsaKeyPair::from_pkcs8(&private_key("rsa.pem")?).map_err(rejected)?)
            }
            Algorithm::Es256 => {
                let (key, random) = (private_key("p256.pem")?, SystemRandom::new());
                let pair =
                    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random);
                Self::Ecdsa(pair.map_err(rejected)?)
            }
            Algorithm::EdDsa => {
                let key = private_key("ed25519.pem")?;
                Self::Ed25519(Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key).map_err(rejected)?)
            }
        })
    }

    /// A token in compact form (RFC 7515 section 3.1).
    fn token(&self, algorithm: Algorithm, claims: &str) -> Outcome<String> {
        let header = format!(r#"{{"alg":"{}"}}"#, algorithm.name());
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let signed = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
        let random = SystemRandom::new();
        let signature = match self {
            Self::Secret(key) => hmac::sign(key, signed.as_bytes()).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature)
                    .map_err(|_| "signing failed")?;
                signature
            }
            Self::Ecdsa(pair) => {
                let signature = pair.sign(&random, signed.as_bytes());
                signature.map_err(|_| "signing failed")?.as_ref().to_vec()
            }
            Self::Ed25519(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        Ok(format!("{signed}.{}", encode(&signature)))
    }
}

/// A private key as PKCS #8, out of a file in PEM.
fn private_key(name: &str) -> Outcome<Vec<u8>> {
    let pem = fs::read_to_string(keys().join(name))?;
    let encoded: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    Ok(STANDARD.decode(encoded)?)
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Signer};

    #[test]
    fn a_token_has_three_parts_and_its_algorithm() {
        for algorithm in Algorithm::ALL {
            let token = Signer::new(algorithm).unwrap().token(algorithm, "{}").unwrap();
            assert_eq!(token.split('.').count(), 3, "{token}");
        }
    }
}
