//! JSON Web Key sets (RFC 7517), with the key types of RFC 7518 section 6 and RFC 8037 section 2.

use std::fmt;

use serde_json::{Map, Value};

use super::problem::KeyProblem;
use super::public::PublicKey;
use super::secret::SecretKey;
use super::set::{KeySet, SetKey, SkippedKey, VerificationKey};
use crate::token::algorithm::{Algorithm, KeyType};
use crate::token::encoding::decode;
use crate::token::json::{JsonFault, parse_object};

/// The maximum number of keys that are read from a set. Issuers have two or three, and a few more
/// during a rotation.
const KEYS_MAX: usize = 100;

/// The `kid` of a skipped key is truncated to this many bytes.
const SHOWN_ID_BYTES_MAX: usize = 64;

/// The origin of a key set, which determines whether it may hold secrets (`"kty":"oct"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::token) enum KeySetOrigin {
    /// A file on this machine, which may hold secrets.
    File,
    /// A fetched set, which must not hold secrets, because others can fetch it too.
    FetchedSet,
}

/// Why a text is not a key set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySetFault {
    /// It is not JSON.
    NotJson,
    /// An object has a name twice.
    DuplicateName,
    /// It is not an object.
    NotObject,
    /// It has no list `keys`.
    NoKeys,
}

impl fmt::Display for KeySetFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotJson => "the key set is not JSON",
            Self::DuplicateName => "the key set has a duplicate name in an object",
            Self::NotObject => "the key set is not a JSON object",
            Self::NoKeys => "the key set has no list `keys`",
        })
    }
}

