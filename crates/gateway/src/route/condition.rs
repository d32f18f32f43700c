//! What a route asks of a request besides its host and path.

use hyper::Method;
use hyper::header::{ACCESS_CONTROL_REQUEST_HEADERS, HeaderMap, HeaderName, HeaderValue};

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
    pub(crate) fields: InputFields<'a>,
}

/// The header fields of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InputFields<'a> {
    /// All of them.
    Sent(&'a HeaderMap),
    /// Those of a preflight, which announces the names of those that the request will have.
    Announced(&'a HeaderMap),
}

impl InputFields<'_> {
    /// Whether a field is there once, with this value; or announced.
    fn have(self, name: &HeaderName, value: &HeaderValue) -> bool {
        match self {
            Self::Sent(headers) => {
                let mut values = headers.get_all(name).iter();
                values.next() == Some(value) && values.next().is_none()
            }
            Self::Announced(preflight) => {
                let lists = preflight.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
                let mut names = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b','));
                names.any(|it| it.trim_ascii().eq_ignore_ascii_case(name.as_str().as_bytes()))
            }
        }
    }
}

impl RouteCondition {
    /// Whether a route with this condition takes a request.
    pub(crate) fn takes(&self, request: ConditionInput<'_>) -> bool {
        self.methods.as_ref().is_none_or(|methods| methods.contains(request.method))
            && self.fields.iter().all(|(name, value)| request.fields.have(name, value))
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
            condition.takes(ConditionInput { method: &method, fields: InputFields::Sent(&headers) })
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
        let announces = |names: &'static str| {
            let announced = (ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue::from_static(names));
            let headers = HeaderMap::from_iter([announced]);
            let fields = InputFields::Announced(&headers);
            condition.takes(ConditionInput { method: &Method::GET, fields })
        };
        assert!(announces("authorization, X-A") && !announces("authorization,x-ab"));
    }
}
