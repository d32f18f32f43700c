//! The keys of one issuer, found by the `kid` of a token.

use super::problem::KeyProblem;
use super::public::PublicKey;
use super::secret::SecretKey;
use crate::token::algorithm::{Algorithm, KeyType};
use crate::token::refusal::TokenRefusal;

/// A key that verifies signatures.
#[derive(Debug, Clone)]
pub(in crate::token) enum VerificationKey {
    Secret(SecretKey),
    Public(PublicKey),
}

/// A key with its parameters in the set.
#[derive(Debug, Clone)]
pub(super) struct SetKey {
    pub(super) key: VerificationKey,
    /// `kid`.
    pub(super) id: Option<String>,
    /// `alg`: the only algorithm that the key may be used with.
    pub(super) algorithm: Option<Algorithm>,
}

/// A key of a set that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedKey {
    /// The key's index in the set.
    pub index: usize,
    /// The key's `kid`, if it has one. The text comes from the server.
    pub key_id: Option<String>,
    /// Why the key is not used.
    pub problem: KeyProblem,
}

/// The keys of an issuer.
#[derive(Debug, Clone, Default)]
pub(in crate::token) struct KeySet {
    pub(super) keys: Vec<SetKey>,
    pub(in crate::token) skipped: Vec<SkippedKey>,
    /// Whether tokens select a key by `kid`. A single configured key has no id, and verifies tokens
    /// with any `kid`.
    pub(super) has_ids: bool,
}

/// The maximum number of keys tried for a token that names none.
const KEYS_TRIED_MAX: usize = 4;

impl KeySet {
    /// Creates the set of a single configured key.
    pub(in crate::token) fn single(key: VerificationKey) -> Self {
        let keys = vec![SetKey { key, id: None, algorithm: None }];
        Self { keys, skipped: Vec::new(), has_ids: false }
    }

    pub(in crate::token) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Verifies a signature with the key that the token names, or with each suitable key if it
    /// names none.
    ///
    /// # Errors
    /// [`TokenRefusal::UnknownKey`] if no key has this id, so that newer keys may help. Other
    /// refusals if the signature is invalid, or the key is not for the algorithm.
    pub(in crate::token) fn verify(
        &self,
        key_id: Option<&str>,
        algorithm: Algorithm,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), TokenRefusal> {
        let named = |key: &&SetKey| match key_id {
            Some(id) if self.has_ids => key.id.as_deref() == Some(id),
            _ => true,
        };
        let mut is_known = false;
        let mut tried = 0;
        for key in self.keys.iter().filter(named) {
            is_known = true;
            if !key.is_for(algorithm) {
                continue;
            }
            tried += 1;
            if tried > KEYS_TRIED_MAX {
                return Err(TokenRefusal::AmbiguousKey);
            }
            if key.verify(algorithm, signed, signature) {
                return Ok(());
            }
        }
        Err(match (is_known, tried, key_id) {
            (false, ..) | (_, 0, None) => TokenRefusal::UnknownKey,
            (_, 0, Some(_)) => TokenRefusal::WrongKeyType,
            _ => TokenRefusal::InvalidSignature,
        })
    }
}

impl KeySet {
    /// Whether an Ed25519 signature is that of the key with this thumbprint (RFC 7638); `None` if there
    /// is no such key.
    pub(in crate::token) fn verify_by_thumbprint(
        &self,
        thumbprint: &str,
        signed: &[u8],
        signature: &[u8],
    ) -> Option<bool> {
        let is_named = |key: &&SetKey| match &key.key {
            VerificationKey::Public(key) => key.thumbprint().as_deref() == Some(thumbprint),
            VerificationKey::Secret(_) => false,
        };
        let key = self.keys.iter().find(is_named)?;
        Some(key.verify(Algorithm::EdDsa, signed, signature))
    }
}

impl SetKey {
    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        let key_type = match &self.key {
            VerificationKey::Secret(_) => KeyType::Secret,
            VerificationKey::Public(key) => key.key_type(),
        };
        key_type == algorithm.key_type() && self.algorithm.is_none_or(|only| only == algorithm)
    }

    fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        match &self.key {
            VerificationKey::Secret(key) => key.verify(algorithm, signed, signature),
            VerificationKey::Public(key) => key.verify(algorithm, signed, signature),
        }
    }
}
