//! The options of binding a socket, in addition to its address.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::address::Address;
#[cfg(target_os = "linux")]
use super::handover::ListeningSockets;
#[cfg(unix)]
use super::owner::SocketOwner;
#[cfg(unix)]
use super::passed::PassedSockets;
use super::proxy_protocol::ProxyProtocol;
use super::self_signed::SelfSignedCertificate;

/// Options of binding, for any kind of address.
#[derive(Clone, Debug, Default)]
pub struct BindOptions {
    /// The permissions of a Unix socket's file; `None` leaves them to the process's umask.
    pub socket_mode: Option<SocketMode>,
    /// The owner and the group of a Unix socket's file; `None` leaves them to the process.
    #[cfg(unix)]
    pub socket_owner: Option<SocketOwner>,
    /// The sockets that the service manager passed.
    #[cfg(unix)]
    pub passed: PassedSockets,
    /// The purpose of the socket. Two sockets may be requested with the same address, for instance
    /// with port 0, and the successor process must not confuse them.
    #[cfg(target_os = "linux")]
    pub purpose: &'static str,
    /// The sockets that the predecessor process has handed over, by purpose and requested address.
    #[cfg(target_os = "linux")]
    pub inherited: PassedSockets,
    /// The list in which bound sockets are entered, for the successor process.
    #[cfg(target_os = "linux")]
    pub listening: ListeningSockets,
    /// The certificate and the key of `tls://` addresses.
    pub tls: Option<TlsFiles>,
    /// The certificate of `tls://` addresses if there are no files.
    pub self_signed: Option<SelfSignedCertificate>,
    /// Whose certificates clients of `tls://` addresses present; `None` asks for none.
    pub client_certificates: Option<ClientCertificates>,
    /// The PROXY protocol, if connections begin with its header.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Whether an HTTP server speaks HTTP/2 from the first byte of each connection without TLS (RFC
    /// 9113 section 3.3).
    pub has_http2_prior_knowledge: bool,
}

impl BindOptions {
    /// Returns the name of a socket in a handover.
    #[cfg(target_os = "linux")]
    pub(super) fn handover_name(&self, address: &Address) -> String {
        format!("{} {address}", self.purpose)
    }

    /// Whether the socket at an address receives datagrams rather than connections.
    pub fn is_datagram(&self, address: &Address) -> bool {
        match address {
            #[cfg(unix)]
            Address::Passed(name) => self.passed.is_datagram(name),
            address => address.is_datagram(),
        }
    }
}

/// The PEM files of a `tls://` listener. They are read again when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key of the first certificate.
    pub key: PathBuf,
}

/// Which certificates of clients a `tls://` listener accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificates {
    /// The PEM file of the authorities that sign them. It is read again when it changes.
    pub authorities: PathBuf,
    /// Whether a client without one is refused in the handshake.
    pub are_required: bool,
}

/// The permissions of a Unix socket's file. Write permission lets a program connect or send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMode(u32);

impl SocketMode {
    /// Returns the permission bits of chmod(2), at most `0o777`.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl FromStr for SocketMode {
    type Err = SocketModeError;

    fn from_str(text: &str) -> Result<Self, SocketModeError> {
        let is_octal =
            (3..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let bits = u32::from_str_radix(text, 8).ok().filter(|bits| is_octal && *bits <= 0o777);
        bits.map(Self).ok_or_else(|| SocketModeError(text.to_owned()))
    }
}

/// The error of a text that is not a valid [`SocketMode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketModeError(String);

impl fmt::Display for SocketModeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a valid socket mode; write it in octal, as 0660 or 0666",
            self.0
        )
    }
}

impl std::error::Error for SocketModeError {}

#[cfg(test)]
mod tests {
    use super::SocketMode;

    #[test]
    fn socket_modes_are_octal_permissions() {
        for (text, bits) in [("0600", 0o600), ("666", 0o666), ("0777", 0o777)] {
            assert_eq!(text.parse::<SocketMode>().map(SocketMode::bits), Ok(bits));
        }
        for text in ["", "66", "0888", "07777", "1777", "+666", "rw", "0o66", "-066"] {
            let error = text.parse::<SocketMode>().expect_err(text).to_string();
            assert!(error.contains("in octal"), "{error}");
        }
    }
}
