//! The token of a request (RFC 6750 section 2.1).

use hyper::header::{AUTHORIZATION, HeaderMap};
use weir_net::percent_decode;

use super::refusal::TokenRefusal;

/// The query parameter that RFC 6750 section 2.3 allows but discourages, because URLs are logged.
const PARAMETER: &[u8] = b"access_token";

/// Returns the token in the `Authorization` field of a request. Tokens in a query or a body are not
/// accepted.
///
/// # Errors
/// If there is no token, or more than one: in a second field, or in the query as well. Two programs
/// could choose different tokens.
pub fn bearer_token<'a>(
    headers: &'a HeaderMap,
    query: Option<&str>,
) -> Result<&'a str, TokenRefusal> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let Some(field) = fields.next() else { return Err(TokenRefusal::NoToken) };
    if fields.next().is_some() {
        return Err(TokenRefusal::SeveralTokens);
    }
    let field = field.as_bytes();
    let end = field.iter().position(|byte| *byte == b' ').unwrap_or(field.len());
    let (scheme, rest) = field.split_at(end);
    // Scheme names are case-insensitive (RFC 9110 section 11.1).
    if !scheme.eq_ignore_ascii_case(b"Bearer") {
        return Err(TokenRefusal::OtherScheme);
    }
    let token = trim_spaces(rest);
    if token.is_empty() || !token.iter().all(|byte| IS_TOKEN_BYTE[usize::from(*byte)]) {
        return Err(TokenRefusal::MalformedField);
    }
    let token = std::str::from_utf8(token).map_err(|_| TokenRefusal::MalformedField)?;
    if query.is_some_and(has_token) {
        return Err(TokenRefusal::SeveralTokens);
    }
    Ok(token)
}

/// Whether each byte may appear in a token (`b64token`, RFC 6750 section 2.1).
const IS_TOKEN_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = matches!(
            byte as u8,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'='
        );
        byte += 1;
    }
    table
};

/// Removes spaces, but not tabs, from both ends of a text.
fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

fn has_token(query: &str) -> bool {
    let names = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    names.into_iter().any(|name| *percent_decode(name.as_bytes()) == *PARAMETER)
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};

    use super::{TokenRefusal, bearer_token};

    fn headers(fields: &[&[u8]]) -> HeaderMap {
        let value = |field: &&[u8]| (AUTHORIZATION, HeaderValue::from_bytes(field).unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in fields.iter().map(value) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_request_has_one_token_in_one_place() {
        let several = Err(TokenRefusal::SeveralTokens);
        let malformed = Err(TokenRefusal::MalformedField);
        for (fields, query, expected) in [
            (&[&b"Bearer a.b.c"[..]][..], None, Ok("a.b.c")),
            (&[b"bEARER   a.b.c"], Some("x=1"), Ok("a.b.c")),
            (&[b"Bearer a"], Some("access_tokens=1&xaccess_token=2&x=access_token"), Ok("a")),
            (&[], None, Err(TokenRefusal::NoToken)),
            (&[], Some("access_token=a"), Err(TokenRefusal::NoToken)),
            (&[b"Basic YTpi"], None, Err(TokenRefusal::OtherScheme)),
            (&[b"BearerX a"], None, Err(TokenRefusal::OtherScheme)),
            (&[b"a.b.c"], None, Err(TokenRefusal::OtherScheme)),
            (&[b""], None, Err(TokenRefusal::OtherScheme)),
            (&[b"Bearer a", b"Bearer a"], None, several),
            (&[b"Basic YTpi", b"Bearer a"], None, several),
            (&[b"Bearer a"], Some("access_token=a"), several),
            (&[b"Bearer a"], Some("x=1&access_token"), several),
            (&[b"Bearer a"], Some("%61ccess%5Ftoken=a"), several),
            (&[b"Bearer"], None, malformed),
            (&[b"Bearer "], None, malformed),
            (&[b"Bearer\ta"], None, Err(TokenRefusal::OtherScheme)),
            (&[b"Bearer a b"], None, malformed),
            (&[b"Bearer a,Bearer b"], None, malformed),
            (&[b"Bearer \"a\""], None, malformed),
            (&[b"Bearer \xc3\xa9"], None, malformed),
        ] {
            assert_eq!(bearer_token(&headers(fields), query), expected, "{fields:?} {query:?}");
        }
    }
}
