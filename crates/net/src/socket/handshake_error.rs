//! The errors of TLS handshakes, in words for the operator of a server.

use std::fmt;
use std::io;

use tokio_rustls::rustls::{
    AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible,
};

/// The error of a failed TLS handshake.
#[derive(Debug)]
pub enum TlsHandshakeError {
    /// It took too long.
    TimedOut,
    /// The client does not speak TLS, or does not accept what the server offers.
    Failed(io::Error),
}

impl TlsHandshakeError {
    /// Whether the certificate of the client is refused, or is missing.
    pub(crate) fn is_of_client_certificate(&self) -> bool {
        let Self::Failed(error) = self else { return false };
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        matches!(inner, Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented))
    }
}

impl fmt::Display for TlsHandshakeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = match self {
            Self::TimedOut => return formatter.write_str("the TLS handshake timed out"),
            Self::Failed(error) => error,
        };
        formatter.write_str("the TLS handshake failed: ")?;
        match reason(error) {
            Some(reason) => formatter.write_str(reason),
            None => error.fmt(formatter),
        }
    }
}

impl std::error::Error for TlsHandshakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TimedOut => None,
            Self::Failed(error) => Some(error),
        }
    }
}

/// Returns the reason of a common failure. rustls describes it by the name of a constant.
fn reason(error: &io::Error) -> Option<&'static str> {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            Some("the client does not speak TLS")
        }
        Some(Error::NoApplicationProtocol) => {
            Some("the client offers none of the protocols that the server speaks over TLS")
        }
        Some(Error::PeerIncompatible(incompatible)) => incompatibility(incompatible),
        Some(Error::AlertReceived(alert)) => refusal(*alert),
        Some(Error::NoCertificatesPresented) => {
            Some("the client has sent no certificate, and one is required")
        }
        Some(Error::InvalidCertificate(fault)) => certificate_fault(fault),
        Some(_) => None,
        None => match error.kind() {
            io::ErrorKind::UnexpectedEof => Some("the client closed the connection"),
            io::ErrorKind::ConnectionReset => Some("the client reset the connection"),
            _ => None,
        },
    }
}

/// Returns why the server cannot use what the client offers.
fn incompatibility(incompatible: &PeerIncompatible) -> Option<&'static str> {
    match incompatible {
        PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled
        | PeerIncompatible::SupportedVersionsExtensionRequired => {
            Some("the client supports neither TLS 1.2 nor TLS 1.3")
        }
        PeerIncompatible::NoCipherSuitesInCommon => {
            Some("the client and the server have no cipher suite in common")
        }
        PeerIncompatible::NoKxGroupsInCommon | PeerIncompatible::NamedGroupsExtensionRequired => {
            Some("the client and the server have no key exchange in common")
        }
        PeerIncompatible::NoSignatureSchemesInCommon => {
            Some("the client accepts no signature that the certificate's key can make")
        }
        _ => None,
    }
}

/// Returns what is wrong with the certificate of the client.
fn certificate_fault(fault: &CertificateError) -> Option<&'static str> {
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            Some("the certificate of the client has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Some("the certificate of the client is not valid yet")
        }
        CertificateError::UnknownIssuer => {
            Some("the certificate of the client is not signed by one of the authorities")
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            Some("the certificate of the client is not for clients (extended key usage)")
        }
        _ => None,
    }
}

/// Returns why the client refused the handshake (RFC 8446 section 6.2).
fn refusal(alert: AlertDescription) -> Option<&'static str> {
    match alert {
        AlertDescription::CloseNotify | AlertDescription::UserCanceled => {
            Some("the client ended it")
        }
        AlertDescription::UnknownCA => {
            Some("the client does not trust the issuer of the certificate")
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown => {
            Some("the client does not accept the certificate")
        }
        AlertDescription::CertificateExpired => {
            Some("to the client the certificate has expired or is not valid yet")
        }
        AlertDescription::CertificateRevoked => {
            Some("to the client the certificate has been revoked")
        }
        AlertDescription::ProtocolVersion => {
            Some("the client does not support the version of TLS that the server chose")
        }
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            Some("the client does not accept the encryption that the server offers")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tokio_rustls::rustls::{
        AlertDescription, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved,
    };

    use super::TlsHandshakeError;

    fn shown(error: io::Error) -> String {
        let text = TlsHandshakeError::Failed(error).to_string();
        text.strip_prefix("the TLS handshake failed: ").expect("says what failed").to_owned()
    }

    #[test]
    fn common_failures_are_plain_sentences() {
        for (error, expected) in [
            (
                Error::InvalidMessage(InvalidMessage::InvalidContentType),
                "the client does not speak TLS",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled),
                "the client supports neither TLS 1.2 nor TLS 1.3",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "the client and the server have no cipher suite in common",
            ),
            (
                Error::AlertReceived(AlertDescription::UnknownCA),
                "the client does not trust the issuer of the certificate",
            ),
            (
                Error::AlertReceived(AlertDescription::CertificateUnknown),
                "the client does not accept the certificate",
            ),
            (
                Error::AlertReceived(AlertDescription::BadCertificate),
                "the client does not accept the certificate",
            ),
            (
                Error::AlertReceived(AlertDescription::CertificateExpired),
                "to the client the certificate has expired or is not valid yet",
            ),
            (
                Error::AlertReceived(AlertDescription::ProtocolVersion),
                "the client does not support the version of TLS that the server chose",
            ),
            (
                Error::NoApplicationProtocol,
                "the client offers none of the protocols that the server speaks over TLS",
            ),
        ] {
            assert_eq!(shown(io::Error::new(io::ErrorKind::InvalidData, error)), expected);
        }
        assert_eq!(shown(io::ErrorKind::UnexpectedEof.into()), "the client closed the connection");
        assert_eq!(shown(io::ErrorKind::ConnectionReset.into()), "the client reset the connection");
    }

    #[test]
    fn rare_failures_are_described_by_the_library() {
        let error = Error::PeerMisbehaved(PeerMisbehaved::MessageInterleavedWithHandshakeMessage);
        let expected = error.to_string();
        assert_eq!(shown(io::Error::new(io::ErrorKind::InvalidData, error)), expected);
    }
}
