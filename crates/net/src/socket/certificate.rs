//! A certificate that is reloaded when its files change.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use httpdate::fmt_http_date;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error};
use weir_sync::Lock;

use super::error::BindError;
use super::file_state::{FileState, FileWatch};
use super::options::TlsFiles;
use super::validity::{self, Validity};

/// A certificate that is reloaded when one of its files has changed.
///
/// The metadata of the files is checked before each handshake, which costs a thousandth of it.
/// While the files cannot be used, because one is missing or only one of the two has been replaced,
/// the last certificate stays. They are then read again when they change, or after ten seconds.
#[derive(Debug)]
pub(crate) struct ReloadingCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    last: Lock<Certificate>,
}

/// The remaining validity below which a warning is due. Let's Encrypt certificates are renewed
/// thirty days before their end.
const SOON: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug, Clone)]
struct Certificate {
    key: Arc<CertifiedKey>,
    validity: Option<Validity>,
    /// The last fault of its validity that was reported.
    reported: Option<ValidityFault>,
    files: FileWatch<2>,
}

impl Certificate {
    fn new(key: Arc<CertifiedKey>, states: [Option<FileState>; 2]) -> Self {
        let validity = key.end_entity_cert().ok().and_then(validity::read);
        Self { key, validity, reported: None, files: FileWatch::new(states) }
    }

    /// Returns the fault of the validity at this time, if there is one and it was not returned
    /// before.
    fn next_fault(&mut self, now: SystemTime) -> Option<ValidityFault> {
        let Validity { start, end } = self.validity?;
        let fault = if now > end {
            ValidityFault::Expired(end)
        } else if now < start {
            ValidityFault::NotValidYet(start)
        } else if now + SOON > end {
            ValidityFault::ExpiresSoon(end)
        } else {
            return None;
        };
        (self.reported.replace(fault) != Some(fault)).then_some(fault)
    }

    /// Reports the fault of the validity, if there is one and it was not reported before.
    fn report_validity(&mut self, path: &Path) {
        if let Some(fault) = self.next_fault(SystemTime::now()) {
            let file = &*path.to_string_lossy();
            tracing::warn!(target: "weir_net", file, "{file}: {fault}");
        }
    }
}

/// Why clients refuse a certificate, or soon will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValidityFault {
    ExpiresSoon(SystemTime),
    Expired(SystemTime),
    NotValidYet(SystemTime),
}

impl fmt::Display for ValidityFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExpiresSoon(end) => write!(
                formatter,
                "the certificate expires soon, on {}; replace the file before then",
                fmt_http_date(*end)
            ),
            Self::Expired(end) => write!(
                formatter,
                "the certificate expired on {}, so clients refuse it; replace the file",
                fmt_http_date(*end)
            ),
            Self::NotValidYet(start) => write!(
                formatter,
                "the certificate is not valid before {}, so clients refuse it until then; check the \
                 system's clock, or replace the file",
                fmt_http_date(*start)
            ),
        }
    }
}

