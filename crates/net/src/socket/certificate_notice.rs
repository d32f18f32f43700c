//! Notices about the certificate of a listener, for the operator.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use httpdate::fmt_http_date;

/// A notice about the certificate of a listener. It displays as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateNotice {
    /// The certificate expires soon.
    ExpiresSoon {
        /// The file of the certificate.
        path: PathBuf,
        /// The end of its validity.
        end: SystemTime,
    },
    /// The certificate has expired. Clients refuse it.
    Expired {
        /// The file of the certificate.
        path: PathBuf,
        /// The end of its validity.
        end: SystemTime,
    },
    /// The certificate is not valid yet. Clients refuse it.
    NotValidYet {
        /// The file of the certificate.
        path: PathBuf,
        /// The beginning of its validity.
        start: SystemTime,
    },
    /// The files have changed and were read again.
    Replaced {
        /// The file of the certificate.
        path: PathBuf,
    },
    /// The files have changed and cannot be used. The last certificate stays.
    Kept {
        /// The file of the certificate.
        path: PathBuf,
        /// The file that cannot be used, and the reason.
        reason: String,
    },
}

impl CertificateNotice {
    /// Returns the file of the certificate.
    pub fn path(&self) -> &Path {
        match self {
            Self::ExpiresSoon { path, .. }
            | Self::Expired { path, .. }
            | Self::NotValidYet { path, .. }
            | Self::Replaced { path }
            | Self::Kept { path, .. } => path,
        }
    }
}

impl fmt::Display for CertificateNotice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExpiresSoon { path, end } => write!(
                formatter,
                "{}: the certificate expires soon, on {}; replace the file before then",
                path.display(),
                fmt_http_date(*end)
            ),
            Self::Expired { path, end } => write!(
                formatter,
                "{}: the certificate expired on {}, so clients refuse it; replace the file",
                path.display(),
                fmt_http_date(*end)
            ),
            Self::NotValidYet { path, start } => write!(
                formatter,
                "{}: the certificate is not valid before {}, so clients refuse it until then; check the \
                 system's clock, or replace the file",
                path.display(),
                fmt_http_date(*start)
            ),
            Self::Replaced { path } => {
                write!(formatter, "{}: the certificate was read again", path.display())
            }
            Self::Kept { path, reason } => write!(
                formatter,
                "{}: the certificate has changed and cannot be used, so the last one stays: {reason}",
                path.display()
            ),
        }
    }
}

/// The receiver of certificate notices, by default none. It is called during a handshake, so it
/// must not block.
#[derive(Clone, Default)]
pub struct CertificateNotices(Option<Arc<dyn Fn(CertificateNotice) + Send + Sync>>);

impl CertificateNotices {
    /// Creates a receiver that calls a function with each notice.
    pub fn new(receive: impl Fn(CertificateNotice) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receive)))
    }

    pub(crate) fn send(&self, notice: CertificateNotice) {
        if let Some(receive) = &self.0 {
            receive(notice);
        }
    }
}

impl fmt::Debug for CertificateNotices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CertificateNotices").field(&self.0.is_some()).finish()
    }
}
