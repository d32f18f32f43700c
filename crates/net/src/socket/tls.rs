//! TLS from the files of its certificate and key.

use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::error::BindError;
use super::options::{BindOptions, TlsFiles};

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
        (Some(files), _) => Arc::new(ReloadedCertificate::read(files.clone(), provider.clone())?),
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

/// A certificate that is read again if one of its files has changed.
///
/// The files are looked at before each handshake, which costs a thousandth of it. As long as they
/// cannot be used, because one is missing or only one of the two has been replaced, the last
/// certificate stays, and they are read again when they change, or after [`RETRY_PAUSE`].
#[derive(Debug)]
struct ReloadedCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    last: Mutex<Certificate>,
}

/// How long files that could not be used are left alone if they look the same. Their permissions may
/// change, which is not looked at.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
struct Certificate {
    key: Arc<CertifiedKey>,
    /// The states of both files when they were read.
    states: [Option<FileState>; 2],
    /// The states of files that could not be used, and when they were read.
    failed: Option<([Option<FileState>; 2], Instant)>,
}

impl Certificate {
    /// Whether files in these states are worth reading.
    fn is_outdated(&self, states: &[Option<FileState>; 2], now: Instant) -> bool {
        let has_failed = self.failed.as_ref().is_some_and(|(failed, at)| {
            failed == states && now.saturating_duration_since(*at) < RETRY_PAUSE
        });
        *states != self.states && !has_failed
    }
}

/// What changes if a file is replaced or written to: its time and its length.
type FileState = (SystemTime, u64);

impl ReloadedCertificate {
    fn read(files: TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self, BindError> {
        let states = states(&files);
        let key = read(&files, &provider)?;
        Ok(Self { files, provider, last: Mutex::new(Certificate { key, states, failed: None }) })
    }

    /// The certificate in the files, or the last one that could be used.
    fn current(&self) -> Arc<CertifiedKey> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (states, now) = (states(&self.files), Instant::now());
        if last.is_outdated(&states, now) {
            match read(&self.files, &self.provider) {
                Ok(key) => *last = Certificate { key, states, failed: None },
                Err(_) => last.failed = Some((states, now)),
            }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant, SystemTime};

    use super::{Certificate, RETRY_PAUSE};
    use crate::socket::SelfSignedCertificate;

    #[test]
    fn files_that_cannot_be_used_are_read_now_and_then() {
        let states = |bytes| [Some((SystemTime::UNIX_EPOCH, bytes)), None];
        let key = Arc::clone(&SelfSignedCertificate::new(["a.example".to_owned()]).unwrap().key);
        let now = Instant::now();
        let read = Certificate { key, states: states(1), failed: None };
        assert!(!read.is_outdated(&states(1), now));
        assert!(read.is_outdated(&states(2), now));
        let failed = Certificate { failed: Some((states(2), now)), ..read };
        assert!(!failed.is_outdated(&states(2), now + RETRY_PAUSE - Duration::from_millis(1)));
        assert!(failed.is_outdated(&states(2), now + RETRY_PAUSE));
        assert!(failed.is_outdated(&states(3), now));
        assert!(!failed.is_outdated(&states(1), now + RETRY_PAUSE), "the old files are back");
    }
}
