//! What a route asks of a request besides its host and path.

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The methods and header fields of the requests that a route takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteCondition {
    /// The methods, with `HEAD` if `GET` is among them; `None` for all.
    pub methods: Option<Vec<Method>>,
    /// Header fields, each of which a request must have once, with this value.
    pub fields: Vec<(HeaderName, HeaderValue)>,
}

/// A request as far as conditions see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConditionInput<'a> {
    pub(crate) method: &'a Method,
    /// `None` for the request that a preflight asks about: its fields are not known.
    pub(crate) headers: Option<&'a HeaderMap>,
}

impl RouteCondition {
    /// Whether a route with this condition takes a request.
    pub(crate) fn takes(&self, request: ConditionInput<'_>) -> bool {
        let has = |(name, value): &(HeaderName, HeaderValue)| {
            request.headers.is_none_or(|headers| {
                let mut values = headers.get_all(name).iter();
                values.next() == Some(value) && values.next().is_none()
            })
        };
        self.methods.as_ref().is_none_or(|methods| methods.contains(request.method))
            && self.fields.iter().all(has)
    }

    /// Whether a request of some method can meet this and another condition.
    pub(crate) fn shares_method(&self, other: &Self) -> bool {
        match (&self.methods, &other.methods) {
            (Some(own), Some(others)) => own.iter().any(|method| others.contains(method)),
            _ => true,
        }
    }

    /// Of several routes of one path that take a request, the one with most fields has precedence,
    /// then one with methods.
    pub(crate) fn precedence(&self) -> (usize, bool) {
        (self.fields.len(), self.methods.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_to_be_there_once() {
        let condition = RouteCondition {
            methods: Some(vec![Method::GET, Method::HEAD]),
            fields: vec![(HeaderName::from_static("x-a"), HeaderValue::from_static("1"))],
        };
        let takes = |method: &str, values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("x-a", HeaderValue::from_static(value));
            }
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            condition.takes(ConditionInput { method: &method, headers: Some(&headers) })
        };
        assert!(takes("GET", &["1"]) && takes("HEAD", &["1"]));
        for (method, values) in [
            ("POST", &["1"][..]),
            ("get", &["1"]),
            ("GET", &[]),
            ("GET", &["2"]),
            ("GET", &["1", "1"]),
            ("GET", &["1", "2"]),
            ("GET", &["1, 1"]),
        ] {
            assert!(!takes(method, values), "{method} {values:?}");
        }
    }
}
