//! The published keys of an agent that signs requests.

use std::sync::Arc;
use std::time::Duration;

use super::algorithm::Algorithm;
use super::source::{FetchedKeySet, RefreshRules};
use crate::fetch::{Authorities, FetchClient, FetchLimits, FetchUrl, TrustError};

/// The Ed25519 keys at a URL. They are fetched like those of issuers, but no request waits for them.
#[derive(Debug)]
pub(crate) struct KeyDirectory(Arc<FetchedKeySet>);

impl KeyDirectory {
    /// Creates a directory whose keys are not fetched yet. The name is for messages.
    ///
    /// # Errors
    /// If the certificate authorities cannot be used.
    pub(crate) fn new(
        name: &str,
        url: FetchUrl,
        authorities: Option<&Authorities>,
        rules: RefreshRules,
    ) -> Result<Self, TrustError> {
        let client = FetchClient::for_url(&url, authorities, FetchLimits::default())?;
        let client = client.for_purpose("key directory");
        let owner = format!("the crawler `{name}`");
        let keys = FetchedKeySet::new(&owner, client, url, vec![Algorithm::EdDsa], rules);
        Ok(Self(Arc::new(keys)))
    }

    /// Whether a signature is that of the key with this thumbprint (RFC 7638, RFC 8037 appendix A.3).
    /// Returns `None` if no present key has it; a fetch then begins, unless it is too early for one.
    pub(crate) fn verify(
        &self,
        thumbprint: &str,
        signed: &[u8],
        signature: &[u8],
        now_unix_s: i64,
    ) -> Option<bool> {
        let keys = FetchedKeySet::present(&self.0, now_unix_s);
        let verified =
            keys.and_then(|keys| keys.set.verify_by_thumbprint(thumbprint, signed, signature));
        if verified.is_none() {
            FetchedKeySet::fetch_later(&self.0, now_unix_s);
        }
        verified
    }

    /// Fetches the keys if they are old or absent. Returns the time until the next call.
    pub(crate) async fn refresh(&self, now_unix_s: i64) -> Duration {
        FetchedKeySet::refresh(&self.0, now_unix_s).await
    }
}
