//! Refusals: the gateway's own answers.

use std::time::Duration;

use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use weir_net::Body;

use crate::access::challenge::{Challenge, Challenges};
use crate::access::client_certificate::CertificateFault;
use crate::access::token_place::TokenPlaceError;
use crate::forward::ForwardError;
use crate::limits::Rejection;
use crate::request::target::TargetError;
use crate::token::TokenRefusal;

/// A refusal of a request: its status, body and reason.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    status: StatusCode,
    /// The name in records.
    reason: &'static str,
    /// The body of the answer.
    text: &'static str,
    field: Field,
}

/// A header field of the answer.
#[derive(Debug, Clone, Copy)]
enum Field {
    None,
    /// The methods that servers know, unless the path has its own.
    Allow,
    Challenge(Challenge),
    RetryAfter(Duration),
}

impl Refusal {
    /// No route matches the request.
    pub(crate) const NO_ROUTE: Self =
        Self::new(StatusCode::NOT_FOUND, "no_route", "there is nothing here\n");
    /// The route's issuer does not exist.
    pub(crate) const NO_ISSUER: Self =
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "no_issuer", "this service is not set up\n");
    /// The token's claim selects no backend.
    pub(crate) const NO_BACKEND: Self =
        Self::new(StatusCode::FORBIDDEN, "no_backend", "there is no service for you here\n");
    /// The gateway could not log in to the backend.
    pub(crate) const NO_SESSION: Self =
        Self::new(StatusCode::BAD_GATEWAY, "no_session", "the service did not let us in\n");
    /// The token has no subject, which a session needs.
    pub(crate) const NO_SUBJECT: Self =
        Self::new(StatusCode::FORBIDDEN, "no_subject", "there is no service for you here\n");
    /// The lookup service did not answer, or named a backend that does not exist.
    pub(crate) const NO_LOOKUP: Self =
        Self::new(StatusCode::BAD_GATEWAY, "no_lookup", "the service could not be found\n");

    /// The answer to a preflight of an origin that may call the route, in fields of CORS.
    pub(crate) const PREFLIGHT: Self = Self::new(StatusCode::NO_CONTENT, "preflight", "");
    /// A page of this origin may not call the route.
    pub(crate) const OTHER_ORIGIN: Self = Self::new(
        StatusCode::FORBIDDEN,
        "other_origin",
        "pages of this origin may not call this service\n",
    );
    /// The token lacks what the route requires (RFC 6750 section 3.1).
    pub(crate) const INSUFFICIENT_SCOPE: Self = Self {
        field: Field::Challenge(Challenge::InsufficientScope),
        ..Self::new(
            StatusCode::FORBIDDEN,
            "insufficient_scope",
            "your token does not permit this here\n",
        )
    };
    /// A claim that the backend is to learn has no form that fits into a header field.
    pub(crate) const UNUSABLE_CLAIM: Self =
        Self::new(StatusCode::FORBIDDEN, "unusable_claim", "there is no service for you here\n");

    const fn new(status: StatusCode, reason: &'static str, text: &'static str) -> Self {
        Self { status, reason, text, field: Field::None }
    }

    pub(crate) fn reason(&self) -> &'static str {
        self.reason
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The size of the body in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn response(&self, challenges: &Challenges) -> Response<Body> {
        let mut response = Response::new(Body::from(self.text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if !self.text.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        }
        match self.field {
            Field::None => {}
            Field::Allow => {
                headers.insert(ALLOW, HeaderValue::from_static(KNOWN_METHODS));
            }
            Field::Challenge(challenge) => {
                headers.insert(WWW_AUTHENTICATE, challenges.field(challenge));
            }
            Field::RetryAfter(wait) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs()));
            }
        }
        response
    }
}

/// The methods in `Allow` of a refusal for which no route was looked for, or whose route takes them all.
const KNOWN_METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// The `Retry-After` of a refusal because the issuer's keys, or the issuer, are unavailable.
const KEYS_PAUSE: Duration = Duration::from_secs(10);

impl From<TargetError> for Refusal {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Method => {
                let text = "this method is not allowed here\n";
                let status = StatusCode::METHOD_NOT_ALLOWED;
                Self { field: Field::Allow, ..Self::new(status, "method_not_allowed", text) }
            }
            TargetError::Host => {
                let text = "a request needs exactly one valid host\n";
                Self::new(StatusCode::BAD_REQUEST, "invalid_host", text)
            }
            TargetError::Path => {
                let text = "the path could mean another one; write it without dots, empty segments and \
                            encoded slashes\n";
                Self::new(StatusCode::BAD_REQUEST, "ambiguous_path", text)
            }
        }
    }
}

impl From<CertificateFault> for Refusal {
    fn from(fault: CertificateFault) -> Self {
        let (name, text) = match fault {
            CertificateFault::Missing => {
                ("no_client_certificate", "a client certificate is needed here\n")
            }
            CertificateFault::Expired => (
                "no_client_certificate",
                "your client certificate has expired; connect again with another one\n",
            ),
            CertificateFault::Other => {
                ("other_client_certificate", "your client certificate does not permit this here\n")
            }
            CertificateFault::Unusable => {
                ("unusable_certificate", "there is no service for you here\n")
            }
        };
        Self::new(StatusCode::FORBIDDEN, name, text)
    }
}

impl From<TokenRefusal> for Refusal {
    fn from(refusal: TokenRefusal) -> Self {
        // Not 401: the client must not discard a valid token because of it.
        if matches!(refusal, TokenRefusal::KeysUnavailable | TokenRefusal::NotIntrospected) {
            let text = "tokens cannot be checked at the moment\n";
            let field = Field::RetryAfter(KEYS_PAUSE);
            return Self {
                field,
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, refusal.name(), text)
            };
        }
        let text = "a valid token is needed here\n";
        let challenge = match refusal.was_token_sent() {
            true => Challenge::InvalidToken,
            false => Challenge::NoToken,
        };
        let field = Field::Challenge(challenge);
        Self { field, ..Self::new(StatusCode::UNAUTHORIZED, refusal.name(), text) }
    }
}

impl From<TokenPlaceError> for Refusal {
    fn from(error: TokenPlaceError) -> Self {
        match error {
            TokenPlaceError::Several => TokenRefusal::SeveralTokens.into(),
            TokenPlaceError::Malformed => TokenRefusal::MalformedField.into(),
            TokenPlaceError::OtherOrigin => Self::OTHER_ORIGIN,
        }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        let wait = rejection.retry_after_s.map(Duration::from_secs);
        let field = wait.map_or(Field::None, Field::RetryAfter);
        let text = "there were too many requests\n";
        Self { field, ..Self::new(StatusCode::TOO_MANY_REQUESTS, "limited", text) }
    }
}

impl From<ForwardError> for Refusal {
    fn from(error: ForwardError) -> Self {
        Self::new(error.status(), error.name(), "the service did not answer\n")
    }
}
