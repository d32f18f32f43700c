//! The choice of an issuer by what a token says of itself.

use std::sync::Arc;

use serde_json::Value;

use super::cache::TokenDigest;
use super::compact::CompactToken;
use super::json::{JsonFault, parse_object};
use super::refusal::TokenRefusal;
use super::verified::VerifiedToken;
use super::verifier::{TokenVerifier, VerifiedBy};

/// The verifiers of a route, at least one. Several have different issuers, and at most one of them
/// is asked about its tokens.
#[derive(Debug)]
pub(crate) struct IssuerChoice {
    verifiers: Vec<Arc<TokenVerifier>>,
    /// The claims `iss` of the issuers of other routes, whose tokens are nobody else's business.
    others: Vec<String>,
    /// Whether the only verifier takes all tokens.
    takes_all: bool,
}

impl IssuerChoice {
    /// Creates a choice. Returns `None` if there is no verifier.
    pub(crate) fn new(verifiers: Vec<Arc<TokenVerifier>>, others: Vec<String>) -> Option<Self> {
        let takes_all = matches!(&*verifiers, [only] if !only.introspects());
        (!verifiers.is_empty()).then_some(Self { verifiers, others, takes_all })
    }

    /// The claims `iss` of the issuers.
    pub(crate) fn issuers(&self) -> impl ExactSizeIterator<Item = &str> {
        self.verifiers.iter().map(|verifier| verifier.issuer())
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
        if let [only] = &*self.verifiers
            && self.takes_all
        {
            return only.verify_with_origin(token, now_unix_s).await;
        }
        // To read the claims of each request would cost more than to look into some caches.
        let digest = TokenDigest::of(token);
        let mut known = self.verifiers.iter().filter_map(|it| it.recall(&digest, now_unix_s));
        if let Some(known) = known.next() {
            return Ok((known, VerifiedBy::Cache));
        }
        drop(known);
        match self.choose(token) {
            Ok(verifier) => verifier.verify_with_origin(token, now_unix_s).await,
            Err(refusal) => {
                self.verifiers.iter().take(1).for_each(|first| first.count_refused(refusal));
                Err(refusal)
            }
        }
    }

    /// Chooses the verifier of a token. An issuer that can be asked gets all tokens that are of no
    /// other one.
    fn choose(&self, token: &str) -> Result<&Arc<TokenVerifier>, TokenRefusal> {
        let claimed = unverified_issuer(token);
        // A signed token, of which programs could find different issuers.
        if let Err(fault @ (TokenRefusal::DuplicateName | TokenRefusal::InvalidName)) = claimed {
            return Err(fault);
        }
        let mut verifiers = self.verifiers.iter();
        if let Ok(issuer) = &claimed {
            if let Some(own) = verifiers.clone().find(|it| it.issuer() == issuer) {
                return Ok(own);
            }
            if self.others.contains(issuer) {
                return Err(TokenRefusal::WrongIssuer);
            }
        }
        match verifiers.find(|it| it.introspects()) {
            Some(asked) => Ok(asked),
            None => Err(claimed.err().unwrap_or(TokenRefusal::WrongIssuer)),
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
