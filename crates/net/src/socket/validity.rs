//! The validity period of a certificate (RFC 5280 section 4.1.2.5).

use std::time::{Duration, SystemTime};

use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

/// The validity period of a certificate: its first and its last second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
}

/// Reads the validity period of a certificate. Returns `None` if it cannot be read.
///
/// The verifier checks the period first, and its error contains the violated bound. So the
/// certificate is verified at the earliest and the latest time, which saves a second parser.
pub(crate) fn read(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let violation = |seconds| {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let usage = KeyUsage::server_auth();
        certificate.verify_for_usage(&[], &[], &[], time, usage, None, None).err()
    };
    let start = match violation(0) {
        Some(Error::CertNotValidYet { not_before, .. }) => not_before.as_secs(),
        _ => 0,
    };
    let Some(Error::CertExpired { not_after, .. }) = violation(u64::MAX) else { return None };
    let time = |seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    Some(Validity { start: time(start)?, end: time(not_after.as_secs())? })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use tokio_rustls::rustls::pki_types::CertificateDer;

    use super::{Validity, read};

    #[test]
    fn the_validity_is_that_of_the_certificate() {
        let day = |count: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(count * 86_400);
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        parameters.not_before = day(20_000).into();
        parameters.not_after = day(20_090).into();
        let certificate = parameters.self_signed(&key).unwrap();
        let expected = Validity { start: day(20_000), end: day(20_090) };
        assert_eq!(read(certificate.der()), Some(expected));
        assert_eq!(read(&CertificateDer::from(b"no certificate".to_vec())), None);
    }
}
