//! Tokens that only their issuer can read: it is asked about each (RFC 7662).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Semaphore;
use weir_net::percent_encode;
use weir_net::redaction::shown_target;

use super::cache::{TokenDigest, bytes_of};
use super::claims::ClaimRules;
use super::json::parse_object;
use super::refusal::TokenRefusal;
use super::verified::VerifiedToken;
use crate::fetch::{FetchClient, FetchError, FetchUrl};
use crate::shared_cache::{CacheKey, Expiring, SharedCache};

/// How long a token that does not count is remembered. Its issuer may be about to accept it.
const REFUSAL_CACHE: Duration = Duration::from_secs(10);

/// How long callers who ask at the same time share an answer. Accepted tokens are in the cache of
/// all verified tokens.
const SHARED: Duration = Duration::from_secs(1);

/// The maximum number of requests to the issuer at a time. Strangers can invent tokens.
const REQUESTS_MAX: usize = 64;

/// The time for the answer about a token, with the wait for a place among [`REQUESTS_MAX`].
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks an issuer about its tokens.
#[derive(Debug)]
pub(super) struct Introspector {
    /// The name of the issuer in the configuration.
    issuer: Box<str>,
    client: FetchClient,
    url: FetchUrl,
    /// The value of `Authorization`.
    credential: HeaderValue,
    answers: SharedCache<TokenDigest, IntrospectionAnswer>,
    /// One permit for each concurrent request.
    permits: Semaphore,
}

/// What an issuer has said about a token.
#[derive(Debug)]
struct IntrospectionAnswer {
    outcome: Result<Arc<VerifiedToken>, TokenRefusal>,
    expires: Instant,
}

impl CacheKey for TokenDigest {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Expiring for IntrospectionAnswer {
    fn expires(&self) -> Instant {
        self.expires
    }

    fn heap_bytes(&self) -> usize {
        // The cache of verified tokens has it too, and forgets it earlier.
        self.outcome.as_ref().map_or(0, |token| bytes_of(token))
    }
}

impl Introspector {
    /// Creates an introspector with a credential `ID:SECRET`. Returns `None` if it has no colon.
    pub(super) fn new(
        issuer: &str,
        client: FetchClient,
        url: FetchUrl,
        credential: &[u8],
    ) -> Option<Self> {
        if !credential.contains(&b':') {
            return None;
        }
        let basic = format!("Basic {}", STANDARD.encode(credential));
        let mut credential = HeaderValue::try_from(basic).ok()?;
        credential.set_sensitive(true);
        let (answers, permits) = (SharedCache::new(), Semaphore::new(REQUESTS_MAX));
        Some(Self { issuer: issuer.into(), client, url, credential, answers, permits })
    }

    /// Asks about a token. Callers who ask about the same token at the same time share an answer.
    ///
    /// # Errors
    /// Why the token is refused; [`TokenRefusal::NotIntrospected`] if the issuer does not answer.
    pub(super) async fn verify(
        &self,
        token: &str,
        digest: &TokenDigest,
        rules: &ClaimRules,
        now_unix_s: i64,
    ) -> Result<Arc<VerifiedToken>, TokenRefusal> {
        let ask = async || {
            let asked = tokio::time::timeout(TIMEOUT, self.ask(token)).await;
            match asked.unwrap_or(Err(IntrospectionFault::Timeout)) {
                Ok(body) => self.read(&body, rules, now_unix_s),
                Err(fault) => Err(fault),
            }
            .map_err(|fault| self.report(&fault))
            .ok()
        };
        let answer = self.answers.get(digest, None, ask).await;
        answer.ok_or(TokenRefusal::NotIntrospected)?.value.outcome.clone()
    }

    async fn ask(&self, token: &str) -> Result<bytes::Bytes, IntrospectionFault> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        let form = format!("token={}&token_type_hint=access_token", percent_encode(token));
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, form_type),
            (AUTHORIZATION, self.credential.clone()),
        ]);
        let answer = self.client.send(&self.url, Method::POST, headers, form.into()).await;
        let answer = answer.map_err(IntrospectionFault::Fetch)?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            status => Err(IntrospectionFault::Status(status)),
        }
    }

    /// Reads an answer. Its claims are checked like those of a signed token, except that `iss`,
    /// `exp` and `aud` may be absent.
    fn read(
        &self,
        body: &[u8],
        rules: &ClaimRules,
        now_unix_s: i64,
    ) -> Result<IntrospectionAnswer, IntrospectionFault> {
        let mut members = parse_object(body).map_err(|_| IntrospectionFault::NotJson)?;
        let outcome = match members.remove("active") {
            Some(Value::Bool(true)) => {
                members.entry("iss").or_insert_with(|| Value::from(&*rules.issuer));
                let claims = rules.check_members(members, now_unix_s);
                claims.map(|claims| Arc::new(VerifiedToken::new(claims)))
            }
            Some(Value::Bool(false)) => Err(TokenRefusal::NotActive),
            _ => return Err(IntrospectionFault::NotActiveOrNot),
        };
        let kept = if outcome.is_ok() { SHARED } else { REFUSAL_CACHE };
        Ok(IntrospectionAnswer { outcome, expires: Instant::now() + kept })
    }

    fn report(&self, fault: &IntrospectionFault) {
        let (issuer, url) = (&*self.issuer, shown_target(&self.url.to_string()));
        tracing::warn!(
            target: "weir_gateway", url = &*url, error = %fault,
            "the issuer `{issuer}` cannot be asked about a token"
        );
    }
}

/// Why an issuer has not said whether a token counts.
#[derive(Debug)]
enum IntrospectionFault {
    Timeout,
    Fetch(FetchError),
    Status(StatusCode),
    NotJson,
    /// The answer has no `active` that is true or false.
    NotActiveOrNot,
}

impl fmt::Display for IntrospectionFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => write!(formatter, "no answer within {} s", TIMEOUT.as_secs()),
            Self::Fetch(error) => error.problem().fmt(formatter),
            Self::Status(status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)) => write!(
                formatter,
                "the status is {status}; check the credential of the gateway, ID:SECRET"
            ),
            Self::Status(status) => write!(formatter, "the status is {status} instead of 200"),
            Self::NotJson => formatter.write_str("the answer is not a JSON object"),
            Self::NotActiveOrNot => {
                formatter.write_str("the answer has no `active` that is true or false")
            }
        }
    }
}
