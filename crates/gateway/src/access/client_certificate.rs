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
    /// The names of which it must have one; all if empty.
    pub names: Vec<ClientName>,
    /// Header fields, and what they tell the backend.
    pub fields: Vec<(HeaderName, CertificatePart)>,
}

/// A name that the certificate of a client may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientName {
    /// The distinguished name of its subject (RFC 4514).
    Subject(String),
    /// One of its DNS names.
    Dns(String),
    /// One of its URIs.
    Uri(String),
}

impl ClientName {
    /// Reads a name with its kind, such as `dns:billing.internal`. A name without one must have the
    /// form of one kind only, so that no certificate passes by a name of another kind.
    pub(crate) fn read(text: &str) -> Option<Self> {
        type Kind = fn(String) -> ClientName;
        let kinds: [(&str, Kind); 3] =
            [("subject", Self::Subject), ("dns", Self::Dns), ("uri", Self::Uri)];
        if let Some((prefix, name)) = text.split_once(':')
            && let Some((_, kind)) = kinds.iter().find(|(known, _)| *known == prefix)
        {
            return (!name.is_empty()).then(|| kind(name.to_owned()));
        }
        let is_word = |word: &str, others: &str| {
            let is_part = |it: char| it.is_ascii_alphanumeric() || others.contains(it);
            !word.is_empty() && word.chars().all(is_part)
        };
        let begins = |end, others| {
            text.split_once(end)
                .is_some_and(|(word, rest)| is_word(word, others) && !rest.is_empty())
        };
        let kind: Kind = if is_word(text, "-._*") {
            Self::Dns
        } else if begins(':', "+-.") {
            Self::Uri
        } else if begins('=', ".") {
            Self::Subject
        } else {
            return None;
        };
        Some(kind(text.to_owned()))
    }

    fn is_of(&self, certificate: &ClientCertificate) -> bool {
        match self {
            Self::Subject(name) => **certificate.subject() == **name,
            Self::Dns(name) => certificate.dns_names().contains(name),
            Self::Uri(name) => certificate.uris().contains(name),
        }
    }
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
        self.names.is_empty() || self.names.iter().any(|name| name.is_of(certificate))
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

#[cfg(test)]
mod tests {
    use super::ClientName;

    #[test]
    fn a_name_has_one_kind() {
        let (subject, dns, uri) = (ClientName::Subject, ClientName::Dns, ClientName::Uri);
        for (text, kind, name) in [
            ("billing.internal", dns as fn(String) -> ClientName, "billing.internal"),
            ("*.internal", dns, "*.internal"),
            ("dns:CN=x", dns, "CN=x"),
            ("spiffe://shop/billing?a=b", uri, "spiffe://shop/billing?a=b"),
            ("urn:shop:billing", uri, "urn:shop:billing"),
            ("uri:dns:billing", uri, "dns:billing"),
            ("CN=batch,O=Shop", subject, "CN=batch,O=Shop"),
            ("CN=spiffe://shop", subject, "CN=spiffe://shop"),
            ("2.5.4.3=x", subject, "2.5.4.3=x"),
            ("subject:spiffe://shop", subject, "spiffe://shop"),
        ] {
            assert_eq!(ClientName::read(text), Some(kind(name.to_owned())), "{text}");
        }
        for text in ["", "a b", "dns:", "CN=", "x:", "=x", "://x", "a/b", "a,CN=b"] {
            assert_eq!(ClientName::read(text), None, "{text}");
        }
    }
}
