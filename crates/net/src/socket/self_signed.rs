//! A self-signed certificate, created in memory.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use ring::digest::{SHA256, digest};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The validity of a certificate. Some browsers refuse certificates of more than 398 days.
const VALIDITY: Duration = Duration::from_secs(397 * 24 * 60 * 60);

/// A self-signed TLS certificate, with an ECDSA key on P-256 (RFC 5480). Both are kept only in
/// memory, so a server has a new one each time it starts.
///
/// No client trusts it by default. A person compares its [fingerprint](Self::fingerprint) once with
/// the one that the browser shows.
#[derive(Clone)]
pub struct SelfSignedCertificate {
    pub(crate) key: Arc<CertifiedKey>,
    fingerprint: String,
}

impl SelfSignedCertificate {
    /// Creates a certificate for host names and IP addresses. It is valid for 397 days, from a day
    /// ago, because clocks differ.
    ///
    /// # Errors
    /// If a name cannot be in a certificate, or the system has no random numbers.
    pub fn new(names: impl IntoIterator<Item = String>) -> Result<Self, SelfSignedError> {
        let failed = |error: &dyn fmt::Display| SelfSignedError(error.to_string());
        let pair = KeyPair::generate().map_err(|error| failed(&error))?;
        let names: Vec<String> = names.into_iter().collect();
        let mut parameters = CertificateParams::new(names).map_err(|error| failed(&error))?;
        parameters.distinguished_name.push(DnType::CommonName, "Weir, signed by itself");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        parameters.not_before = rcgen::date_time_ymd(1970, 1, 1) + now.saturating_sub(DAY);
        parameters.not_after = parameters.not_before + VALIDITY;
        let certificate = parameters.self_signed(&pair).map_err(|error| failed(&error))?;
        let chain = vec![certificate.der().clone()];
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let fingerprint = fingerprint(&chain[0]);
        let key = CertifiedKey::from_der(chain, private, &default_provider());
        let key = Arc::new(key.map_err(|error| failed(&error))?);
        Ok(Self { key, fingerprint })
    }

    /// Returns the certificate in DER (ITU-T X.690), for a client that is to trust it.
    pub fn der(&self) -> &[u8] {
        self.key.cert.first().map_or(&[], |certificate| certificate)
    }

    /// Returns the SHA-256 of the certificate as browsers show it: 32 bytes, `AB:CD:` and so on.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

fn fingerprint(certificate: &[u8]) -> String {
    let bytes = digest(&SHA256, certificate);
    let bytes: Vec<String> = bytes.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

impl fmt::Debug for SelfSignedCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SelfSignedCertificate").field(&self.fingerprint).finish()
    }
}

/// The error of creating a [`SelfSignedCertificate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfSignedError(String);

impl fmt::Display for SelfSignedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a certificate cannot be created: {}", self.0)
    }
}

impl std::error::Error for SelfSignedError {}

#[cfg(test)]
mod tests {
    use super::{SelfSignedCertificate, fingerprint};

    #[test]
    fn fingerprints_have_the_form_of_browsers() {
        // NIST's example of SHA-256 (FIPS 180-2, appendix B.1).
        let expected = "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:\
                        B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD";
        assert_eq!(fingerprint(b"abc"), expected);
    }

    #[test]
    fn each_certificate_has_a_key_of_its_own() {
        let names = || ["localhost".to_owned(), "192.0.2.1".to_owned(), "::1".to_owned()];
        let [one, other] = [(); 2].map(|()| SelfSignedCertificate::new(names()).unwrap());
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert!(!format!("{one:?}").contains("key"), "the key is not printed");
        let error = SelfSignedCertificate::new(["na\u{ef}ve".to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with("a certificate cannot be created: "), "{error}");
    }
}
