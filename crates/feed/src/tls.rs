//! The certificate and the key of TLS.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::bind::BindError;
use crate::options::FeedOptions;

/// What accepts TLS connections.
pub(crate) fn acceptor(options: &FeedOptions) -> Result<TlsAcceptor, BindError> {
    let (Some(certificate), Some(key)) = (&options.tls_certificate, &options.tls_key) else {
        return Err(BindError::NoCertificate);
    };
    let unreadable = |path: &Path, why: String| BindError::Tls { path: path.to_owned(), why };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "there is no certificate in it".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key);
    let private = private.map_err(|error| unreadable(key, error.to_string()))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.map_err(|error| unreadable(key, error.to_string()))?;
    // A sender that never reads and closes with a ticket unread resets the connection, and what
    // it sent last is lost with it.
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
