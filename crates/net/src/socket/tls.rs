//! TLS from the files of its certificate and key.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::BindError;
use super::options::TlsFiles;

/// Reads the files. Fails if one is missing or malformed, or the key is not the certificate's.
pub(crate) fn acceptor(files: Option<&TlsFiles>) -> Result<TlsAcceptor, BindError> {
    let TlsFiles { certificate, key } = files.ok_or(BindError::NoCertificate)?;
    let unusable = |path: &Path, reason: String| BindError::Tls { path: path.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unusable(certificate, "it holds no certificate".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key);
    let private = private.map_err(|error| unusable(key, error.to_string()))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.map_err(|error| unusable(key, error.to_string()))?;
    // A client that only sends and closes with an unread session ticket resets the connection,
    // and its last bytes are lost.
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