/// Reads a key set. Unusable keys are skipped and listed.
///
/// # Errors
/// If the text is not a key set.
pub(in crate::token) fn parse_key_set(
    text: &[u8],
    algorithms: &[Algorithm],
    origin: KeySetOrigin,
) -> Result<KeySet, KeySetFault> {
    let mut members = parse_object(text).map_err(|fault| match fault {
        JsonFault::Malformed => KeySetFault::NotJson,
        JsonFault::DuplicateName => KeySetFault::DuplicateName,
        JsonFault::NotObject => KeySetFault::NotObject,
    })?;
    let Some(Value::Array(items)) = members.remove("keys") else {
        return Err(KeySetFault::NoKeys);
    };
    let mut set = KeySet { keys: Vec::new(), skipped: Vec::new(), has_ids: true };
    for (index, item) in items.into_iter().enumerate() {
        let members = match item {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let reader = KeyReader { members: &members, algorithms, origin };
        let read = if index < KEYS_MAX { reader.key() } else { Err(KeyProblem::TooMany) };
        match read {
            Ok(key) => set.keys.push(key),
            Err(problem) => {
                let key_id = reader.text("kid").map(truncate_id);
                set.skipped.push(SkippedKey { index, key_id, problem });
            }
        }
        if index == KEYS_MAX {
            break;
        }
    }
    Ok(set)
}

fn truncate_id(text: &str) -> String {
    let mut end = text.len().min(SHOWN_ID_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// Reads one key of a set.
struct KeyReader<'a> {
    members: &'a Map<String, Value>,
    algorithms: &'a [Algorithm],
    origin: KeySetOrigin,
}

impl KeyReader<'_> {
    fn key(&self) -> Result<SetKey, KeyProblem> {
        let key_type = self.required_text("kty")?;
        let id = match self.members.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(KeyProblem::Malformed("kid")),
        };
        self.check_use()?;
        let algorithm = self.algorithm()?;
        let key = match key_type {
            "RSA" => VerificationKey::Public(self.rsa()?),
            "EC" => VerificationKey::Public(self.ec()?),
            "OKP" => VerificationKey::Public(self.ed25519()?),
            "oct" => VerificationKey::Secret(self.secret(algorithm)?),
            _ => return Err(KeyProblem::Unsupported),
        };
        let key = SetKey { key, id, algorithm };
        match algorithm {
            Some(algorithm) if !key.is_for(algorithm) => Err(KeyProblem::WrongAlgorithm),
            None if !self.algorithms.iter().any(|algorithm| key.is_for(*algorithm)) => {
                Err(KeyProblem::AlgorithmNotAllowed)
            }
            _ => Ok(key),
        }
    }

    /// Checks `use` and `key_ops` (RFC 7517 sections 4.2 and 4.3).
    fn check_use(&self) -> Result<(), KeyProblem> {
        match self.members.get("use") {
            None => {}
            Some(Value::String(purpose)) if purpose == "sig" => {}
            Some(_) => return Err(KeyProblem::OtherUse),
        }
        match self.members.get("key_ops") {
            None => Ok(()),
            Some(Value::Array(operations)) if operations.contains(&"verify".into()) => Ok(()),
            Some(_) => Err(KeyProblem::OtherUse),
        }
    }

    /// Returns the key's `alg`, which must be one of the issuer's algorithms.
    fn algorithm(&self) -> Result<Option<Algorithm>, KeyProblem> {
        match self.members.get("alg") {
            None => Ok(None),
            Some(Value::String(name)) => Algorithm::from_token(name)
                .filter(|algorithm| self.algorithms.contains(algorithm))
                .map(Some)
                .ok_or(KeyProblem::AlgorithmNotAllowed),
            Some(_) => Err(KeyProblem::Malformed("alg")),
        }
    }

    fn rsa(&self) -> Result<PublicKey, KeyProblem> {
        self.check_public()?;
        PublicKey::rsa(&self.bytes("n")?, &self.bytes("e")?)
    }

    fn ec(&self) -> Result<PublicKey, KeyProblem> {
        self.check_public()?;
        let (key_type, bytes) = match self.required_text("crv")? {
            "P-256" => (KeyType::P256, 32),
            "P-384" => (KeyType::P384, 48),
            _ => return Err(KeyProblem::Unsupported),
        };
        let (x, y) = (self.bytes("x")?, self.bytes("y")?);
        // Each coordinate must have the full length (RFC 7518 section 6.2.1.2), or the
        // concatenation would be ambiguous.
        if x.len() != bytes || y.len() != bytes {
            return Err(KeyProblem::NotOnCurve);
        }
        PublicKey::ec(key_type, &[&[4][..], &x, &y].concat())
    }

    fn ed25519(&self) -> Result<PublicKey, KeyProblem> {
        self.check_public()?;
        match self.required_text("crv")? {
            "Ed25519" => PublicKey::ed25519(&self.bytes("x")?),
            _ => Err(KeyProblem::Unsupported),
        }
    }

    fn secret(&self, only: Option<Algorithm>) -> Result<SecretKey, KeyProblem> {
        if self.origin == KeySetOrigin::FetchedSet {
            return Err(KeyProblem::SecretInFetchedSet);
        }
        let secret = self.bytes("k")?;
        match &only {
            Some(only) => SecretKey::new(&secret, std::slice::from_ref(only)),
            None => SecretKey::new(&secret, self.algorithms),
        }
    }

    /// Refuses a key that contains its private part.
    fn check_public(&self) -> Result<(), KeyProblem> {
        if self.members.contains_key("d") { Err(KeyProblem::Private) } else { Ok(()) }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }

    fn required_text(&self, name: &'static str) -> Result<&str, KeyProblem> {
        self.text(name).ok_or(KeyProblem::Malformed(name))
    }

    fn bytes(&self, name: &'static str) -> Result<Vec<u8>, KeyProblem> {
        decode(self.required_text(name)?.as_bytes()).ok_or(KeyProblem::Malformed(name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::{Algorithm, KeySetOrigin, parse_key_set};
    use crate::token::key::parse_public_key;

    /// Valid keys: an EC key of RFC 7515 appendix A, an Ed25519 key of RFC 8037 appendix A, and a
    /// secret.
    const SET: &str = r#"{"keys":[
        {"kty":"EC","crv":"P-256","kid":"a","use":"sig","key_ops":["verify"],"alg":"ES256",
         "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
        {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        {"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}
    ]}"#;

    const PEM: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
        -----END PUBLIC KEY-----\n";

    /// Returns a text with some bytes replaced or removed.
    fn with_changes(text: &str, changes: &[(u16, u8, bool)]) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte, is_replaced) in changes {
            let place = usize::from(*place) % bytes.len();
            bytes.splice(place..=place, is_replaced.then_some(*byte));
        }
        bytes
    }

    #[test]
    fn the_texts_are_good() {
        let set = parse_key_set(SET.as_bytes(), &Algorithm::ALL, KeySetOrigin::File).unwrap();
        assert_eq!((set.len(), set.skipped), (3, Vec::new()));
        let set = parse_key_set(SET.as_bytes(), &Algorithm::ALL, KeySetOrigin::FetchedSet).unwrap();
        assert_eq!((set.len(), set.skipped.len()), (2, 1));
        assert!(parse_public_key(PEM.as_bytes()).is_ok());
    }

    proptest! {
        /// Whatever a server sends, each key is used or skipped.
        #[test]
        fn changed_sets_are_read_or_refused(
            changes in vec((any::<u16>(), any::<u8>(), any::<bool>()), 1..6),
        ) {
            let text = with_changes(SET, &changes);
            if let Ok(set) = parse_key_set(&text, &Algorithm::ALL, KeySetOrigin::File) {
                assert!(set.len() + set.skipped.len() <= 3);
            }
        }

        /// A changed key is another key or none; no bytes are a key of another type.
        #[test]
        fn changed_pem_is_read_or_refused(
            changes in vec((any::<u16>(), any::<u8>(), any::<bool>()), 1..4),
        ) {
            if let Ok(key) = parse_public_key(&with_changes(PEM, &changes)) {
                assert_eq!(key.key_type(), crate::token::KeyType::Ed25519);
            }
        }
    }
}
