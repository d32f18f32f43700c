//! The certificate by which the gateway names itself to a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::trust::{TrustError, builder};

/// A certificate chain and its key, as they were read. `Debug` does not show the key.
#[derive(Clone)]
pub struct ClientCertificate(Arc<ChainAndKey>);

struct ChainAndKey {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl ClientCertificate {
    /// Reads a chain and its key, both as PEM.
    ///
    /// # Errors
    /// If a file cannot be read, or the key is not that of the certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, ClientCertificateError> {
        let unusable = |path: &Path, reason: String| ClientCertificateError::Unusable {
            path: path.to_owned(),
            reason,
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unusable(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(unusable(certificate, "it has no certificate".to_owned()));
        }
        let key =
            PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error.to_string()))?;
        let certificate = Self(Arc::new(ChainAndKey { chain, key }));
        certificate.client_config(Arc::new(RootCertStore::empty())).map_err(
            |error| match error {
                TrustError::Tls(reason) => ClientCertificateError::NotOfKey(reason),
                error => ClientCertificateError::NotOfKey(error.to_string()),
            },
        )?;
        Ok(certificate)
    }

    /// A TLS client configuration that presents it to servers which ask for one.
    pub(super) fn client_config(
        &self,
        roots: Arc<RootCertStore>,
    ) -> Result<ClientConfig, TrustError> {
        let ChainAndKey { chain, key } = &*self.0;
        let builder = builder()?.with_root_certificates(roots);
        let config = builder.with_client_auth_cert(chain.clone(), key.clone_key());
        config.map_err(|error| TrustError::Tls(error.to_string()))
    }
}

impl PartialEq for ClientCertificate {
    fn eq(&self, other: &Self) -> bool {
        self.0.chain == other.0.chain && self.0.key.secret_der() == other.0.key.secret_der()
    }
}

impl Eq for ClientCertificate {}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

/// Why a client certificate cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCertificateError {
    /// A file cannot be read, or has no certificate or key.
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The key is not that of the certificate, or of an unknown kind.
    NotOfKey(String),
}

impl fmt::Display for ClientCertificateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { path, reason } => {
                write!(formatter, "{} cannot be used: {reason}", path.display())
            }
            Self::NotOfKey(reason) => {
                write!(formatter, "the certificate and the key do not fit: {reason}")
            }
        }
    }
}

impl std::error::Error for ClientCertificateError {}
