//! The certificate authorities that verify servers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::client_certificate::ClientCertificate;

/// The bundles of certificate authorities of Debian, Fedora, SUSE, Alpine and BSD. The first that
/// exists is used.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The certificate authorities of a PEM file as it was read. Two are equal if they trust the same
/// keys.
#[derive(Debug, Clone)]
pub struct Authorities {
    roots: Arc<RootCertStore>,
}

impl Authorities {
    /// Reads all authorities of a file. Skips those that rustls cannot use, of which system bundles
    /// have a few.
    ///
    /// # Errors
    /// If the file is missing, or has no usable authority.
    pub fn read(path: &Path) -> Result<Self, TrustError> {
        let unusable = |reason: String| TrustError::Unusable { path: path.to_owned(), reason };
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unusable(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        let (added, left_out) = roots.add_parsable_certificates(certificates);
        if added == 0 {
            let reason = format!("it has no usable certificate ({left_out} are malformed)");
            return Err(unusable(reason));
        }
        Ok(Self { roots: Arc::new(roots) })
    }

    /// Reads the authorities of the system.
    fn read_system() -> Result<Self, TrustError> {
        let mut bundles = SYSTEM_BUNDLES.iter().map(Path::new);
        Self::read(bundles.find(|path| path.exists()).ok_or(TrustError::NoSystemBundle)?)
    }
}

impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.roots.roots == other.roots.roots
    }
}

impl Eq for Authorities {}

/// Creates a TLS client configuration that trusts these authorities, by default those of the
/// system, and presents a certificate if there is one.
///
/// # Errors
/// If the system has no usable authority.
pub(crate) fn client_config(
    authorities: Option<&Authorities>,
    certificate: Option<&ClientCertificate>,
) -> Result<Arc<ClientConfig>, TrustError> {
    let roots = match authorities {
        Some(authorities) => authorities.roots.clone(),
        None => Authorities::read_system()?.roots,
    };
    let mut config = match certificate {
        Some(certificate) => certificate.client_config(roots)?,
        None => builder()?.with_root_certificates(roots).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

pub(super) fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, TrustError> {
    ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TrustError::Tls(error.to_string()))
}

/// Why no certificate authorities can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustError {
    /// The system has no bundle in any of the usual places.
    NoSystemBundle,
    /// A file cannot be read, or has no usable authority.
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    Tls(String),
}

impl fmt::Display for TrustError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSystemBundle => write!(
                formatter,
                "no certificate authorities are installed ({}); install the package \
                 ca-certificates, or set ca_file",
                SYSTEM_BUNDLES[0]
            ),
            Self::Unusable { path, reason } => {
                write!(formatter, "{}: no certificate authorities: {reason}", path.display())
            }
            Self::Tls(reason) => write!(formatter, "TLS cannot be used: {reason}"),
        }
    }
}

impl std::error::Error for TrustError {}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Authorities, TrustError};

    #[test]
    fn files_without_authorities_are_refused() {
        let error = Authorities::read(Path::new("/nonexistent/ca.pem")).unwrap_err();
        assert!(matches!(error, TrustError::Unusable { .. }), "{error}");
        let error = Authorities::read(Path::new("Cargo.toml")).unwrap_err();
        assert!(error.to_string().contains("no usable certificate"), "{error}");
    }
}
