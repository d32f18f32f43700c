//! A certificate that is reloaded when its files change.

use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error};

use super::certificate_notice::{CertificateNotice, CertificateNotices};
use super::error::BindError;
use super::options::TlsFiles;
use super::validity::{self, Validity};

/// A certificate that is reloaded when one of its files has changed.
///
/// The metadata of the files is checked before each handshake, which costs a thousandth of it.
/// While the files cannot be used, because one is missing or only one of the two has been replaced,
/// the last certificate stays. They are then read again when they change, or after [`RETRY_PAUSE`].
#[derive(Debug)]
pub(crate) struct ReloadingCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    notices: CertificateNotices,
    last: Mutex<Certificate>,
}

/// The time after which files that could not be used are read again even if their metadata is
/// unchanged. The folder above them may have become readable, which the metadata does not show.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// The remaining validity below which a warning is due. Let's Encrypt certificates are renewed
/// thirty days before their end.
const SOON: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug, Clone)]
struct Certificate {
    key: Arc<CertifiedKey>,
    validity: Option<Validity>,
    /// The last notice about its validity.
    last_notice: Option<CertificateNotice>,
    /// The states of both files when they were read.
    states: [Option<FileState>; 2],
    /// The states of files that could not be used, and when they were read.
    failed: Option<([Option<FileState>; 2], Instant)>,
}

impl Certificate {
    fn new(key: Arc<CertifiedKey>, states: [Option<FileState>; 2]) -> Self {
        let validity = key.end_entity_cert().ok().and_then(validity::read);
        Self { key, validity, last_notice: None, states, failed: None }
    }

    /// Whether the files should be read, given their current states.
    fn is_outdated(&self, states: &[Option<FileState>; 2], now: Instant) -> bool {
        let has_failed = self.failed.as_ref().is_some_and(|(failed, at)| {
            failed == states && now.saturating_duration_since(*at) < RETRY_PAUSE
        });
        *states != self.states && !has_failed
    }

    /// Returns a notice about the validity at this time, if one is due and was not returned before.
    fn next_notice(&mut self, path: &Path, now: SystemTime) -> Option<CertificateNotice> {
        let Validity { start, end } = self.validity?;
        let path = || path.to_owned();
        let notice = if now > end {
            CertificateNotice::Expired { path: path(), end }
        } else if now < start {
            CertificateNotice::NotValidYet { path: path(), start }
        } else if now + SOON > end {
            CertificateNotice::ExpiresSoon { path: path(), end }
        } else {
            return None;
        };
        if self.last_notice.as_ref() == Some(&notice) {
            return None;
        }
        self.last_notice = Some(notice.clone());
        Some(notice)
    }
}

/// The metadata of a file that changes if the file is replaced or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    modified: SystemTime,
    bytes: u64,
    /// The inode number, and the time of the last status change in seconds and nanoseconds.
    #[cfg(unix)]
    identity: (u64, i64, i64),
}

impl FileState {
    fn of(metadata: &Metadata) -> Option<Self> {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Some(Self {
            modified: metadata.modified().ok()?,
            bytes: metadata.len(),
            #[cfg(unix)]
            identity: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl ReloadingCertificate {
    /// Reads the files. Fails if one is missing or malformed, or if the key does not match the
    /// certificate.
    pub(crate) fn read(
        files: TlsFiles,
        provider: Arc<CryptoProvider>,
        notices: CertificateNotices,
    ) -> Result<Self, BindError> {
        let states = states(&files);
        let mut certificate = Certificate::new(read(&files, &provider)?, states);
        if let Some(notice) = certificate.next_notice(&files.certificate, SystemTime::now()) {
            notices.send(notice);
        }
        Ok(Self { files, provider, notices, last: Mutex::new(certificate) })
    }

    /// Returns the certificate in the files, or the last one that could be used.
    fn current(&self) -> Arc<CertifiedKey> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (states, now) = (states(&self.files), Instant::now());
        let path = &self.files.certificate;
        let mut notices = Vec::new();
        if last.is_outdated(&states, now) {
            match read(&self.files, &self.provider) {
                Ok(key) => {
                    *last = Certificate::new(key, states);
                    notices.push(CertificateNotice::Replaced { path: path.clone() });
                }
                Err(error) => {
                    // Files in the same state are reported once, however often they are read.
                    if last.failed.as_ref().is_none_or(|(failed, _)| *failed != states) {
                        let reason = error.to_string();
                        notices.push(CertificateNotice::Kept { path: path.clone(), reason });
                    }
                    last.failed = Some((states, now));
                }
            }
        }
        notices.extend(last.next_notice(path, SystemTime::now()));
        let key = last.key.clone();
        drop(last);
        for notice in notices {
            self.notices.send(notice);
        }
        key
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
    [&files.certificate, &files.key].map(|path| FileState::of(&std::fs::metadata(path).ok()?))
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

fn unusable(path: &Path, reason: String) -> BindError {
    BindError::Tls { path: path.to_owned(), reason }
}

/// Returns the error of a file that cannot be read as PEM (RFC 7468). `content` names what it
/// should hold.
fn not_pem(path: &Path, content: &str, error: pem::Error) -> BindError {
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
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant, SystemTime};

    use super::{Certificate, FileState, RETRY_PAUSE, Validity};
    use crate::socket::{CertificateNotice, SelfSignedCertificate};

    fn certificate(states: [Option<FileState>; 2]) -> Certificate {
        let made = SelfSignedCertificate::new(["a.example".to_owned()]).unwrap();
        Certificate::new(Arc::clone(&made.key), states)
    }

    #[test]
    fn files_that_cannot_be_used_are_read_now_and_then() {
        let modified = SystemTime::UNIX_EPOCH;
        let states = |bytes| [Some(FileState { modified, bytes, identity: (1, 2, 3) }), None];
        let now = Instant::now();
        let read = certificate(states(1));
        assert!(!read.is_outdated(&states(1), now));
        assert!(read.is_outdated(&states(2), now));
        let failed = Certificate { failed: Some((states(2), now)), ..read };
        assert!(!failed.is_outdated(&states(2), now + RETRY_PAUSE - Duration::from_millis(1)));
        assert!(failed.is_outdated(&states(2), now + RETRY_PAUSE));
        assert!(failed.is_outdated(&states(3), now));
        assert!(!failed.is_outdated(&states(1), now + RETRY_PAUSE), "the old files are back");
    }

    #[test]
    fn the_end_of_a_certificate_is_said_once_before_and_once_after() {
        let days = |count: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(count * 86_400);
        let validity = Some(Validity { start: days(100), end: days(190) });
        let mut certificate = Certificate { validity, ..certificate([None, None]) };
        let path = Path::new("cert.pem");
        let mut heard = Vec::new();
        for day in [99, 99, 100, 182, 184, 185, 190, 191, 300] {
            heard.push(certificate.next_notice(path, days(day)).map(|notice| match notice {
                CertificateNotice::ExpiresSoon { .. } => "soon",
                CertificateNotice::Expired { .. } => "expired",
                CertificateNotice::NotValidYet { .. } => "not yet",
                other => panic!("{other}"),
            }));
        }
        let expected = [Some("not yet"), None, None, None, Some("soon"), None, None];
        assert_eq!(heard[..7], expected);
        assert_eq!(heard[7..], [Some("expired"), None]);
    }
}
