//! What is known of a request when it arrives.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderName, REFERER, USER_AGENT};
use weir_core::{Field, Record, RecordFields, RecordLayout, Timestamp};

use crate::http_version::version_name;

/// The fields of a request that has arrived. Others are only known once it is answered.
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

/// The fields of requests, with the header fields that a rule names as nginx does: `http_x_key`.
pub(super) fn fields(headers: &[String]) -> RecordFields {
    RecordLayout::new("ARRIVAL", ARRIVAL_FIELDS.to_vec(), headers.to_vec()).format().record_fields()
}

/// Whether a name is that of a header field that has no field of its own.
pub(super) fn is_header(name: &str) -> bool {
    name.starts_with("http_") && Field::by_name(name).is_none()
}

/// The header field of a name such as `http_x_key`.
pub(super) fn header_name(name: &str) -> Option<HeaderName> {
    HeaderName::try_from(name.strip_prefix("http_")?.replace('_', "-")).ok()
}

/// A request that has arrived.
pub(crate) struct Arrival<'a> {
    client: Option<String>,
    user: Option<&'a str>,
    request: &'a hyper::http::request::Parts,
}

impl<'a> Arrival<'a> {
    pub(crate) fn new(
        request: &'a hyper::http::request::Parts,
        client: Option<IpAddr>,
        user: Option<&'a str>,
    ) -> Self {
        let client = client.map(|client| client.to_canonical().to_string());
        Self { client, user, request }
    }

    /// The record of the request, with these header fields.
    pub(super) fn record(&self, headers: &[HeaderName], now_ns: i64) -> Record<'_> {
        let mut record = Record::with_extra_fields(headers.len());
        let value = |name: &HeaderName| self.request.headers.get(name).map(|it| it.as_bytes());
        record.time = Some(Timestamp { unix_ns: now_ns, offset_s: 0 });
        record.put_text(Field::Client, self.client.as_ref().map(String::as_bytes));
        record.put_text(Field::User, self.user.map(str::as_bytes));
        record.put_text(Field::Host, value(&HOST));
        record.put_text(Field::Method, Some(self.request.method.as_str().as_bytes()));
        record.put_text(Field::Path, Some(self.request.uri.path().as_bytes()));
        record.put_text(Field::Query, self.request.uri.query().map(str::as_bytes));
        record.put_text(Field::Protocol, Some(version_name(self.request.version)));
        record.put_text(Field::Referer, value(&REFERER));
        record.put_text(Field::UserAgent, value(&USER_AGENT));
        for (index, name) in headers.iter().enumerate() {
            if let Some(value) = value(name) {
                record.set_extra(index, value);
            }
        }
        record
    }
}
