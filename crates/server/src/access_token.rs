//! The access token that protects a server from other machines.

use std::cell::OnceCell;
use std::fmt;

use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderValue, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode};
use ring::hmac;
use weir_net::{Body, PublicUrl, Scheme};

use crate::page::ENTER;
use crate::query_string::decode;
use crate::random_id::random_id;
use crate::refusal::{Refusal, TokenOrigin};
use crate::response;

/// The minimum length of a token in bytes. [`AccessToken::random`] has 32.
const BYTES_MIN: usize = 16;

/// The maximum length of a token in bytes; a cookie may have 4,096 (RFC 6265 section 6.1).
const BYTES_MAX: usize = 1024;

/// The query parameter of the login link.
const PARAMETER: &str = "token=";

/// The secret that a client must present. The server prints a login link with the parameter
/// `token`, and the link gives a browser a cookie. A program sends `Authorization: Bearer TOKEN`
/// (RFC 6750 section 2.1).
///
/// `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken {
    text: String,
    origin: TokenOrigin,
}

impl AccessToken {
    /// Creates a token of 128 random bits.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn random() -> Result<Self, Refusal> {
        random_id().map(|text| Self { text, origin: TokenOrigin::Random })
    }

    /// Creates a token from the text of a file: 16 to 1,024 letters, digits and `-._~+/=`, as in a
    /// `Bearer` field.
    ///
    /// # Errors
    /// Fails if the length is outside this range, or the text has other characters.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        match (BYTES_MIN..=BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed) {
            true => Ok(Self { text: text.to_owned(), origin: TokenOrigin::File }),
            false => Err(InvalidToken),
        }
    }

    /// Returns the query string of the login link.
    pub fn query(&self) -> String {
        let encoded = self.text.replace('+', "%2B");
        format!("?{PARAMETER}{encoded}")
    }

    /// Checks the token of a request. Returns the response to the login link: a page that sets the
    /// cookie and opens the same address without the token. This keeps the token out of history,
    /// bookmarks and logs.
    ///
    /// # Errors
    /// Fails if the request has no token or another one.
    pub fn check<B>(
        &self,
        request: &Request<B>,
        public_url: Option<&PublicUrl>,
    ) -> Result<Option<Response<Body>>, Refusal> {
        let is_link = [Method::GET, Method::HEAD].contains(request.method());
        let parameters = request.uri().query().unwrap_or_default().split('&');
        let mut tokens = parameters.clone().filter_map(|text| text.strip_prefix(PARAMETER));
        if is_link && tokens.any(|token| is_same(&self.text, decode(token, false).as_bytes())) {
            let others: Vec<&str> =
                parameters.filter(|text| !text.starts_with(PARAMETER)).collect();
            let query =
                if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
            // `//` at the start would make the path the name of another host.
            let path = request.uri().path().trim_start_matches(['/', '\\']);
            return self.login_page(request, public_url, &format!("/{path}{query}")).map(Some);
        }
        match self.is_in_headers(request) {
            true => Ok(None),
            false => Err(Refusal::NoToken(self.origin)),
        }
    }

    /// Returns a page that sets the cookie and opens an address of the server. A redirection would
    /// fail: if a page of another site, such as web mail, opened the link, the browser would follow
    /// the redirection without the `SameSite=Strict` cookie. A script opens the address, because
    /// the `#` part of the link would otherwise be lost.
    fn login_page<B>(
        &self,
        request: &Request<B>,
        public_url: Option<&PublicUrl>,
        address: &str,
    ) -> Result<Response<Body>, Refusal> {
        let secure = if is_https(request, public_url) { "; Secure" } else { "" };
        let name = cookie_name(request);
        let value = self.cookie_value(request);
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
        let address = response::html_escaped(address);
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>Weir</title>\
             <script src=\"{ENTER}\" data-address=\"{address}\"></script>\
             <noscript><meta http-equiv=\"refresh\" content=\"0;url={address}\"></noscript>\
             <a href=\"{address}\">Continue to the page</a>\n"
        );
        let mut response = response::content(StatusCode::OK, "text/html; charset=utf-8", page);
        let cookie = HeaderValue::from_str(&cookie).map_err(Refusal::internal)?;
        response.headers_mut().insert(SET_COOKIE, cookie);
        Ok(response)
    }

    fn is_in_headers<B>(&self, request: &Request<B>) -> bool {
        let values = |name| request.headers().get_all(name).into_iter().map(HeaderValue::as_bytes);
        let mut bearers = values(AUTHORIZATION).filter_map(|value| {
            let (scheme, token) = split_once(value, b' ')?;
            scheme.eq_ignore_ascii_case(b"bearer").then(|| token.trim_ascii())
        });
        let (name, own) = (cookie_name(request), OnceCell::new());
        let is_own = |value| is_same(own.get_or_init(|| self.cookie_value(request)), value);
        let cookies = values(COOKIE).flat_map(|value| value.split(|byte| *byte == b';'));
        let mut cookies = cookies.filter_map(|cookie| {
            let (other, value) = split_once(cookie.trim_ascii(), b'=')?;
            (other == name.as_bytes()).then_some(value)
        });
        bearers.any(|token| is_same(&self.text, token)) || cookies.any(is_own)
    }

    /// The value of a browser's cookie: a digest of the token and of the host and port that the
    /// request is for. Browsers send a cookie to every port of its host, so another program there
    /// may get it. It opens no other host, and does not tell the token.
    fn cookie_value<B>(&self, request: &Request<B>) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.text.as_bytes());
        let digest = hmac::sign(&key, host(request).to_ascii_lowercase().as_bytes());
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Compares in a time that depends only on the lengths.
fn is_same(own: &str, other: &[u8]) -> bool {
    let own = own.as_bytes();
    let differences = own.iter().zip(other).fold(0, |all, (own, other)| all | (own ^ other));
    own.len() == other.len() && std::hint::black_box(differences) == 0
}

