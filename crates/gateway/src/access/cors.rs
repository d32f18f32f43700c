//! Calls of pages of other origins (the Fetch standard, section 3.3, "CORS protocol").
//!
//! A browser asks before it sends such a call with a token: a preflight, which has no token itself.
//! It shows the page only answers that name its origin, refusals included. On a route with these
//! settings the gateway speaks for the backend, whose own fields are removed.

use std::time::Duration;

use hyper::Method;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;

use crate::header_fields::remove_cors;

/// Which pages of other origins may call a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorsConfig {
    /// The origins of the pages.
    pub origins: AllowedOrigins,
    /// The value of `Access-Control-Allow-Methods`.
    pub methods: HeaderValue,
    /// The value of `Access-Control-Allow-Headers`; `None` allows the fields that are asked for.
    pub fields: Option<HeaderValue>,
    /// The value of `Access-Control-Expose-Headers`, if there is one.
    pub exposed_fields: Option<HeaderValue>,
    /// Whether browsers send cookies.
    pub has_credentials: bool,
    /// How long browsers remember a preflight.
    pub max_age: Duration,
}

/// Origins of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// All of them.
    Any,
    /// These, as browsers write them: `https://app.example`.
    Listed(Vec<HeaderValue>),
}

impl AllowedOrigins {
    /// Whether an origin is among them.
    pub(crate) fn contain(&self, origin: &HeaderValue) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(origins) => origins.contains(origin),
        }
    }
}

/// The CORS fields of one answer.
#[derive(Debug)]
pub(crate) struct CorsAnswer {
    fields: Vec<(HeaderName, HeaderValue)>,
    /// Whether the request is a preflight of an origin that is allowed or not.
    pub(crate) preflight: Option<bool>,
}

impl CorsConfig {
    /// The fields of the answer to a request.
    pub(crate) fn answer(&self, request: &Parts) -> CorsAnswer {
        let origin = request.headers.get(ORIGIN);
        let asked = request.headers.get(ACCESS_CONTROL_REQUEST_METHOD);
        let is_preflight = request.method == Method::OPTIONS && origin.is_some() && asked.is_some();
        let allowed = origin.filter(|origin| self.origins.contain(origin));
        let mut fields = Vec::new();
        if let Some(origin) = allowed {
            self.push_allowed(&mut fields, origin);
            if is_preflight {
                self.push_preflight(&mut fields, &request.headers);
            } else if let Some(exposed) = &self.exposed_fields {
                fields.push((ACCESS_CONTROL_EXPOSE_HEADERS, exposed.clone()));
            }
        }
        CorsAnswer { fields, preflight: is_preflight.then_some(allowed.is_some()) }
    }

    fn push_allowed(&self, fields: &mut Vec<(HeaderName, HeaderValue)>, origin: &HeaderValue) {
        let allowed = match self.origins {
            AllowedOrigins::Any => HeaderValue::from_static("*"),
            AllowedOrigins::Listed(_) => origin.clone(),
        };
        fields.push((ACCESS_CONTROL_ALLOW_ORIGIN, allowed));
        if self.has_credentials {
            let value = HeaderValue::from_static("true");
            fields.push((ACCESS_CONTROL_ALLOW_CREDENTIALS, value));
        }
    }

    fn push_preflight(&self, fields: &mut Vec<(HeaderName, HeaderValue)>, request: &HeaderMap) {
        fields.push((ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone()));
        let asked = request.get(ACCESS_CONTROL_REQUEST_HEADERS);
        if let Some(allowed) = self.fields.as_ref().or(asked) {
            fields.push((ACCESS_CONTROL_ALLOW_HEADERS, allowed.clone()));
        }
        let max_age = HeaderValue::from(self.max_age.as_secs());
        fields.push((ACCESS_CONTROL_MAX_AGE, max_age));
    }
}

impl CorsAnswer {
    /// Sets the fields of an answer in place of the backend's.
    pub(crate) fn apply(self, headers: &mut HeaderMap) {
        remove_cors(headers);
        // A cache must not give the answer for one origin to another.
        let varies = "origin, access-control-request-method, access-control-request-headers";
        let varies = if self.preflight.is_some() { varies } else { "origin" };
        headers.append(VARY, HeaderValue::from_static(varies));
        headers.extend(self.fields);
    }
}

/// The method that a preflight asks about; `None` for other requests.
pub(crate) fn preflight_method(method: &Method, headers: &HeaderMap) -> Option<Method> {
    if method != Method::OPTIONS || !headers.contains_key(ORIGIN) {
        return None;
    }
    let asked = headers.get(ACCESS_CONTROL_REQUEST_METHOD)?;
    Method::from_bytes(asked.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn config(origins: AllowedOrigins) -> CorsConfig {
        CorsConfig {
            origins,
            methods: HeaderValue::from_static("GET, PUT"),
            fields: None,
            exposed_fields: Some(HeaderValue::from_static("x-total")),
            has_credentials: true,
            max_age: Duration::from_secs(600),
        }
    }

    /// The fields of an answer, sorted, after those of the backend are replaced.
    fn answer(config: &CorsConfig, method: &str, fields: &[(&str, &str)]) -> Vec<String> {
        let mut request = Request::builder().method(method);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let mut headers = HeaderMap::new();
        headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
        headers.insert("access-control-allow-private-network", HeaderValue::from_static("true"));
        config.answer(&parts).apply(&mut headers);
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().expect("text"))
        };
        let mut lines: Vec<String> = headers.iter().map(line).collect();
        lines.sort();
        lines
    }

    #[test]
    fn only_listed_origins_are_named() {
        let listed = AllowedOrigins::Listed(vec![HeaderValue::from_static("https://app.example")]);
        let config = config(listed);
        let named = [
            "access-control-allow-credentials: true",
            "access-control-allow-origin: https://app.example",
            "access-control-expose-headers: x-total",
            "vary: origin",
        ];
        assert_eq!(answer(&config, "GET", &[("origin", "https://app.example")]), named);
        for origin in ["https://app.example.evil", "http://app.example", "null", "*", ""] {
            assert_eq!(answer(&config, "GET", &[("origin", origin)]), ["vary: origin"], "{origin}");
        }
        assert_eq!(answer(&config, "GET", &[]), ["vary: origin"]);
    }

    #[test]
    fn a_preflight_learns_what_it_may() {
        let any = CorsConfig { has_credentials: false, ..config(AllowedOrigins::Any) };
        let asked = [
            ("origin", "null"),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "authorization, x-a"),
        ];
        let expected = [
            "access-control-allow-headers: authorization, x-a",
            "access-control-allow-methods: GET, PUT",
            "access-control-allow-origin: *",
            "access-control-max-age: 600",
            "vary: origin, access-control-request-method, access-control-request-headers",
        ];
        assert_eq!(answer(&any, "OPTIONS", &asked), expected);
        // An OPTIONS request that asks for no method is for the backend.
        let other = answer(&any, "OPTIONS", &asked[..1]);
        assert!(!other.iter().any(|line| line.contains("methods")), "{other:?}");
    }
}
