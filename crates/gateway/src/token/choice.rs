//! The choice of an issuer by what a token says of itself.

use std::sync::Arc;

use serde_json::Value;

use super::cache::TokenDigest;
use super::compact::CompactToken;
use super::json::{JsonFault, parse_object};
use super::refusal::TokenRefusal;
use super::verified::VerifiedToken;
use super::verifier::{TokenVerifier, VerifiedBy};

/// The verifiers of a route, at least one. Several have different issuers.
#[derive(Debug)]
pub(crate) struct IssuerChoice(Vec<Arc<TokenVerifier>>);

impl IssuerChoice {
    /// Creates a choice. Returns `None` if there is no verifier.
    pub(crate) fn new(verifiers: Vec<Arc<TokenVerifier>>) -> Option<Self> {
        (!verifiers.is_empty()).then_some(Self(verifiers))
    }

    /// The claims `iss` of the issuers.
    pub(crate) fn issuers(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|verifier| verifier.issuer())
    }

    /// Verifies a token once, with the keys of the issuer that it names. What it says of itself
    /// only chooses among the issuers.
    ///
    /// # Errors
    /// Why the token is refused. If it is of none of several issuers, the first one counts it.
    pub(crate) async fn verify(
        &self,
        token: &str,
        now_unix_s: i64,
    ) -> Result<(Arc<VerifiedToken>, VerifiedBy), TokenRefusal> {
        if let [only] = &*self.0 {
            return only.verify_with_origin(token, now_unix_s).await;
        }
        // To read the claims of each request would cost more than to look into some caches.
        let digest = TokenDigest::of(token);
        let mut known = self.0.iter().filter_map(|it| it.recall(&digest, now_unix_s));
        if let Some(known) = known.next() {
            return Ok((known, VerifiedBy::Cache));
        }
        drop(known);
        let chosen = unverified_issuer(token).and_then(|issuer| {
            let mut issuers = self.0.iter();
            issuers.find(|it| it.issuer() == issuer).ok_or(TokenRefusal::WrongIssuer)
        });
        match chosen {
            Ok(verifier) => verifier.verify_with_origin(token, now_unix_s).await,
            Err(refusal) => {
                self.0.iter().take(1).for_each(|first| first.count_refused(refusal));
                Err(refusal)
            }
        }
    }
}

/// Reads the claim `iss` of a token whose signature has not been verified.
fn unverified_issuer(token: &str) -> Result<String, TokenRefusal> {
    let claims = CompactToken::parse(token)?.payload()?;
    let mut claims = parse_object(&claims).map_err(|fault| match fault {
        JsonFault::DuplicateName => TokenRefusal::DuplicateName,
        JsonFault::Malformed | JsonFault::NotObject => TokenRefusal::InvalidClaims,
    })?;
    match claims.remove("iss") {
        Some(Value::String(issuer)) => Ok(issuer),
        Some(_) => Err(TokenRefusal::InvalidName),
        None => Err(TokenRefusal::MissingIssuer),
    }
}
