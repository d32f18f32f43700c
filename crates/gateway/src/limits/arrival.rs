//! The fields of a request that are known when it arrives.

use std::borrow::Cow;
use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::{COOKIE, HOST, HeaderName, HeaderValue, REFERER, USER_AGENT};
use serde_json::Value;
use weir_core::{Field, Record, RecordFields, RecordLayout, Timestamp};
use weir_net::socket::ClientCertificate;

use crate::header_fields::address_text::{ADDRESS_BYTES, push_address};
use crate::request::target::normal_host;
use crate::request::version::version_name;
use crate::token::VerifiedToken;

/// The prefix of claims in the names of fields, as in nginx.
const CLAIM: &str = "jwt_claim_";

/// The name of the subject of the client's certificate, as in nginx and in records.
const CERTIFICATE_SUBJECT: &str = "ssl_client_s_dn";

/// The record fields that are known when a request arrives. Others are known only after it is
/// answered.
pub(crate) const ARRIVAL_FIELDS: [Field; 10] = [
    Field::Client,
    Field::User,
    Field::Host,
    Field::Method,
    Field::Path,
    Field::Query,
    Field::Protocol,
    Field::Referer,
    Field::UserAgent,
    Field::Time,
];

/// Returns the fields of requests, with extra fields named as in nginx: `http_x_key`, `cookie_id`.
pub(super) fn fields(headers: &[String]) -> RecordFields {
    RecordLayout::new("ARRIVAL", ARRIVAL_FIELDS.to_vec(), headers.to_vec()).format().record_fields()
}

/// A header field or cookie that a rule reads besides the known fields, by its nginx name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExtraField {
    /// The header fields of a name, joined as nginx does since 1.23: `http_x_key`.
    Header(HeaderName),
    /// The first cookie of a name, ignoring case: `cookie_id`.
    Cookie(String),
    /// A claim of the verified token by its name or path: `jwt_claim_plan`. Variables of nginx have
    /// no dots, so `__` stands for one: `jwt_claim_realm_access__tenant`.
    Claim(String),
    /// The subject of the client's certificate: `ssl_client_s_dn`.
    CertificateSubject,
}

impl ExtraField {
    /// Whether a name denotes a header field, a cookie or a claim that is not a known field.
    pub(super) fn is_name(name: &str) -> bool {
        let prefixes = ["http_", "cookie_", CLAIM];
        let has_prefix = prefixes.into_iter().any(|prefix| name.starts_with(prefix));
        (has_prefix || name == CERTIFICATE_SUBJECT) && Field::by_name(name).is_none()
    }

    pub(super) fn new(name: &str) -> Option<Self> {
        if name == CERTIFICATE_SUBJECT {
            return Some(Self::CertificateSubject);
        }
        if let Some(cookie) = name.strip_prefix("cookie_") {
            return (!cookie.is_empty()).then(|| Self::Cookie(cookie.to_owned()));
        }
        if let Some(claim) = name.strip_prefix(CLAIM) {
            let path = claim.replace("__", ".");
            return (!path.split('.').any(str::is_empty)).then_some(Self::Claim(path));
        }
        let header = name.strip_prefix("http_")?.replace('_', "-");
        HeaderName::try_from(header).ok().map(Self::Header)
    }

    /// Whether the value is known only when the token has been verified.
    pub(super) fn is_of_token(&self) -> bool {
        matches!(self, Self::Claim(_))
    }

    fn value<'r>(
        &self,
        headers: &'r HeaderMap,
        token: Option<&'r VerifiedToken>,
        certificate: Option<&'r ClientCertificate>,
    ) -> Option<Cow<'r, [u8]>> {
        match self {
            Self::CertificateSubject => Some(Cow::Borrowed(certificate?.subject().as_bytes())),
            Self::Header(name) => joined(headers, name),
            Self::Cookie(name) => cookie(headers, name.as_bytes()).map(Cow::Borrowed),
            Self::Claim(path) => match token?.claim_at(path)? {
                Value::String(text) => Some(Cow::Borrowed(text.as_bytes())),
                value @ (Value::Number(_) | Value::Bool(_)) => {
                    Some(Cow::Owned(value.to_string().into_bytes()))
                }
                _ => None,
            },
        }
    }
}

/// Returns the values of all fields of a name as one.
fn joined<'r>(headers: &'r HeaderMap, name: &HeaderName) -> Option<Cow<'r, [u8]>> {
    let mut values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let first = values.next()?;
    let separator: &[u8] = if *name == COOKIE { b"; " } else { b", " };
    let mut all = Cow::Borrowed(first);
    for value in values {
        let all = all.to_mut();
        all.extend_from_slice(separator);
        all.extend_from_slice(value);
    }
    Some(all)
}

/// Returns the value of the first cookie of a name.
fn cookie<'r>(headers: &'r HeaderMap, name: &[u8]) -> Option<&'r [u8]> {
    headers.get_all(COOKIE).iter().find_map(|field| cookie_of_field(field.as_bytes(), name))
}

