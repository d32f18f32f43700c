//! TLS from the files of its certificate and key.

use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::error::BindError;
use super::options::TlsFiles;

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

/// Reads the files. Fails if one is missing or malformed, or the key is not the certificate's.
pub(crate) fn acceptors(files: Option<&TlsFiles>) -> Result<Acceptors, BindError> {
    let files = files.ok_or(BindError::NoCertificate)?;
    let provider = Arc::new(default_provider());
    let certificate = ReloadedCertificate::read(files.clone(), provider.clone())?;
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let unusable = |error| unusable(&files.certificate, &error);
    let config = versions.map_err(unusable)?.with_no_client_auth();
    let mut config = config.with_cert_resolver(Arc::new(certificate));
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

/// A certificate that is read again if one of its files has changed.
///
/// The files are looked at before each handshake, which costs a thousandth of it. As long as they
/// cannot be used, because one is missing or only one of the two has been replaced, the last
/// certificate stays.
#[derive(Debug)]
struct ReloadedCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    last: Mutex<Certificate>,
}

#[derive(Debug, Clone)]
struct Certificate {
    key: Arc<CertifiedKey>,
    /// The states of both files when they were read.
    states: [Option<FileState>; 2],
}

/// What changes if a file is replaced or written to: its time and its length.
type FileState = (SystemTime, u64);

impl ReloadedCertificate {
    fn read(files: TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self, BindError> {
        let states = states(&files);
        let key = read(&files, &provider)?;
        Ok(Self { files, provider, last: Mutex::new(Certificate { key, states }) })
    }

    /// The certificate in the files, or the last one that could be used.
    fn current(&self) -> Arc<CertifiedKey> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let states = states(&self.files);
        if states != last.states
            && let Ok(key) = read(&self.files, &self.provider)
        {
            *last = Certificate { key, states };
        }
        last.key.clone()
    }
}

impl ResolvesServerCert for ReloadedCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn states(files: &TlsFiles) -> [Option<FileState>; 2] {
    let state = |metadata: Metadata| Some((metadata.modified().ok()?, metadata.len()));
    [&files.certificate, &files.key].map(|path| std::fs::metadata(path).ok().and_then(state))
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, BindError> {
    let TlsFiles { certificate, key } = files;
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificate, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificate, &"it holds no certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let pair = CertifiedKey::from_der(chain, private, provider);
    pair.map(Arc::new).map_err(|error| unusable(key, &error))
}

fn unusable(path: &Path, reason: &dyn std::fmt::Display) -> BindError {
    BindError::Tls { path: path.to_owned(), reason: reason.to_string() }
}
