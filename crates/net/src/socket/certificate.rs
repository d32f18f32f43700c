//! A certificate from files, which is read again when they change.

use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::certificate_notice::{CertificateNotice, CertificateNotices};
use super::error::BindError;
use super::options::TlsFiles;
use super::validity::{self, Validity};

/// A certificate that is read again if one of its files has changed.
///
/// The files are looked at before each handshake, which costs a thousandth of it. As long as they
/// cannot be used, because one is missing or only one of the two has been replaced, the last
/// certificate stays, and they are read again when they change, or after [`RETRY_PAUSE`].
#[derive(Debug)]
pub(crate) struct ReloadedCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    notices: CertificateNotices,
    last: Mutex<Certificate>,
}

/// How long files that could not be used are left alone if they look the same. A folder above them may
/// have become readable, which is not looked at.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// How long before its end a certificate ends soon. Those of Let's Encrypt are renewed thirty days before.
const SOON: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug, Clone)]
struct Certificate {
    key: Arc<CertifiedKey>,
    validity: Option<Validity>,
    /// What was said last of its validity.
    said: Option<CertificateNotice>,
    /// The states of both files when they were read.
    states: [Option<FileState>; 2],
    /// The states of files that could not be used, and when they were read.
    failed: Option<([Option<FileState>; 2], Instant)>,
}

impl Certificate {
    fn new(key: Arc<CertifiedKey>, states: [Option<FileState>; 2]) -> Self {
        let validity = key.end_entity_cert().ok().and_then(validity::of);
        Self { key, validity, said: None, states, failed: None }
    }

    /// Whether files in these states are worth reading.
    fn is_outdated(&self, states: &[Option<FileState>; 2], now: Instant) -> bool {
        let has_failed = self.failed.as_ref().is_some_and(|(failed, at)| {
            failed == states && now.saturating_duration_since(*at) < RETRY_PAUSE
        });
        *states != self.states && !has_failed
    }

    /// What there is to say about its validity at this time, the first time that there is.
    fn next_notice(&mut self, path: &Path, now: SystemTime) -> Option<CertificateNotice> {
        let Validity { start, end } = self.validity?;
        let path = || path.to_owned();
        let notice = if now > end {
            CertificateNotice::Expired { path: path(), end }
        } else if now < start {
            CertificateNotice::NotValidYet { path: path(), start }
        } else if now + SOON > end {
            CertificateNotice::EndsSoon { path: path(), end }
        } else {
            return None;
        };
        if self.said.as_ref() == Some(&notice) {
            return None;
        }
        self.said = Some(notice.clone());
        Some(notice)
    }
}

/// What changes if a file is replaced or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    modified: SystemTime,
    bytes: u64,
    /// The number of the file, and when anything of it changed last, in seconds and nanoseconds.
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

impl ReloadedCertificate {
    /// Reads the files. Fails if one is missing or malformed, or the key is not the certificate's.
    pub(crate) fn read(
        files: TlsFiles,
        provider: Arc<CryptoProvider>,
        notices: CertificateNotices,
    ) -> Result<Self, BindError> {
        let states = states(&files);
        let mut certificate = Certificate::new(read(&files, &provider)?, states);
        if let Some(notice) = certificate.next_notice(&files.certificate, SystemTime::now()) {
            notices.give(notice);
        }
        Ok(Self { files, provider, notices, last: Mutex::new(certificate) })
    }

    /// The certificate in the files, or the last one that could be used.
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
                    // Said once for files in this state, however often they are tried.
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
            self.notices.give(notice);
        }
        key
    }
}

impl ResolvesServerCert for ReloadedCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn states(files: &TlsFiles) -> [Option<FileState>; 2] {
    [&files.certificate, &files.key].map(|path| FileState::of(&std::fs::metadata(path).ok()?))
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
                CertificateNotice::EndsSoon { .. } => "soon",
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
