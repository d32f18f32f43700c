//! TLS from the files of its certificate and key.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::certificate::ReloadedCertificate;
use super::error::BindError;
use super::options::BindOptions;

/// The names of the protocols of a web server (RFC 7301), the preferred one first.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// What accepts TLS connections of a listener.
#[derive(Clone)]
pub(crate) struct Acceptors {
    /// For any protocol; the client's choice is not looked at.
    pub(crate) any: TlsAcceptor,
    /// For HTTP. The client chooses the version.
    pub(crate) http: TlsAcceptor,
}

/// Reads the files, if there are some. Fails if one is missing or malformed, or the key is not the
/// certificate's.
pub(crate) fn acceptors(options: &BindOptions) -> Result<Acceptors, BindError> {
    let provider = Arc::new(default_provider());
    let certificate: Arc<dyn ResolvesServerCert> = match (&options.tls, &options.self_signed) {
        (Some(files), _) => {
            let notices = options.certificate_notices.clone();
            Arc::new(ReloadedCertificate::read(files.clone(), provider.clone(), notices)?)
        }
        (None, Some(certificate)) => Arc::new(FixedCertificate(certificate.key.clone())),
        (None, None) => return Err(BindError::NoCertificate),
    };
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    // ring supports the default versions, so this does not fail.
    let config = versions.map_err(|_| BindError::NoCertificate)?.with_no_client_auth();
    let mut config = config.with_cert_resolver(certificate);
    // A client may prefer a weak cipher; all of ours are strong, and the first are the best.
    config.ignore_client_order = true;
    // A client that only sends and closes with an unread session ticket resets the connection,
    // and its last bytes are lost.
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
