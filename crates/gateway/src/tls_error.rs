//! Failures of TLS handshakes with servers, as sentences for the operator.

use std::fmt;
use std::io;

use tokio_rustls::rustls::{CertificateError, Error};

/// Shows an error of a connection. If it is about the certificate of a server, says what to do.
pub(crate) struct ConnectionFault<'a>(pub(crate) &'a io::Error);

impl fmt::Display for ConnectionFault<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        match inner {
            Some(Error::InvalidCertificate(fault)) => write_certificate(formatter, fault),
            Some(Error::NoApplicationProtocol) => formatter.write_str(
                "it does not speak the version of HTTP that `http2` of the backend sets",
            ),
            _ => error.fmt(formatter),
        }
    }
}

fn write_certificate(formatter: &mut fmt::Formatter<'_>, fault: &CertificateError) -> fmt::Result {
    formatter.write_str(match fault {
        CertificateError::UnknownIssuer => {
            "no trusted authority has signed its certificate; name the authority in `ca_file`"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it, or set the clock of this machine"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; set the clock of this machine"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name; use a name that the certificate has"
        }
        CertificateError::Revoked => "its certificate is revoked; renew it",
        CertificateError::BadSignature => "the signature of its certificate is wrong; renew it",
        CertificateError::BadEncoding => "its certificate is malformed; renew it",
        CertificateError::Other(other) => return write_other(formatter, &other.to_string()),
        other => return write!(formatter, "its certificate cannot be used: {other}"),
    })
}

/// Shows a fault for which rustls has no name of its own, by the name of webpki.
fn write_other(formatter: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    match name {
        "CaUsedAsEndEntity" => formatter.write_str(
            "its certificate is that of an authority (CA:TRUE), not of a server; sign a server's \
             certificate with it",
        ),
        "EndEntityUsedAsCa" => formatter.write_str(
            "its certificate is signed by one that is not of an authority; name the authority in \
             `ca_file`",
        ),
        other => write!(formatter, "its certificate cannot be used ({other})"),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use tokio_rustls::rustls::{CertificateError, Error, OtherError};

    use super::ConnectionFault;

    #[test]
    fn faults_of_certificates_are_sentences() {
        let named = |name: &str| {
            CertificateError::Other(OtherError(Arc::new(io::Error::other(name.to_owned()))))
        };
        for (fault, part) in [
            (CertificateError::UnknownIssuer, "`ca_file`"),
            (CertificateError::Expired, "renew it"),
            (CertificateError::NotValidForName, "another name"),
            (named("CaUsedAsEndEntity"), "is that of an authority (CA:TRUE), not of a server"),
            (named("Strange"), "cannot be used (Strange)"),
        ] {
            let error = io::Error::other(Error::InvalidCertificate(fault));
            let shown = ConnectionFault(&error).to_string();
            assert!(shown.contains(part) && !shown.contains("Error"), "{shown}");
        }
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(ConnectionFault(&refused).to_string(), refused.to_string());
    }
}
