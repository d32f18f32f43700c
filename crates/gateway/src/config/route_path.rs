//! `path` and `host` of a route: whether a request can match them.

use std::net::Ipv6Addr;

use super::table::{LocatedValue, TableReader};
use crate::request::target::decode_path;

/// Checks that requests can match a path. They are matched after percent-decoding, and those with
/// ambiguous paths are refused.
pub(super) fn check_path(table: &TableReader<'_>, path: &LocatedValue<&str>) {
    let text = path.value;
    if let Some(plain) = before_pattern(text) {
        let message = format!(
            "there are no patterns in paths, so no request matches this; write \"{plain}\", which covers \
             all below it"
        );
        return table.complain_at(path, message);
    }
    if !text.starts_with('/') || text.contains(['?', '#']) {
        let message = "this is not a path; write it with a slash at its beginning: \"/api\"";
        return table.complain_at(path, message);
    }
    if text.contains(';') {
        let message = "no request matches this, because `;` begins a parameter; leave it out";
        return table.complain_at(path, message);
    }
    let message = match decode_path(text) {
        Some(decoded) if decoded == text => return,
        Some(decoded) => {
            format!("no request matches this, because paths are decoded first; write \"{decoded}\"")
        }
        None => {
            "no request matches this: those with dot segments, empty segments, encoded slashes, \
                 backslashes or control characters are refused"
                .to_owned()
        }
    };
    table.complain_at(path, message);
}

/// The path before the first segment with another program's notation for patterns, such as `*`,
/// `{id}`, `:id`, `<id>`, `[id]` and `^...$`. `None` if there is no such segment.
fn before_pattern(path: &str) -> Option<String> {
    let is_pattern = |segment: &str| {
        segment.len() > 1 && segment.starts_with([':', '<', '['])
            || segment.contains(['*', '{', '}', '|', '^'])
            || segment.ends_with('$')
    };
    let segments: Vec<&str> = path.split('/').collect();
    let first = segments.iter().position(|segment| is_pattern(segment))?;
    match segments.get(..first)?.join("/") {
        plain if plain.is_empty() => Some("/".to_owned()),
        plain => Some(plain),
    }
}

/// Checks that requests can match a host. A route matches its name without the port, in any case.
pub(super) fn check_host(table: &TableReader<'_>, host: &LocatedValue<&str>) {
    let text = host.value;
    if is_host_name(text) {
        return;
    }
    let name = text.split_once("://").map_or(text, |(_, rest)| rest);
    let name = name.split('/').next().unwrap_or_default();
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name).trim_end_matches('.');
    let message = if text.contains('*') {
        "there are no patterns in hosts, so no request matches this; write a route for each host, or \
         leave `host` out"
            .to_owned()
    } else if !text.is_ascii() {
        "write the name as browsers send it, with xn--".to_owned()
    } else if is_host_name(name) {
        format!("a host is a name without scheme, port, path and final dot; write \"{name}\"")
    } else {
        "this is not the name of a host; write it as in \"shop.example\"".to_owned()
    };
    table.complain_at(host, message);
}

/// Whether a text is a host as requests are matched by it.
fn is_host_name(text: &str) -> bool {
    if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.bytes().all(is_name)
    };
    text.split('.').all(is_label)
}