/// Returns the value of the first cookie of a name in one field; follows
/// ngx_http_parse_multi_header_lines. Cookies are separated by `;` and `,`, but a value ends at `;`
/// only. A name without a value also hides the cookie after it.
fn cookie_of_field<'r>(field: &'r [u8], name: &[u8]) -> Option<&'r [u8]> {
    let skip_spaces = |text: &'r [u8]| {
        let spaces = text.iter().take_while(|byte| **byte == b' ').count();
        &text[spaces..]
    };
    let mut rest = field;
    while !rest.is_empty() {
        if let Some((own, after)) = rest.split_at_checked(name.len())
            && own.eq_ignore_ascii_case(name)
        {
            rest = skip_spaces(after);
            let (first, after) = rest.split_first()?;
            rest = after;
            if *first == b'=' {
                return skip_spaces(after).split(|byte| *byte == b';').next();
            }
        }
        let end = rest.iter().position(|byte| matches!(byte, b';' | b','))?;
        rest = skip_spaces(&rest[end + 1..]);
    }
    None
}

/// An arriving request, as rules see it.
pub(crate) struct Arrival<'a> {
    client: Option<Vec<u8>>,
    host: Option<Cow<'a, [u8]>>,
    token: Option<&'a VerifiedToken>,
    certificate: Option<&'a ClientCertificate>,
    user: Option<&'a str>,
    request: &'a hyper::http::request::Parts,
}

impl<'a> Arrival<'a> {
    pub(crate) fn new(
        request: &'a hyper::http::request::Parts,
        client: Option<IpAddr>,
        user: Option<&'a str>,
    ) -> Self {
        let client = client.map(|client| {
            let mut text = Vec::with_capacity(ADDRESS_BYTES);
            push_address(&mut text, client.to_canonical());
            text
        });
        let host = request.headers.get(HOST).map(normal_host);
        // A dash would be an absent value, and a key that is absent has no limit.
        let host =
            host.map(|host| if *host == *b"-" { Cow::Borrowed(&b"\\x2D"[..]) } else { host });
        Self { client, host, token: None, certificate: None, user, request }
    }

    /// The same with the claims and the subject of its token.
    pub(crate) fn with_token(self, token: Option<&'a VerifiedToken>) -> Self {
        let user = token.and_then(VerifiedToken::subject).map(|subject| &**subject);
        Self { token, user, ..self }
    }

    /// The same with the certificate of its client.
    pub(crate) fn with_certificate(self, certificate: Option<&'a ClientCertificate>) -> Self {
        Self { certificate, ..self }
    }

    /// The values of extra fields.
    pub(super) fn extra(&self, fields: &[ExtraField]) -> Vec<Option<Cow<'_, [u8]>>> {
        let headers = &self.request.headers;
        fields.iter().map(|field| field.value(headers, self.token, self.certificate)).collect()
    }

    /// Builds the record of the request, with the values of extra fields.
    pub(super) fn record<'r>(
        &'r self,
        extra: &'r [Option<Cow<'_, [u8]>>],
        now_ns: i64,
    ) -> Record<'r> {
        let mut record = Record::with_extra_fields(extra.len());
        let value = |name: &HeaderName| self.request.headers.get(name).map(|it| it.as_bytes());
        record.time = Some(Timestamp { unix_ns: now_ns, offset_s: 0 });
        record.put_text(Field::Client, self.client.as_deref());
        record.put_text(Field::User, self.user.map(str::as_bytes));
        record.put_text(Field::Host, self.host.as_deref());
        record.put_text(Field::Method, Some(self.request.method.as_str().as_bytes()));
        record.put_text(Field::Path, Some(self.request.uri.path().as_bytes()));
        record.put_text(Field::Query, self.request.uri.query().map(str::as_bytes));
        record.put_text(Field::Protocol, Some(version_name(self.request.version)));
        record.put_text(Field::Referer, value(&REFERER));
        record.put_text(Field::UserAgent, value(&USER_AGENT));
        for (index, value) in extra.iter().enumerate() {
            if let Some(value) = value {
                record.set_extra(index, value);
            }
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::{COOKIE, ExtraField, HeaderMap, HeaderValue};

    #[test]
    fn the_first_cookie_with_a_name_counts() {
        let mut headers = HeaderMap::new();
        for field in [
            "a=1; sid=x=y; id=2",
            "id=3;ID=4 ;empty=",
            "name",
            "x=8, y=9; spaced = 7 ;",
            "bare;bare=1",
        ] {
            headers.append(COOKIE, HeaderValue::from_static(field));
        }
        for (name, expected) in [
            ("cookie_a", Some("1")),
            ("cookie_id", Some("2")),
            ("cookie_sid", Some("x=y")),
            ("cookie_empty", Some("")),
            ("cookie_name", None),
            ("cookie_i", None),
            ("cookie_x", Some("8, y=9")),
            ("cookie_y", Some("9")),
            ("cookie_spaced", Some("7 ")),
            ("cookie_bare", None),
            (
                "http_cookie",
                Some(
                    "a=1; sid=x=y; id=2; id=3;ID=4 ;empty=; name; x=8, y=9; spaced = 7 ;; bare;bare=1",
                ),
            ),
        ] {
            let field = ExtraField::new(name).expect("a field");
            assert_eq!(
                field.value(&headers, None, None).as_deref(),
                expected.map(str::as_bytes),
                "{name}"
            );
        }
        for name in ["cookie_", "jwt_claim_", "jwt_claim_a__", "jwt_claim___a", "jwt_claim_a____b"]
        {
            assert_eq!(ExtraField::new(name), None, "{name}");
        }
        let claim = |name: &str| Some(ExtraField::Claim(name.to_owned()));
        assert_eq!(ExtraField::new("jwt_claim_plan"), claim("plan"));
        assert_eq!(ExtraField::new("jwt_claim_realm_access__tenant"), claim("realm_access.tenant"));
    }
}
