//! The scheme of a request's URL.

/// The scheme of a request, `http` or `https`, taken from the connection and never from a header.
///
/// It is an extension of each request that did not arrive over `http`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// A connection without encryption.
    #[default]
    Http,
    /// A connection over TLS.
    Https,
}

impl Scheme {
    /// Returns the scheme of a request, from its extensions.
    pub fn of<B>(request: &hyper::Request<B>) -> Self {
        request.extensions().get().copied().unwrap_or_default()
    }

    /// Returns the scheme as it is written in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}
