//! The header fields that the gateway adds to an answer, a refusal included.

use std::sync::Arc;

use hyper::header::{ALLOW, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use hyper::{Response, StatusCode};
use weir_net::Body;

use crate::access::challenge::Challenges;
use crate::access::cors::CorsAnswer;
use crate::identifiers::X_REQUEST_ID;
use crate::limits::QuotaSnapshot;
use crate::route::changes::RouteChanges;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The fields of one answer, noted while its request is checked.
#[derive(Debug, Default)]
pub(crate) struct AnswerFields {
    pub(crate) request_id: Option<HeaderValue>,
    /// The client's remaining quota.
    pub(crate) quota: Option<QuotaSnapshot>,
    pub(crate) cors: Option<Box<CorsAnswer>>,
    /// The methods that the path has, if the request has another.
    pub(crate) allowed_methods: Option<HeaderValue>,
    /// What the route changes, if anything.
    pub(crate) changes: Option<Arc<RouteChanges>>,
    /// The challenges of the route, if it has its own.
    pub(crate) challenges: Option<Arc<Challenges>>,
    /// The WebSocket subprotocol by which the client sent its token. A browser closes a WebSocket
    /// that it opened with subprotocols if none is chosen.
    pub(crate) subprotocol: Option<HeaderValue>,
}

impl AnswerFields {
    pub(crate) fn apply(self, response: &mut Response<Body>) {
        let is_switch = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        if let Some(changes) = self.changes {
            changes.change_answer(headers);
        }
        if let Some(quota) = self.quota {
            add_quota(headers, &quota);
        }
        if let Some(id) = self.request_id {
            headers.insert(X_REQUEST_ID, id);
        }
        if let Some(methods) = self.allowed_methods {
            headers.insert(ALLOW, methods);
        }
        if let Some(cors) = self.cors {
            cors.apply(headers);
        }
        if let Some(subprotocol) = self.subprotocol.filter(|_| is_switch) {
            headers.entry(SEC_WEBSOCKET_PROTOCOL).or_insert(subprotocol);
        }
    }
}

/// Adds the `RateLimit` fields with the client's remaining quota.
fn add_quota(headers: &mut HeaderMap, quota: &QuotaSnapshot) {
    let (policy, quota) = quota.header_values();
    for (name, value) in [
        (RATE_LIMIT_POLICY, HeaderValue::from_str(policy)),
        (RATE_LIMIT, HeaderValue::try_from(quota)),
    ] {
        if let Ok(value) = value {
            headers.insert(name, value);
        }
    }
}
