//! The access token of a server that other machines can reach.

use std::fmt;

use hyper::header::{AUTHORIZATION, COOKIE, HeaderValue, LOCATION, SET_COOKIE};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use weir_net::{Body, Scheme};

use crate::random_id::random_id;
use crate::refusal::Refusal;
use crate::response;

/// The fewest bytes of a token. Those of [`AccessToken::random`] have 32.
const BYTES_MIN: usize = 16;

/// The most bytes of a token; a cookie may have 4,096 (RFC 6265 section 6.1).
const BYTES_MAX: usize = 1024;

/// The cookie of a browser that has opened the link.
const COOKIE_NAME: &str = "weir-token";

/// The parameter of the link.
const PARAMETER: &str = "token=";

/// What a client must present. A browser gets it as a cookie from the link that the server prints, with
/// the parameter `token`; a program sends `Authorization: Bearer TOKEN` (RFC 6750 section 2.1).
///
/// Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// A token of 128 random bits.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> Result<Self, Refusal> {
        random_id().map(Self)
    }

    /// A token that somebody has chosen: 16 to 1,024 letters, digits and `-._~+/=`, as in a
    /// `Bearer` field.
    ///
    /// # Errors
    /// If the text is shorter or longer, or has other characters.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        match (BYTES_MIN..=BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidToken),
        }
    }

    /// The query of the link that lets a browser in.
    pub fn query(&self) -> String {
        let encoded = self.0.replace('+', "%2B");
        format!("?{PARAMETER}{encoded}")
    }

    /// Lets a request pass that has the token. The answer to the link is its address without the
    /// token, so that the token is in no history, bookmark or log.
    ///
    /// # Errors
    /// If the request has no token or another one.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<Option<Response<Body>>, Refusal> {
        if self.is_in_headers(request.headers()) {
            return Ok(None);
        }
        let is_link = [Method::GET, Method::HEAD].contains(request.method());
        let parameters = request.uri().query().unwrap_or_default().split('&');
        let mut tokens = parameters.clone().filter_map(|text| text.strip_prefix(PARAMETER));
        if !is_link || !tokens.any(|token| self.is_same(&token.replace("%2B", "+"))) {
            return Err(Refusal::NoToken);
        }
        let others: Vec<&str> = parameters.filter(|text| !text.starts_with(PARAMETER)).collect();
        let query =
            if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        // A path of two slashes would be the name of another host.
        let path = request.uri().path().trim_start_matches('/');
        self.redirect(&format!("/{path}{query}"), Scheme::of(request)).map(Some)
    }

    /// Sends a browser to an address, with the cookie.
    fn redirect(&self, address: &str, scheme: Scheme) -> Result<Response<Body>, Refusal> {
        let secure = if scheme == Scheme::Https { "; Secure" } else { "" };
        let cookie = format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.0);
        let mut response = response::empty(StatusCode::SEE_OTHER);
        for (name, value) in [(SET_COOKIE, cookie.as_str()), (LOCATION, address)] {
            let value = HeaderValue::from_str(value).map_err(Refusal::internal)?;
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }

    fn is_in_headers(&self, headers: &HeaderMap) -> bool {
        let texts = |name| headers.get_all(name).into_iter().filter_map(|it| it.to_str().ok());
        let mut bearers = texts(AUTHORIZATION).filter_map(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let mut cookies = texts(COOKIE).flat_map(|text| text.split(';')).filter_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == COOKIE_NAME).then_some(value)
        });
        bearers.any(|token| self.is_same(token)) || cookies.any(|token| self.is_same(token))
    }

    /// Compares in a time that depends on the lengths alone.
    fn is_same(&self, token: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), token.as_bytes());
        let differences = own.iter().zip(other).fold(0, |all, (own, other)| all | (own ^ other));
        own.len() == other.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken(..)")
    }
}

/// A text that is not a valid [`AccessToken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidToken;

impl fmt::Display for InvalidToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "it is not a valid token: a token has 16 to 1,024 letters, digits and characters of \
             -._~+/=",
        )
    }
}

impl std::error::Error for InvalidToken {}

#[cfg(test)]
mod tests {
    use hyper::header::{LOCATION, SET_COOKIE};
    use hyper::{Request, StatusCode};
    use weir_net::Scheme;

    use super::AccessToken;
    use crate::refusal::Refusal;

    const TOKEN: &str = "0123456789abcdef";

    fn is_let_in(fields: &[(&str, &str)]) -> bool {
        let token = AccessToken::new(TOKEN).expect("a token");
        let mut request = Request::builder().method("POST").uri("/api/sessions");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        match token.check(&request.body(()).expect("a request")) {
            Ok(answer) => answer.is_none(),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::NoToken);
                false
            }
        }
    }

    #[test]
    fn the_token_is_a_cookie_or_a_bearer() {
        for (fields, expected) in [
            (&[][..], false),
            (&[("authorization", "Bearer 0123456789abcdef")], true),
            (&[("authorization", "bearer 0123456789abcdef")], true),
            (&[("authorization", "Basic 0123456789abcdef")], false),
            (&[("authorization", "Bearer 0123456789abcdeX")], false),
            (&[("authorization", "Bearer 0123456789abcdef0")], false),
            (&[("authorization", "Bearer 0123456789abcde")], false),
            (&[("authorization", "Bearer ")], false),
            (&[("cookie", "a=b; weir-token=0123456789abcdef")], true),
            (&[("cookie", "a=b"), ("cookie", "weir-token=0123456789abcdef; c=d")], true),
            (&[("cookie", "weir-tokens=0123456789abcdef")], false),
            (&[("cookie", "weir-token=")], false),
        ] {
            assert_eq!(is_let_in(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn the_link_sets_the_cookie_and_loses_the_token() {
        let token = AccessToken::new("0123456789abcde+").expect("a token");
        for (path, location) in
            [("/", "/"), ("/s/1?a=b", "/s/1?a=b"), ("//evil.example/", "/evil.example/")]
        {
            for scheme in [Scheme::Http, Scheme::Https] {
                let joint = if path.contains('?') { "&" } else { "?" };
                let link = format!("{path}{joint}{}", token.query().trim_start_matches('?'));
                let request = Request::builder().uri(&link[..]).extension(scheme);
                let request = request.body(()).expect("a request");
                let answer = token.check(&request).expect("let in").expect("an answer");
                assert_eq!(answer.status(), StatusCode::SEE_OTHER);
                assert_eq!(answer.headers()[LOCATION], location);
                let cookie = answer.headers()[SET_COOKIE].to_str().expect("text");
                assert!(cookie.starts_with("weir-token=0123456789abcde+; "), "{cookie}");
                assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
                assert_eq!(cookie.ends_with("; Secure"), scheme == Scheme::Https);
            }
        }
        for link in ["/?token=0123456789abcdef", "/?token=", "/?xtoken=0123456789abcde%2B"] {
            let request = Request::builder().uri(link).body(()).expect("a request");
            assert_eq!(token.check(&request).err(), Some(Refusal::NoToken), "{link}");
        }
    }

    #[test]
    fn tokens_are_long_and_plain() {
        for text in ["", "short", "with a space 0123", "0123456789abcde;", &"x".repeat(1025)] {
            assert!(AccessToken::new(text).is_err(), "{text}");
        }
        let [one, other] = [AccessToken::random(), AccessToken::random()].map(Result::unwrap);
        assert!(one != other && one.0.len() == 32);
        assert!(!format!("{one:?}").contains(&one.0), "it is not printed");
    }
}
