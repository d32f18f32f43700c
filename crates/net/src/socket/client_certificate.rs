//! The certificate of a client.

use std::sync::Arc;
use std::time::SystemTime;

use tokio_rustls::rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::distinguished_name;
use super::validity;

/// The longest text of a subject, in bytes. It becomes a part of records and header fields.
const SUBJECT_BYTES_MAX: usize = 2 << 10;

/// The certificate that a client has presented in its TLS handshake, which has verified it.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    der: Vec<u8>,
    subject: Arc<str>,
    /// The DNS names, and after them the URIs.
    names: Vec<String>,
    dns_names: usize,
    end: SystemTime,
}

impl ClientCertificate {
    /// Reads a certificate in DER. Returns `None` if it is malformed, or if the text of its subject is
    /// longer than 2 KiB.
    pub(crate) fn read(certificate: &CertificateDer<'_>) -> Option<Self> {
        let parsed = EndEntityCert::try_from(certificate).ok()?;
        let subject = distinguished_name::text_of(parsed.subject())?;
        let mut names: Vec<String> = parsed.valid_dns_names().map(str::to_owned).collect();
        let dns_names = names.len();
        names.extend(parsed.valid_uri_names().map(str::to_owned));
        let end = validity::read(certificate)?.end;
        let subject = (subject.len() <= SUBJECT_BYTES_MAX).then(|| subject.into())?;
        Some(Self { der: certificate.to_vec(), subject, names, dns_names, end })
    }

    /// Returns the certificate in DER (X.690).
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the distinguished name of the subject (RFC 4514), as nginx's `$ssl_client_s_dn`: at most
    /// 2 KiB of visible ASCII characters and spaces. It is empty if the certificate has none.
    pub fn subject(&self) -> &Arc<str> {
        &self.subject
    }

    /// Returns the DNS names and URIs among the subject's alternative names (RFC 5280 section
    /// 4.2.1.6).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the DNS names among them.
    pub fn dns_names(&self) -> &[String] {
        self.names.get(..self.dns_names).unwrap_or_default()
    }

    /// Returns the URIs among them.
    pub fn uris(&self) -> &[String] {
        self.names.get(self.dns_names..).unwrap_or_default()
    }

    /// Whether the validity has not ended. A connection may live longer.
    pub(crate) fn is_current(&self, now: SystemTime) -> bool {
        now <= self.end
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rcgen::{CertificateParams, DnType, KeyPair, SanType, string::Ia5String};
    use tokio_rustls::rustls::pki_types::CertificateDer;

    use super::ClientCertificate;

    #[test]
    fn a_certificate_names_its_subject() {
        let second = |count| SystemTime::UNIX_EPOCH + Duration::from_secs(count);
        let mut parameters = CertificateParams::new(["billing.internal".to_owned()]).unwrap();
        let uri = Ia5String::try_from("spiffe://shop/billing").unwrap();
        parameters.subject_alt_names.push(SanType::URI(uri));
        parameters.distinguished_name.push(DnType::CommonName, "billing");
        parameters.not_after = second(2_000_000_000).into();
        let sign = |parameters: &CertificateParams| {
            let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
            ClientCertificate::read(certificate.der())
        };
        let read = sign(&parameters).unwrap();
        assert_eq!(&**read.subject(), "CN=billing");
        assert_eq!(read.names(), ["billing.internal", "spiffe://shop/billing"]);
        assert!(read.is_current(second(2_000_000_000)));
        assert!(!read.is_current(second(2_000_000_001)));
        parameters.distinguished_name.push(DnType::CommonName, "x".repeat(2_100));
        assert_eq!(sign(&parameters), None);
        assert_eq!(ClientCertificate::read(&CertificateDer::from(b"none".to_vec())), None);
    }
}
