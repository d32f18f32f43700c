//! The scheme of the URL by which a request came.

/// `http` or `https`, as the connection tells; never what a header claims.
///
/// It is an extension of each request that did not come over `http`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// A connection without encryption.
    #[default]
    Http,
    /// A connection over TLS.
    Https,
}

impl Scheme {
    /// The scheme of a request, from its extensions.
    pub fn of<B>(request: &hyper::Request<B>) -> Self {
        request.extensions().get().copied().unwrap_or_default()
    }

    /// The scheme in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that a URL means if it names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}
