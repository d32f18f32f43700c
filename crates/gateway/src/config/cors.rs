//! `cors` of a route: which pages of other origins may call it.

use std::time::Duration;

use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::uri::Authority;

use super::table::{LocatedValue, TableReader};
use crate::access::cors::{AllowedOrigins, CorsConfig};

/// The methods without `methods`.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";

/// How long browsers remember a preflight without `max_age`. Chromium remembers none for longer
/// than two hours.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Reads the table. Notes mistakes, and may return `None` then.
pub(super) fn read(table: TableReader<'_>) -> Option<CorsConfig> {
    let has_credentials = table.boolean("credentials").unwrap_or(false);
    let origins = read_origins(&table, has_credentials);
    let is_method = |text: &str| Method::from_bytes(text.as_bytes()).is_ok();
    let methods = read_list(&table, "methods", "a method", is_method);
    let is_field = |text: &str| HeaderName::from_bytes(text.as_bytes()).is_ok();
    let fields = read_list(&table, "fields", "a header field", is_field);
    let exposed_fields = read_list(&table, "exposed_fields", "a header field", is_field);
    let max_age = table.duration("max_age").unwrap_or(MAX_AGE);
    table.finish();
    Some(CorsConfig {
        origins: origins?,
        methods: methods.unwrap_or(HeaderValue::from_static(METHODS)),
        fields,
        exposed_fields,
        has_credentials,
        max_age,
    })
}

fn read_origins(table: &TableReader<'_>, has_credentials: bool) -> Option<AllowedOrigins> {
    let Some(list) = table.strings("origins") else {
        if !table.has("origins") {
            table.complain("`origins` is missing: [\"https://app.example\"]");
        }
        return None;
    };
    if let [only] = &list.value[..]
        && only.value == "*"
    {
        if has_credentials {
            let message = "browsers ignore \"*\" with credentials; name the origins";
            table.complain_at(only, message);
        }
        return Some(AllowedOrigins::Any);
    }
    let origins = list.value.iter().filter_map(|item| read_origin(table, item));
    let origins: Vec<HeaderValue> = origins.collect();
    if list.value.is_empty() {
        table.complain_at(&list, "the list is empty; name at least one origin");
    }
    Some(AllowedOrigins::Listed(origins))
}

/// Reads an origin as browsers write it: in lower case, without the port that the scheme has, and
/// without a path.
fn read_origin(table: &TableReader<'_>, item: &LocatedValue<&str>) -> Option<HeaderValue> {
    let text = item.value;
    let message = if text == "null" {
        "every page can have the origin `null`, in a frame of its own; name the others".to_owned()
    } else if text.contains('*') {
        "there are no patterns in origins; name each".to_owned()
    } else {
        match plain_origin(text) {
            Some(plain) if plain == text => return HeaderValue::from_str(text).ok(),
            Some(plain) => format!("browsers write this origin \"{plain}\""),
            None => "this is not an origin; write it as in \"https://app.example\"".to_owned(),
        }
    };
    table.complain_at(item, message);
    None
}

fn plain_origin(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    // Pages of apps have schemes of their own: `capacitor://localhost`, `chrome-extension://ID`.
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let authority = rest.split('/').next()?.to_ascii_lowercase();
    if scheme.is_empty() || !scheme.bytes().all(is_letter) || authority.is_empty() {
        return None;
    }
    let parsed: Authority = authority.parse().ok()?;
    if parsed.as_str().contains('@') || parsed.host().is_empty() {
        return None;
    }
    let own_port = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
    Some(format!("{scheme}://{authority}"))
}

/// Reads a list of names as the value of a header field.
fn read_list(
    table: &TableReader<'_>,
    name: &'static str,
    what: &str,
    is_valid: impl Fn(&str) -> bool,
) -> Option<HeaderValue> {
    let list = table.strings(name)?;
    let mut names = Vec::new();
    for item in &list.value {
        match is_valid(item.value) {
            true => names.push(item.value),
            false => table.complain_at(item, format!("`{}` is not the name of {what}", item.value)),
        }
    }
    HeaderValue::from_str(&names.join(", ")).ok()
}
