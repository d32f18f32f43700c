//! The certificate authorities that servers are checked against.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Where systems keep their authorities: Debian, Fedora, SUSE, Alpine and BSD. The first one that exists is
/// read.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS as a client that trusts the authorities of a PEM file, or without one those of the system.
///
/// # Errors
/// If there is no file, or it has no authority that can be used.
pub(crate) fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, TrustError> {
    let roots = match ca_file {
        Some(path) => read(path)?,
        None => {
            let mut bundles = SYSTEM_BUNDLES.iter().map(Path::new);
            read(bundles.find(|path| path.exists()).ok_or(TrustError::NoSystemBundle)?)?
        }
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TrustError::Tls(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Reads all authorities of a file. Those that rustls cannot use are left out, as bundles of systems have a
/// few.
fn read(path: &Path) -> Result<RootCertStore, TrustError> {
    let unusable = |reason: String| TrustError::Unusable { path: path.to_owned(), reason };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    let (added, left_out) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(unusable(format!("it has no usable certificate ({left_out} are malformed)")));
    }
    Ok(roots)
}

/// Why there are no authorities to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustError {
    /// The system has none at the usual places.
    NoSystemBundle,
    /// A file cannot be read, or has none.
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

    use super::{TrustError, client_config};

    #[test]
    fn files_without_authorities_are_refused() {
        let error = client_config(Some(Path::new("/nonexistent/ca.pem"))).unwrap_err();
        assert!(matches!(error, TrustError::Unusable { .. }), "{error}");
        let error = client_config(Some(Path::new("Cargo.toml"))).unwrap_err();
        assert!(error.to_string().contains("no usable certificate"), "{error}");
    }
}
