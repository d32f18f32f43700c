//! The recorded parts of a request's head.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderName, HeaderValue, REFERER, USER_AGENT};
use hyper::{Method, Request, Uri, Version};

/// The recorded parts of a request's head.
#[derive(Debug)]
pub(crate) struct RequestHead {
    /// The address of the client, if it is known.
    pub(crate) client: Option<IpAddr>,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) host: Option<HeaderValue>,
    pub(crate) referer: Option<HeaderValue>,
    pub(crate) user_agent: Option<HeaderValue>,
}

impl RequestHead {
    pub(crate) fn new<B>(request: &Request<B>, client: Option<IpAddr>) -> Self {
        let field = |name: &HeaderName| request.headers().get(name).cloned();
        // The host of an absolute target replaces `Host` (RFC 9112 section 3.2.2).
        let of_target = request.uri().authority();
        let of_target = of_target.and_then(|it| HeaderValue::from_str(it.as_str()).ok());
        Self {
            client,
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            host: of_target.or_else(|| field(&HOST)),
            referer: field(&REFERER),
            user_agent: field(&USER_AGENT),
        }
    }
}