impl ReloadingCertificate {
    /// Reads the files. Fails if one is missing or malformed, or if the key does not match the
    /// certificate.
    pub(crate) fn read(files: TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self, BindError> {
        let states = states(&files);
        let mut certificate = Certificate::new(read(&files, &provider)?, states);
        certificate.report_validity(&files.certificate);
        Ok(Self { files, provider, last: Lock::new(certificate) })
    }

    /// Returns the certificate in the files, or the last one that could be used.
    fn current(&self) -> Arc<CertifiedKey> {
        let mut last = self.last.lock();
        let (states, now) = (states(&self.files), Instant::now());
        let path = &self.files.certificate;
        if last.files.is_outdated(&states, now) {
            let file = &*path.to_string_lossy();
            match read(&self.files, &self.provider) {
                Ok(key) => {
                    *last = Certificate::new(key, states);
                    tracing::info!(target: "weir_net", file, "{file}: the certificate was read again");
                }
                Err(error) => {
                    if last.files.note_failure(states, now) {
                        tracing::warn!(
                            target: "weir_net",
                            file,
                            "{file}: the certificate has changed and cannot be used, so the last \
                             one stays: {error}"
                        );
                    }
                }
            }
        }
        last.report_validity(path);
        last.key.clone()
    }
}

impl ResolvesServerCert for ReloadingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

impl TlsFiles {
    /// Reads the files, and discards what they hold.
    ///
    /// # Errors
    /// If one is missing or malformed, or if the key does not match the certificate.
    pub fn check(&self) -> Result<(), BindError> {
        read(self, &default_provider()).map(drop)
    }
}

fn states(files: &TlsFiles) -> [Option<FileState>; 2] {
    [&files.certificate, &files.key].map(|path| FileState::read(path))
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, BindError> {
    let TlsFiles { certificate, key } = files;
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| not_pem(certificate, "certificate", error))?;
    if chain.is_empty() {
        return Err(not_pem(certificate, "certificate", pem::Error::NoItemsFound));
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|error| not_pem(key, "private key", error))?;
    let pair = CertifiedKey::from_der(chain, private, provider);
    pair.map(Arc::new).map_err(|error| not_pair(files, &error))
}

pub(super) fn unusable(path: &Path, reason: String) -> BindError {
    BindError::Tls { path: path.to_owned(), reason }
}

/// Returns the error of a file that cannot be read as PEM (RFC 7468). `content` names what it
/// should hold.
pub(super) fn not_pem(path: &Path, content: &str, error: pem::Error) -> BindError {
    let reason = match error {
        pem::Error::Io(error) => return BindError::Unreadable { path: path.to_owned(), error },
        pem::Error::NoItemsFound => format!("it holds no {content} in PEM"),
        pem::Error::SectionTooLarge => format!("its {content} is larger than 10 MB"),
        _ => format!("its {content} is damaged: it is not valid PEM"),
    };
    unusable(path, reason)
}

/// Returns the error of a certificate and a key that cannot be used together.
fn not_pair(files: &TlsFiles, error: &Error) -> BindError {
    let TlsFiles { certificate, key } = files;
    match error {
        Error::InconsistentKeys(_) => {
            let certificate = certificate.display();
            unusable(key, format!("it is not the key of the certificate in {certificate}"))
        }
        Error::InvalidCertificate(error) => unusable(certificate, bad_certificate(error)),
        _ => unusable(key, format!("its private key cannot be read: {error}")),
    }
}

/// Returns what is wrong with a certificate, as a clause. The texts of the library are partly those
/// of its types.
fn bad_certificate(error: &CertificateError) -> String {
    let is_old = |error: &webpki::Error| *error == webpki::Error::UnsupportedCertVersion;
    match error {
        CertificateError::Other(other)
            if other.0.downcast_ref::<webpki::Error>().is_some_and(is_old) =>
        {
            "only X.509 certificates of version 3 are supported".to_owned()
        }
        _ => "its certificate is malformed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use super::{Certificate, Validity, ValidityFault};
    use crate::socket::SelfSignedCertificate;

    fn certificate() -> Certificate {
        let made = SelfSignedCertificate::new(["a.example".to_owned()]).unwrap();
        Certificate::new(Arc::clone(&made.key), [None, None])
    }

    #[test]
    fn the_end_of_a_certificate_is_said_once_before_and_once_after() {
        let days = |count: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(count * 86_400);
        let validity = Some(Validity { start: days(100), end: days(190) });
        let mut certificate = Certificate { validity, ..certificate() };
        let mut heard = Vec::new();
        for day in [99, 99, 100, 182, 184, 185, 190, 191, 300] {
            heard.push(certificate.next_fault(days(day)).map(|fault| match fault {
                ValidityFault::ExpiresSoon(_) => "soon",
                ValidityFault::Expired(_) => "expired",
                ValidityFault::NotValidYet(_) => "not yet",
            }));
        }
        let expected = [Some("not yet"), None, None, None, Some("soon"), None, None];
        assert_eq!(heard[..7], expected);
        assert_eq!(heard[7..], [Some("expired"), None]);
    }
}
