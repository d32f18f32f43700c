//! The TLS configuration of a listener.

use std::io;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::address::Address;
use super::certificate::ReloadingCertificate;
use super::error::BindError;
use super::options::BindOptions;

/// The ALPN names of the protocols of a web server (RFC 7301), the preferred one first.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The TLS acceptors of a listener.
#[derive(Clone)]
pub(crate) struct Acceptors {
    /// For any protocol. The client's ALPN list is ignored.
    pub(crate) any: TlsAcceptor,
    /// For HTTP. The client chooses the version by ALPN.
    pub(crate) http: TlsAcceptor,
}

/// Creates the acceptors, with the certificate from the files or the self-signed one. Fails if
/// there is no certificate, a file is missing or malformed, or the key does not match the
/// certificate.
pub(crate) fn acceptors(address: &Address, options: &BindOptions) -> Result<Acceptors, BindError> {
    let provider = Arc::new(default_provider());
    let certificate: Arc<dyn ResolvesServerCert> = match (&options.tls, &options.self_signed) {
        (Some(files), _) => Arc::new(ReloadingCertificate::read(files.clone(), provider.clone())?),
        (None, Some(certificate)) => Arc::new(FixedCertificate(certificate.key.clone())),
        (None, None) => return Err(BindError::NoCertificate(address.clone())),
    };
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.map_err(|error| BindError::Io {
        address: address.clone(),
        error: io::Error::other(error),
    })?;
    let config = config.with_no_client_auth();
    let mut config = config.with_cert_resolver(certificate);
    // The server's order counts, because a client may prefer a weak cipher. The first is the best.
    config.ignore_client_order = true;
    // A client that only sends would close with an unread session ticket. That resets the
    // connection, and its last bytes are lost.
    config.send_tls13_tickets = 0;
    let mut http = config.clone();
    http.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    let [any, http] = [config, http].map(|config| TlsAcceptor::from(Arc::new(config)));
    Ok(Acceptors { any, http })
}

/// A certificate that never changes.
#[derive(Debug)]
struct FixedCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for FixedCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}
