//! Verification of the tokens of one issuer.

use std::sync::Arc;
use std::time::Duration;

use super::algorithm::Algorithm;
use super::cache::{CacheContext, TokenCache, TokenDigest};
use super::claims::ClaimRules;
use super::compact::CompactToken;
use super::counters::{SharedCounters, TokenCounters};
use super::header::{TokenHeader, normalize_type};
use super::introspection::Introspector;
use super::key::{KeySet, SecretKey, VerificationKey, parse_public_key};
use super::refusal::TokenRefusal;
use super::settings::{IntrospectionSource, IssuerSettings, KeySource};
use super::settings_error::{SettingsError, SettingsProblem};
use super::source::{FetchedKeySet, KeySetFile, KeyStatus, KeyStore, Keys};
use super::verified::VerifiedToken;
use crate::fetch::FetchClient;

/// Verifies the tokens of one issuer, and caches accepted tokens for at most a minute.
///
/// ```
/// use weir_gateway::token::{Algorithm, IssuerSettings, KeySource, TokenRefusal, TokenVerifier};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let secret = b"a secret of the issuer and of ours".to_vec();
/// let settings = IssuerSettings::new(
///     "app",
///     "https://login.example",
///     vec!["api".to_owned()],
///     vec![Algorithm::Hs256],
///     KeySource::Secret(secret),
/// );
/// let verifier = TokenVerifier::new(settings)?;
/// let now_unix_s = 1_800_000_000;
/// let refusal = verifier.verify("eyJhbGciOiJub25lIn0.e30.", now_unix_s).await.unwrap_err();
/// assert_eq!(refusal, TokenRefusal::AlgorithmNotAllowed);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TokenVerifier {
    name: String,
    algorithms: Vec<Algorithm>,
    /// In lower case, without `application/`.
    token_types: Vec<String>,
    token_bytes_max: usize,
    rules: ClaimRules,
    keys: KeyStore,
    /// Asks the issuer about its tokens, if they have no signature that the gateway could verify.
    introspector: Option<Introspector>,
    cache: TokenCache,
    counters: SharedCounters,
}

/// How a token was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifiedBy {
    /// It was in the cache: its signature was verified less than a minute ago.
    Cache,
    /// Its signature was verified just now.
    Signature,
}

/// The maximum tolerated clock difference in seconds (RFC 7519 section 4.1.4: a few minutes at
/// most).
const LEEWAY_S_MAX: u32 = 60;

impl TokenVerifier {
    /// Creates a verifier. Checks the settings, and reads keys that are in files. Keys at a URL are
    /// fetched for the first token, or by [`prepare`](Self::prepare) or
    /// [`refresh`](Self::refresh).
    ///
    /// # Errors
    /// If the settings are not valid, or a key file is not usable.
    pub fn new(settings: IssuerSettings) -> Result<Self, SettingsError> {
        let name = settings.name.clone();
        let fail = |problem| SettingsError { issuer: name.clone(), problem };
        check(&settings).map_err(fail)?;
        let keys = key_store(&settings).map_err(fail)?;
        let introspector = introspector(&settings).map_err(fail)?;
        // An answer without an end counts until the next question.
        let seconds = settings.cache.seconds_max_used();
        let default_lifetime_s = introspector.is_some().then_some(seconds.into());
        let IssuerSettings { name, issuer, audiences, algorithms, .. } = settings;
        let leeway_s = i64::from(settings.leeway_s);
        Ok(Self {
            name,
            algorithms,
            token_types: settings.token_types.iter().map(|name| normalize_type(name)).collect(),
            token_bytes_max: settings.token_bytes_max,
            rules: ClaimRules { issuer, audiences, default_lifetime_s, leeway_s },
            keys,
            introspector,
            cache: TokenCache::new(settings.cache),
            counters: SharedCounters::new(),
        })
    }

    /// The name of the issuer in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The claim `iss` of its tokens.
    pub(crate) fn issuer(&self) -> &str {
        &self.rules.issuer
    }

    /// Whether the issuer is asked about its tokens.
    pub(crate) fn introspects(&self) -> bool {
        self.introspector.is_some()
    }

    /// Returns a token if it is in the cache.
    pub(super) fn recall(
        &self,
        digest: &TokenDigest,
        now_unix_s: i64,
    ) -> Option<Arc<VerifiedToken>> {
        let context = CacheContext { generation: self.keys.generation(now_unix_s), now_unix_s };
        self.cache.recall(digest, context)
    }

    /// Counts a token that was refused before it came here.
    pub(super) fn count_refused(&self, refusal: TokenRefusal) {
        self.counters.count_refused(refusal);
    }

