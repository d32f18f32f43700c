//! What a route asks of the certificate of a client, and tells its backend of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderName, HeaderValue};
use weir_net::socket::ClientCertificate;

use super::forwarded_claims::UserFields;

/// The longest value of a forwarded field, in bytes.
const VALUE_BYTES_MAX: usize = 8 << 10;

/// What a route does with the certificate of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateRule {
    /// Whether a request needs one.
    pub is_required: bool,
    /// The subjects and alternative names of which it must have one; all if empty.
    pub names: Vec<String>,
    /// Header fields, and what they tell the backend.
    pub fields: Vec<(HeaderName, CertificatePart)>,
}

/// What a header field tells of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificatePart {
    /// The whole certificate, as `Client-Cert` has it (RFC 9440 section 2.1).
    Certificate,
    /// The distinguished name of the subject (RFC 4514).
    Subject,
    /// The DNS names and URIs of the subject, with commas between them.
    Names,
}

/// Why a certificate does not pass a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CertificateFault {
    /// The route needs one, and the client has presented none.
    Missing,
    /// It has expired since the connection began.
    Expired,
    /// It has none of the names that the route accepts.
    Other,
    /// What the backend is to learn of it does not fit into a header field.
    Unusable,
}

impl CertificateRule {
    /// Checks the certificate of a request.
    ///
    /// # Errors
    /// If the route needs one, and the client has none or another one.
    pub(crate) fn check(
        &self,
        certificate: Option<&ClientCertificate>,
    ) -> Result<(), CertificateFault> {
        match certificate {
            _ if !self.is_required => Ok(()),
            None => Err(CertificateFault::Missing),
            Some(certificate) if self.accepts(certificate) => Ok(()),
            Some(_) => Err(CertificateFault::Other),
        }
    }

    fn accepts(&self, certificate: &ClientCertificate) -> bool {
        let has =
            |name: &String| certificate.names().contains(name) || **certificate.subject() == **name;
        self.names.is_empty() || self.names.iter().any(has)
    }

    /// Adds the fields for a certificate. Without one there are none, and what it does not have leaves
    /// its field out.
    ///
    /// # Errors
    /// If something does not fit into a field.
    pub(crate) fn tell(
        &self,
        certificate: Option<&ClientCertificate>,
        user: &mut UserFields,
    ) -> Result<(), CertificateFault> {
        let Some(certificate) = certificate else { return Ok(()) };
        for (name, part) in &self.fields {
            let text = part.text(certificate).ok_or(CertificateFault::Unusable)?;
            if !text.is_empty() {
                let value = HeaderValue::try_from(text);
                let value = value.map_err(|_| CertificateFault::Unusable)?;
                user.fields.push((name.clone(), value));
            }
        }
        Ok(())
    }
}

impl CertificatePart {
    /// Returns the text of a field; `None` if it is too long or could be read as another one.
    fn text(self, certificate: &ClientCertificate) -> Option<String> {
        let text = match self {
            Self::Certificate => format!(":{}:", STANDARD.encode(certificate.der())),
            Self::Subject => certificate.subject().to_string(),
            Self::Names => {
                let is_plain = |name: &String| {
                    name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
                };
                let names = certificate.names();
                names.iter().all(is_plain).then(|| names.join(","))?
            }
        };
        // A server removes the spaces around a value.
        let fits = text.len() <= VALUE_BYTES_MAX && text.trim().len() == text.len();
        fits.then_some(text)
    }
}
