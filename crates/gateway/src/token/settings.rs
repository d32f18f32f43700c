//! An issuer of tokens as a person describes it.

use std::fmt;
use std::path::PathBuf;

use super::algorithm::Algorithm;
use super::cache::CacheLimits;
use super::source::RefreshRules;
use crate::fetch::FetchLimits;

/// An issuer of tokens. [`new`](Self::new) sets all that has a default;
/// [`TokenVerifier::new`](super::TokenVerifier::new) checks the whole.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// The name in the configuration, for messages.
    pub name: String,
    /// What the claim `iss` has to be.
    pub issuer: String,
    /// One of these has to be in the claim `aud`.
    pub audiences: Vec<String>,
    /// The algorithms that are accepted, all for the type of key that the issuer has.
    pub algorithms: Vec<Algorithm>,
    /// Where its keys come from.
    pub keys: KeySource,
    /// Certificate authorities for the server of its keys, as PEM; the system's if absent.
    pub ca_file: Option<PathBuf>,
    /// How far its clock may be from ours, in seconds, 60 at most. Default 60.
    pub leeway_s: u32,
    /// The types of tokens that are accepted (`typ` of the header, RFC 8725 section 3.11), without
    /// `application/`. A token without a type is a `JWT`. Default: `JWT` and `at+jwt` (RFC 9068), so that a
    /// log-out token does not pass as an access token.
    pub token_types: Vec<String>,
    /// The bytes of a token. Default 16 KiB: half of what all header fields of a request may have.
    pub token_bytes_max: usize,
    /// What is remembered of verified tokens.
    pub cache: CacheLimits,
    /// When keys at a URL are fetched again.
    pub refresh: RefreshRules,
    /// What one fetch of keys may cost.
    pub fetch: FetchLimits,
}

/// Where the keys of an issuer come from. A secret is not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A secret that the issuer and the gateway share, for HS256, HS384 and HS512: the bytes themselves.
    Secret(Vec<u8>),
    /// A public key as PEM (`BEGIN PUBLIC KEY`): the text.
    PublicKeyPem(Vec<u8>),
    /// A key set (RFC 7517) in a file, which is read again when it changes.
    KeySetFile(PathBuf),
    /// A key set at an https URL; http for a loopback address or a Unix socket.
    KeySetUrl(String),
}

impl IssuerSettings {
    /// Settings with the default of everything else.
    pub fn new(
        name: impl Into<String>,
        issuer: impl Into<String>,
        audiences: Vec<String>,
        algorithms: Vec<Algorithm>,
        keys: KeySource,
    ) -> Self {
        Self {
            name: name.into(),
            issuer: issuer.into(),
            audiences,
            algorithms,
            keys,
            ca_file: None,
            leeway_s: 60,
            token_types: ["JWT", "at+jwt"].map(str::to_owned).to_vec(),
            token_bytes_max: 16 << 10,
            cache: CacheLimits::default(),
            refresh: RefreshRules::default(),
            fetch: FetchLimits::default(),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret(_) => formatter.write_str("Secret(not shown)"),
            Self::PublicKeyPem(pem) => {
                let text = String::from_utf8_lossy(pem);
                // A person may have given a private key by mistake.
                let shown = if text.contains("PRIVATE") { "not shown" } else { &text };
                formatter.debug_tuple("PublicKeyPem").field(&shown).finish()
            }
            Self::KeySetFile(path) => formatter.debug_tuple("KeySetFile").field(path).finish(),
            Self::KeySetUrl(url) => formatter.debug_tuple("KeySetUrl").field(url).finish(),
        }
    }
}