    /// Verifies a token at a time, in seconds since 1970.
    ///
    /// This waits only if keys must be fetched: if there are none yet, or if no present key verifies
    /// the token. It then needs a tokio runtime with timers.
    ///
    /// # Errors
    /// Why the token is refused.
    pub async fn verify(
        &self,
        token: &str,
        now_unix_s: i64,
    ) -> Result<Arc<VerifiedToken>, TokenRefusal> {
        self.verify_with_origin(token, now_unix_s).await.map(|(token, _)| token)
    }

    /// Like [`verify`](Self::verify), but also returns whether the token came from the cache.
    ///
    /// # Errors
    /// Why the token is refused.
    pub async fn verify_with_origin(
        &self,
        token: &str,
        now_unix_s: i64,
    ) -> Result<(Arc<VerifiedToken>, VerifiedBy), TokenRefusal> {
        let outcome = self.look_up_or_verify(token, now_unix_s).await;
        match &outcome {
            Ok((_, VerifiedBy::Cache)) => {}
            Ok((_, VerifiedBy::Signature)) => self.counters.count_verified(),
            Err(refusal) => self.counters.count_refused(*refusal),
        }
        outcome
    }

    /// Fetches keys at a URL if there are none yet, for instance before the first request.
    ///
    /// # Errors
    /// If there are still none; [`key_status`](Self::key_status) has the reason. The next token
    /// tries again.
    pub async fn prepare(&self, now_unix_s: i64) -> Result<(), TokenRefusal> {
        self.keys.keys(now_unix_s).await.map(|_| ())
    }

    /// Fetches keys at a URL if they are old or absent. Returns the time after which this has to be
    /// called again, or `None` if the keys are not at a URL. Without these calls, a withdrawn key
    /// would count until a token arrives after the end of its time.
    pub async fn refresh(&self, now_unix_s: i64) -> Option<Duration> {
        self.keys.refresh(now_unix_s).await
    }

    /// Returns the counters of tokens.
    pub fn counters(&self) -> TokenCounters {
        self.counters.read(self.cache.counters())
    }

    /// Returns the status of the keys, with the reasons why some are unusable.
    pub fn key_status(&self) -> KeyStatus {
        self.keys.status()
    }

    async fn look_up_or_verify(
        &self,
        token: &str,
        now_unix_s: i64,
    ) -> Result<(Arc<VerifiedToken>, VerifiedBy), TokenRefusal> {
        if token.len() > self.token_bytes_max {
            return Err(TokenRefusal::TooLong);
        }
        let digest = TokenDigest::of(token);
        let context = CacheContext { generation: self.keys.generation(now_unix_s), now_unix_s };
        if let Some(known) = self.cache.get(&digest, context) {
            return Ok((known, VerifiedBy::Cache));
        }
        // Boxed because the future is large and most tokens are in the cache.
        let verifying = Box::pin(self.verify_uncached(token, &digest, now_unix_s));
        let (verified, generation) = verifying.await?;
        self.cache.insert(digest, CacheContext { generation, now_unix_s }, &verified);
        Ok((verified, VerifiedBy::Signature))
    }

    /// Verifies a token without the cache. Also returns the generation of the keys.
    async fn verify_uncached(
        &self,
        token: &str,
        digest: &TokenDigest,
        now_unix_s: i64,
    ) -> Result<(Arc<VerifiedToken>, u64), TokenRefusal> {
        if let Some(introspector) = &self.introspector {
            let verified = introspector.verify(token, digest, &self.rules, now_unix_s).await?;
            return Ok((verified, self.keys.generation(now_unix_s)));
        }
        let token = CompactToken::parse(token)?;
        let header = TokenHeader::parse(&token.header)?;
        let algorithm = self.check_header(&header)?;
        let generation = self.check_signature(&token, &header, algorithm, now_unix_s).await?;
        let claims = self.rules.check(&token.payload()?, now_unix_s)?;
        Ok((Arc::new(VerifiedToken::new(claims)), generation))
    }