fn host<B>(request: &Request<B>) -> &str {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or_default()
}

/// Returns the name of a browser's cookie. It contains the port, because all ports of a host share
/// cookies.
fn cookie_name<B>(request: &Request<B>) -> String {
    let port = host(request).rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    format!("weir-token-{}", port.unwrap_or(Scheme::of(request).default_port()))
}

/// Returns whether the browser uses `https`, to this server or to a proxy before it.
fn is_https<B>(request: &Request<B>, public_url: Option<&PublicUrl>) -> bool {
    let is_public = public_url
        .is_some_and(|url| url.to_string().starts_with("https:") && url.has_host(host(request)));
    is_public || Scheme::of(request) == Scheme::Https
}

fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken(..)")
    }
}

/// The error for a text that is not a valid [`AccessToken`].
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
    use hyper::header::SET_COOKIE;
    use hyper::{Request, StatusCode};
    use weir_net::Scheme;

    use super::AccessToken;
    use crate::refusal::{Refusal, TokenOrigin};

    const TOKEN: &str = "0123456789abcdef";

    fn is_let_in(fields: &[(&str, &str)]) -> bool {
        let token = AccessToken::new(TOKEN).expect("a token");
        let mut request = Request::builder().method("POST").uri("/api/sessions");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        match token.check(&request.body(()).expect("a request"), None) {
            Ok(answer) => answer.is_none(),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::NoToken(TokenOrigin::File));
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
            (&[("cookie", "weir-token-80=0123456789abcdef")], false),
            (&[("cookie", "weir-token-80=")], false),
        ] {
            assert_eq!(is_let_in(fields), expected, "{fields:?}");
        }
    }

    /// The cookie that a login link of a host gives a browser.
    fn cookie_of(host: &str) -> String {
        let token = AccessToken::new(TOKEN).expect("a token");
        let request = Request::builder().uri(format!("/{}", token.query())).header("host", host);
        let request = request.body(()).expect("a request");
        let answer = token.check(&request, None).expect("let in").expect("an answer");
        let cookie = answer.headers()[SET_COOKIE].to_str().expect("text");
        assert!(!cookie.contains(TOKEN), "{cookie}");
        cookie.split(';').next().expect("a pair").to_owned()
    }

    #[test]
    fn a_cookie_opens_the_host_and_port_that_gave_it() {
        for (from, to, expected) in [
            ("a", "a", true),
            ("a:81", "a:81", true),
            ("a:81", "A:81", true),
            ("[::1]:81", "[::1]:81", true),
            ("a:81", "b:81", false),
            ("a:81", "a:82", false),
        ] {
            // Another port has another name for its cookie, but a thief can choose the name.
            let value = cookie_of(from).split_once('=').expect("a pair").1.to_owned();
            let name = cookie_of(to).split_once('=').expect("a pair").0.to_owned();
            let cookie = format!("a=\u{e9}; {name}={value}; c=d");
            let fields = [("host", to), ("cookie", "b=c"), ("cookie", &*cookie)];
            assert_eq!(is_let_in(&fields), expected, "{from} {to}");
        }
    }

    #[test]
    fn the_link_sets_the_cookie_and_loses_the_token() {
        let token = AccessToken::new("0123456789abcde+").expect("a token");
        let url = "https://logs.example".parse().expect("a URL");
        for (path, address) in [
            ("/", "/"),
            ("/s/1?a=b&c=%22", "/s/1?a=b&amp;c=%22"),
            ("//evil.example/", "/evil.example/"),
            ("/\\evil.example/", "/evil.example/"),
        ] {
            for (scheme, host, is_secure) in [
                (Scheme::Http, "127.0.0.1:7878", false),
                (Scheme::Https, "127.0.0.1:7878", true),
                (Scheme::Http, "logs.example", true),
            ] {
                let joint = if path.contains('?') { "&" } else { "?" };
                let link = format!("{path}{joint}{}", token.query().trim_start_matches('?'));
                let request = Request::builder().uri(&link[..]).extension(scheme);
                // The link removes the token even if the browser already has the cookie.
                let request = request.header("host", host).header("cookie", "weir-token-80=x");
                let request = request.body(()).expect("a request");
                let answer = token.check(&request, Some(&url)).expect("let in").expect("an answer");
                assert_eq!(answer.status(), StatusCode::OK);
                let cookie = answer.headers()[SET_COOKIE].to_str().expect("text");
                assert!(cookie.contains("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
                assert_eq!(cookie.ends_with("; Secure"), is_secure, "{cookie}");
                let page = format!("{:?}", answer.body());
                let target = format!("content=\\\"0;url={address}\\\"");
                assert!(page.contains(&target), "{target}: {page}");
            }
        }
        for (link, is_right) in [
            ("/?token=0123456789abcdef", false),
            ("/?token=", false),
            ("/?xtoken=0123456789abcde%2B", false),
            ("/?token=%30123456789abcde%2b", true),
        ] {
            let request = Request::builder().uri(link).body(()).expect("a request");
            assert_eq!(token.check(&request, None).is_ok(), is_right, "{link}");
        }
    }

    #[test]
    fn tokens_are_long_and_plain() {
        for text in ["", "short", "with a space 0123", "0123456789abcde;", &"x".repeat(1025)] {
            assert!(AccessToken::new(text).is_err(), "{text}");
        }
        let [one, other] = [AccessToken::random(), AccessToken::random()].map(Result::unwrap);
        assert!(one != other && one.text.len() == 32);
        assert!(!format!("{one:?}").contains(&one.text), "it is not printed");
    }
}
