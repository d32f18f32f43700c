//! Fetches the keys of issuers at the start, and again when they are old.

use std::future::Future;
use std::sync::Arc;

use super::authorize::now_unix_s;
use crate::token::{KeyDirectory, TokenVerifier};

/// Keeps the keys of a verifier fresh until it is dropped, whether or not tokens come: a key that was
/// withdrawn meanwhile must not count for the first of them. Ends at once if the keys are not at a
/// URL.
pub(crate) fn refresh_keys(verifier: &Arc<TokenVerifier>) -> impl Future<Output = ()> + use<> {
    let verifier = Arc::downgrade(verifier);
    async move {
        while let Some(verifier) = verifier.upgrade() {
            let Some(wait) = verifier.refresh(now_unix_s()).await else { return };
            drop(verifier);
            tokio::time::sleep(wait).await;
        }
    }
}

/// Keeps the keys of a directory fresh until it is dropped.
pub(crate) fn refresh_directory(directory: &Arc<KeyDirectory>) -> impl Future<Output = ()> + use<> {
    let directory = Arc::downgrade(directory);
    async move {
        while let Some(directory) = directory.upgrade() {
            let wait = directory.refresh(now_unix_s()).await;
            drop(directory);
            tokio::time::sleep(wait).await;
        }
    }
}
