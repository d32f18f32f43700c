//! The issuer of the users' tokens, which changes its key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Outcome;

/// The backends, of which each user has one.
pub(crate) const TENANTS: [&str; 2] = ["red", "blue"];

/// How long a token is valid, in seconds: longer than a run.
const LIFETIME_S: u64 = 86_400;

pub(crate) struct Issuer {
    users: usize,
    state: Mutex<Keys>,
}

struct Keys {
    /// The key of the tokens in use, and the one before.
    current: Key,
    previous: Option<Key>,
    /// The next key, which is published and not used yet.
    next: Option<Key>,
    made: usize,
}

struct Key {
    /// Its entry in the key set.
    jwk: String,
    /// A token of each user.
    tokens: Arc<Vec<String>>,
}

impl Issuer {
    pub(crate) fn new(users: usize) -> Outcome<Self> {
        let current = Key::new(0, users)?;
        let keys = Keys { current, previous: None, next: None, made: 1 };
        Ok(Self { users, state: Mutex::new(keys) })
    }

    /// The tokens that the users have now.
    pub(crate) fn tokens(&self) -> Arc<Vec<String>> {
        self.keys().current.tokens.clone()
    }

    /// A token of the key that was withdrawn last.
    pub(crate) fn withdrawn_token(&self) -> Option<String> {
        self.keys().previous.as_ref().and_then(|key| key.tokens.first().cloned())
    }

    /// Makes the next key.
    pub(crate) fn prepare(&self) -> Outcome {
        let mut keys = self.keys();
        keys.next = Some(Key::new(keys.made, self.users)?);
        keys.made += 1;
        Ok(())
    }

    /// Gives all users tokens of the next key.
    pub(crate) fn change(&self) {
        let mut keys = self.keys();
        if let Some(next) = keys.next.take() {
            keys.previous = Some(std::mem::replace(&mut keys.current, next));
        }
    }

    /// The key set: the key in use, and the next one.
    pub(crate) fn key_set(&self) -> String {
        let keys = self.keys();
        let all = [Some(&keys.current), keys.next.as_ref()].into_iter().flatten();
        let entries: Vec<&str> = all.map(|key| &key.jwk[..]).collect();
        format!("{{\"keys\":[{}]}}", entries.join(","))
    }

    fn keys(&self) -> std::sync::MutexGuard<'_, Keys> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Key {
    fn new(number: usize, users: usize) -> Outcome<Self> {
        let random = SystemRandom::new();
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).map_err(|_| "no key was made")?;
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).map_err(|_| "a key is unusable")?;
        let (id, x) = (format!("key-{number}"), encode(pair.public_key()));
        let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
        let header = encode(serde_json::json!({ "alg": "EdDSA", "kid": id }).to_string());
        let token = |user: usize| {
            let claims = serde_json::json!({
                "iss": "https://login.example",
                "aud": "api",
                "sub": name_of(user),
                "tenant": tenant_of(user),
                "exp": now_s + LIFETIME_S,
            });
            let signed = format!("{header}.{}", encode(claims.to_string()));
            let signature = encode(pair.sign(signed.as_bytes()));
            format!("{signed}.{signature}")
        };
        let jwk = serde_json::json!({
            "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": id, "x": x,
        });
        Ok(Self { jwk: jwk.to_string(), tokens: Arc::new((0..users).map(token).collect()) })
    }
}

pub(crate) fn name_of(user: usize) -> String {
    format!("user-{user}")
}

/// The backend of a user.
pub(crate) fn tenant_of(user: usize) -> &'static str {
    TENANTS[user % TENANTS.len()]
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