    /// Returns the algorithm of a header, if it and the type are in the issuer's lists.
    fn check_header(&self, header: &TokenHeader) -> Result<Algorithm, TokenRefusal> {
        let algorithm = header.algorithm.filter(|algorithm| self.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(TokenRefusal::AlgorithmNotAllowed)?;
        if !self.token_types.contains(&header.token_type) {
            return Err(TokenRefusal::WrongType);
        }
        Ok(algorithm)
    }

    /// Checks a signature with the present keys, or with newer ones if none of these verifies it.
    /// Returns the generation of the keys.
    async fn check_signature(
        &self,
        token: &CompactToken<'_>,
        header: &TokenHeader,
        algorithm: Algorithm,
        now_unix_s: i64,
    ) -> Result<u64, TokenRefusal> {
        let verify = |keys: &Keys| {
            let key_id = header.key_id.as_deref();
            keys.set.verify(key_id, algorithm, token.signed, &token.signature)
        };
        let keys = self.keys.keys(now_unix_s).await?;
        match verify(&keys) {
            Ok(()) => Ok(keys.generation),
            // An issuer may also replace a key under its old name.
            Err(
                refusal @ (TokenRefusal::UnknownKey
                | TokenRefusal::WrongKeyType
                | TokenRefusal::InvalidSignature),
            ) => {
                let newer = self.keys.newer(&keys, now_unix_s).await.ok_or(refusal)?;
                verify(&newer).map(|()| newer.generation)
            }
            Err(refusal) => Err(refusal),
        }
    }
}

/// Checks the settings that do not depend on the keys.
fn check(settings: &IssuerSettings) -> Result<(), SettingsProblem> {
    let IssuerSettings { issuer, audiences, algorithms, leeway_s, token_types, .. } = settings;
    let introspects = matches!(settings.keys, KeySource::Introspection(_));
    if issuer.is_empty() {
        return Err(SettingsProblem::NoIssuer);
    }
    if audiences.is_empty() && !introspects || audiences.iter().any(String::is_empty) {
        return Err(SettingsProblem::NoAudience);
    }
    if algorithms.is_empty() && !introspects {
        return Err(SettingsProblem::NoAlgorithm);
    }
    if *leeway_s > LEEWAY_S_MAX {
        return Err(SettingsProblem::Leeway(*leeway_s));
    }
    if token_types.is_empty() {
        return Err(SettingsProblem::NoTokenType);
    }
    let is_secret = |algorithm: &&Algorithm| algorithm.secret_bytes_min().is_some();
    let secrets = algorithms.iter().filter(is_secret).count();
    if secrets > 0 && secrets < algorithms.len() {
        return Err(SettingsProblem::MixedAlgorithms);
    }
    Ok(())
}

fn key_store(settings: &IssuerSettings) -> Result<KeyStore, SettingsProblem> {
    let algorithms = &settings.algorithms;
    match &settings.keys {
        KeySource::Secret(secret) => {
            check_type(algorithms, super::KeyType::Secret)?;
            let key = SecretKey::new(secret, algorithms).map_err(SettingsProblem::Secret)?;
            Ok(KeyStore::fixed(KeySet::single(VerificationKey::Secret(key))))
        }
        KeySource::PublicKeyPem(pem) => {
            let key = parse_public_key(pem).map_err(SettingsProblem::PublicKey)?;
            check_type(algorithms, key.key_type())?;
            Ok(KeyStore::fixed(KeySet::single(VerificationKey::Public(key))))
        }
        KeySource::Introspection(_) => Ok(KeyStore::fixed(KeySet::default())),
        KeySource::KeySetFile(path) => KeySetFile::read(path.clone(), algorithms.clone())
            .map(|file| KeyStore::File(Box::new(file)))
            .map_err(SettingsProblem::KeySetFile),
        KeySource::KeySetUrl(url) => {
            let is_secret = |algorithm: &&Algorithm| algorithm.secret_bytes_min().is_some();
            if let Some(algorithm) = algorithms.iter().find(is_secret) {
                return Err(SettingsProblem::SecretInFetchedSet(*algorithm));
            }
            let url = url.parse().map_err(SettingsProblem::KeySetUrl)?;
            let client = FetchClient::for_url(&url, settings.authorities.as_ref(), settings.fetch)
                .map_err(SettingsProblem::Trust)?
                .for_purpose("key set");
            let (algorithms, refresh) = (algorithms.clone(), settings.refresh);
            let owner = format!("the issuer `{}`", settings.name);
            let keys = FetchedKeySet::new(&owner, client, url, algorithms, refresh);
            Ok(KeyStore::Url(Arc::new(keys)))
        }
    }
}

fn introspector(settings: &IssuerSettings) -> Result<Option<Introspector>, SettingsProblem> {
    let KeySource::Introspection(IntrospectionSource { url, credential }) = &settings.keys else {
        return Ok(None);
    };
    let url = url.parse().map_err(SettingsProblem::IntrospectionUrl)?;
    let client = FetchClient::for_url(&url, settings.authorities.as_ref(), settings.fetch)
        .map_err(SettingsProblem::Trust)?
        .for_purpose("introspection");
    let introspector = Introspector::new(&settings.name, client, url, credential);
    introspector.map(Some).ok_or(SettingsProblem::Credential)
}

fn check_type(algorithms: &[Algorithm], key_type: super::KeyType) -> Result<(), SettingsProblem> {
    match algorithms.iter().find(|algorithm| algorithm.key_type() != key_type) {
        Some(&algorithm) => Err(SettingsProblem::AlgorithmNotOfKey { algorithm, key_type }),
        None => Ok(()),
    }
}
