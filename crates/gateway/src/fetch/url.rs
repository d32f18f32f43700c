//! URLs that may be fetched.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hyper::Uri;

/// The URL of a resource: `https://HOST[:PORT]/PATH`, `http://` for a loopback address or
/// `localhost`, or `http://unix:/SOCKET:/PATH` for a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FetchUrl {
    text: String,
    pub(super) server: FetchServer,
    /// The value of the `Host` field.
    pub(super) host: String,
    /// The path and the query, never empty.
    pub(super) target: String,
}

/// The server of a URL and its transport.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FetchServer {
    Https {
        /// A name, or an IP address without brackets.
        host: String,
        port: u16,
    },
    /// Plain http to this machine.
    Loopback {
        /// `localhost`, or an IP address without brackets.
        host: String,
        port: u16,
    },
    Unix(PathBuf),
}

const UNIX_PREFIX: &str = "http://unix:";

impl FetchUrl {
    /// Whether the server is reached over TLS.
    pub fn is_https(&self) -> bool {
        matches!(self.server, FetchServer::Https { .. })
    }

    fn parse(text: &str) -> Result<Self, FetchUrlProblem> {
        if let Some(rest) = text.strip_prefix(UNIX_PREFIX) {
            return Self::parse_unix(text, rest);
        }
        let uri: Uri = text.parse().map_err(|_| FetchUrlProblem::Malformed)?;
        let authority = uri.authority().ok_or(FetchUrlProblem::Malformed)?;
        if authority.as_str().contains('@') {
            return Err(FetchUrlProblem::Credentials);
        }
        if text.contains('#') {
            return Err(FetchUrlProblem::Malformed);
        }
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return Err(FetchUrlProblem::Scheme),
            None => return Err(FetchUrlProblem::Malformed),
        };
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let default_port = if is_https { 443 } else { 80 };
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(port) if port > 0 => port,
            None if !has_port => default_port,
            _ => return Err(FetchUrlProblem::Malformed),
        };
        if host.is_empty() {
            return Err(FetchUrlProblem::Malformed);
        }
        let server = match (is_https, is_loopback(host)) {
            (true, _) => FetchServer::Https { host: host.to_owned(), port },
            (false, true) => FetchServer::Loopback { host: host.to_owned(), port },
            (false, false) => return Err(FetchUrlProblem::PlainHttp),
        };
        let target = uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Ok(Self { text: text.to_owned(), server, host: authority.to_string(), target })
    }

    /// Parses the part after [`UNIX_PREFIX`]: the socket's path, a colon, and the resource's path.
    fn parse_unix(text: &str, rest: &str) -> Result<Self, FetchUrlProblem> {
        let (socket, target) = rest.split_once(':').unwrap_or((rest, "/"));
        let target = if target.is_empty() { "/" } else { target };
        let uri: Uri = target.parse().map_err(|_| FetchUrlProblem::Malformed)?;
        if !socket.starts_with('/') || !target.starts_with('/') || uri.authority().is_some() {
            return Err(FetchUrlProblem::Malformed);
        }
        Ok(Self {
            text: text.to_owned(),
            server: FetchServer::Unix(Path::new(socket).to_owned()),
            host: "localhost".to_owned(),
            target: target.to_owned(),
        })
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl FromStr for FetchUrl {
    type Err = InvalidFetchUrl;

    fn from_str(text: &str) -> Result<Self, InvalidFetchUrl> {
        Self::parse(text).map_err(|problem| InvalidFetchUrl { text: text.to_owned(), problem })
    }
}

impl fmt::Display for FetchUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The error for a text that is not a [`FetchUrl`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidFetchUrl {
    text: String,
    problem: FetchUrlProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchUrlProblem {
    Malformed,
    Scheme,
    PlainHttp,
    Credentials,
}

impl fmt::Display for InvalidFetchUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, problem } = self;
        match problem {
            FetchUrlProblem::Malformed => write!(
                formatter,
                "`{text}` is not a URL; write https://HOST/PATH, or http://unix:/SOCKET:/PATH for a \
                 Unix socket"
            ),
            FetchUrlProblem::Scheme => {
                write!(formatter, "`{text}` has a scheme other than https; write https://HOST/PATH")
            }
            FetchUrlProblem::PlainHttp => write!(
                formatter,
                "`{text}`: plain http is for loopback addresses and Unix sockets only, because \
                 others on the network could change the answer; use https"
            ),
            // The text contains a password, so it is not shown.
            FetchUrlProblem::Credentials => formatter.write_str(
                "the URL has credentials in front of its host; leave them out, they are not sent",
            ),
        }
    }
}

impl std::error::Error for InvalidFetchUrl {}

#[cfg(test)]
mod tests {
    use super::{FetchServer, FetchUrl};

    #[test]
    fn urls_have_a_server_and_a_target() {
        let https = |host: &str, port| FetchServer::Https { host: host.to_owned(), port };
        let loopback = |host: &str, port| FetchServer::Loopback { host: host.to_owned(), port };
        for (text, server, host, target) in [
            ("https://a.example", https("a.example", 443), "a.example", "/"),
            ("https://a.example:8443/k?x=1", https("a.example", 8443), "a.example:8443", "/k?x=1"),
            ("https://[2001:db8::1]/k", https("2001:db8::1", 443), "[2001:db8::1]", "/k"),
            ("http://127.0.0.2:81/k", loopback("127.0.0.2", 81), "127.0.0.2:81", "/k"),
            ("http://[::1]:81", loopback("::1", 81), "[::1]:81", "/"),
            ("http://LocalHost/k", loopback("LocalHost", 80), "LocalHost", "/k"),
            (
                "http://unix:/run/a.sock:/k",
                FetchServer::Unix("/run/a.sock".into()),
                "localhost",
                "/k",
            ),
            ("http://unix:/run/a.sock", FetchServer::Unix("/run/a.sock".into()), "localhost", "/"),
        ] {
            let url: FetchUrl = text.parse().unwrap();
            assert_eq!((&url.server, &url.host[..], &url.target[..]), (&server, host, target));
        }
    }

    #[test]
    fn other_texts_are_refused_with_a_reason() {
        for (text, part) in [
            ("", "is not a URL"),
            ("a.example", "is not a URL"),
            ("/k", "is not a URL"),
            ("https://", "is not a URL"),
            ("https://a:0/", "is not a URL"),
            ("https://a:/", "is not a URL"),
            ("https://a:99999/", "is not a URL"),
            ("https://a.example/k#part", "is not a URL"),
            ("http://unix:run/a.sock:/k", "is not a URL"),
            ("http://unix:/run/a.sock:k", "is not a URL"),
            ("http://unix:/run/a.sock:/k\r\nX: 1", "is not a URL"),
            ("ftp://a.example/", "other than https"),
            ("file:///etc/passwd", "is not a URL"),
            ("http://a.example/", "plain http"),
            ("http://127.0.0.1.example/", "plain http"),
            ("http://10.0.0.1/", "plain http"),
            ("http://[::ffff:10.0.0.1]/", "plain http"),
            ("https://user:hunter2@a.example/", "credentials"),
        ] {
            let message = text.parse::<FetchUrl>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
            assert!(!message.contains("hunter2"));
        }
    }
}
