//! The settings of an issuer of tokens.

use std::fmt;
use std::path::PathBuf;

use super::algorithm::Algorithm;
use super::cache::CacheLimits;
use super::source::RefreshRules;
use crate::fetch::{Authorities, FetchLimits};

/// The settings of an issuer of tokens. [`new`](Self::new) sets the defaults, and
/// [`TokenVerifier::new`](super::TokenVerifier::new) checks the settings.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// The name in the configuration, for messages.
    pub name: String,
    /// The required claim `iss`.
    pub issuer: String,
    /// The claim `aud` must contain one of these.
    pub audiences: Vec<String>,
    /// The accepted algorithms, which must suit the type of the issuer's keys.
    pub algorithms: Vec<Algorithm>,
    /// The source of the issuer's keys.
    pub keys: KeySource,
    /// The certificate authorities for the key server; the system's if absent.
    pub authorities: Option<Authorities>,
    /// The tolerated difference between the issuer's clock and ours in seconds, at most 60. Default
    /// 60.
    pub leeway_s: u32,
    /// The accepted token types (`typ` of the header, RFC 8725 section 3.11), without
    /// `application/`. A token without a type is a `JWT`. Default: `JWT` and `at+jwt` (RFC 9068),
    /// so that a logout token is not accepted as an access token.
    pub token_types: Vec<String>,
    /// The maximum length of a token in bytes. Default 16 KiB: half of the limit for all header
    /// fields of a request.
    pub token_bytes_max: usize,
    /// The limits of the cache of verified tokens.
    pub cache: CacheLimits,
    /// When keys at a URL are fetched again.
    pub refresh: RefreshRules,
    /// The limits of one fetch of keys.
    pub fetch: FetchLimits,
}

/// The source of an issuer's keys. `Debug` does not show a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The bytes of a secret that the issuer and the gateway share, for HS256, HS384 and HS512.
    Secret(Vec<u8>),
    /// The text of a public key as PEM (`BEGIN PUBLIC KEY`).
    PublicKeyPem(Vec<u8>),
    /// The path of a key set (RFC 7517). The file is read again when it changes.
    KeySetFile(PathBuf),
    /// The https URL of a key set; http is allowed for a loopback address or a Unix socket.
    KeySetUrl(String),
    /// None: the issuer is asked about each token. The algorithms have no effect, and the audiences
    /// may be empty.
    Introspection(IntrospectionSource),
}

/// Where an issuer is asked about its tokens (RFC 7662). `Debug` does not show the credential.
#[derive(Clone, PartialEq, Eq)]
pub struct IntrospectionSource {
    /// The https URL; http is allowed for a loopback address or a Unix socket.
    pub url: String,
    /// The credential of the gateway, `ID:SECRET`.
    pub credential: Vec<u8>,
}

impl IssuerSettings {
    /// Creates settings with defaults for all other fields.
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
            authorities: None,
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
                // The file may contain a private key by mistake.
                let shown = if text.contains("PRIVATE") { "not shown" } else { &text };
                formatter.debug_tuple("PublicKeyPem").field(&shown).finish()
            }
            Self::KeySetFile(path) => formatter.debug_tuple("KeySetFile").field(path).finish(),
            Self::KeySetUrl(url) => formatter.debug_tuple("KeySetUrl").field(url).finish(),
            Self::Introspection(source) => source.fmt(formatter),
        }
    }
}

impl fmt::Debug for IntrospectionSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("IntrospectionSource").field(&self.url).finish()
    }
}
