//! The bytes that the signature of a request covers (RFC 9421 section 2.5).

use std::borrow::Cow;

use hyper::HeaderMap;
use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;

use super::CrawlerFault;
use super::structured::{InnerList, Item, Member, Value, parse_dictionary};

/// Signatures of more components are refused. Those of crawlers have two or three.
const COMPONENTS_MAX: usize = 32;

/// Builds the signature base of a request for the components of a signature.
///
/// # Errors
/// If a component is absent, there twice, or of a kind that is not supported.
pub(super) fn signature_base(
    request: &Parts,
    is_tls: bool,
    components: &InnerList,
) -> Result<String, CrawlerFault> {
    if components.items.len() > COMPONENTS_MAX {
        return Err(CrawlerFault::Component);
    }
    let mut base = String::new();
    for (index, component) in components.items.iter().enumerate() {
        if components.items[..index].contains(component) {
            return Err(CrawlerFault::Component);
        }
        let value = component_value(request, is_tls, component).ok_or(CrawlerFault::Component)?;
        component.write(&mut base);
        base.push_str(": ");
        base.push_str(&value);
        base.push('\n');
    }
    base.push_str("\"@signature-params\": ");
    components.write(&mut base);
    Ok(base)
}

fn component_value<'r>(request: &'r Parts, is_tls: bool, component: &Item) -> Option<Cow<'r, str>> {
    let Value::String(name) = &component.value else { return None };
    match &component.parameters[..] {
        [] if name.starts_with('@') => derived(request, is_tls, name),
        [] => field(&request.headers, name).map(Cow::Owned),
        [(parameter, Value::String(key))] if parameter == "key" => {
            member(&request.headers, name, key).map(Cow::Owned)
        }
        _ => None,
    }
}

/// The components that are made from the request itself (section 2.2).
fn derived<'r>(request: &'r Parts, is_tls: bool, name: &str) -> Option<Cow<'r, str>> {
    let uri = &request.uri;
    let target = || uri.path_and_query().map_or("/", |it| it.as_str());
    let scheme = if is_tls { "https" } else { "http" };
    Some(match name {
        "@method" => request.method.as_str().into(),
        "@authority" => authority(request, is_tls)?.into(),
        "@scheme" => scheme.into(),
        "@target-uri" => format!("{scheme}://{}{}", authority(request, is_tls)?, target()).into(),
        "@request-target" => target().into(),
        "@path" => uri.path().into(),
        "@query" => format!("?{}", uri.query().unwrap_or_default()).into(),
        _ => return None,
    })
}

/// The host in lower case, without the port of the scheme.
pub(super) fn authority(request: &Parts, is_tls: bool) -> Option<String> {
    let host = match request.uri.authority() {
        Some(authority) => authority.as_str(),
        None => request.headers.get(HOST)?.to_str().ok()?,
    };
    let host = host.to_ascii_lowercase();
    let default = if is_tls { ":443" } else { ":80" };
    Some(host.strip_suffix(default).map_or_else(|| host.clone(), str::to_owned))
}

/// The lines of a field, joined (section 2.1).
pub(super) fn field(headers: &HeaderMap, name: &str) -> Option<String> {
    // Names are in lower case, so `"Date"` is none.
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut lines = headers.get_all(name).iter().peekable();
    lines.peek()?;
    let lines = lines.map(HeaderValue::to_str);
    let lines = lines.map(|line| line.ok().map(str::trim)).collect::<Option<Vec<_>>>()?;
    Some(lines.join(", "))
}

/// The value of a name in a field that is a dictionary (section 2.1.2).
fn member(headers: &HeaderMap, name: &str, key: &str) -> Option<String> {
    let members = parse_dictionary(&field(headers, name)?)?;
    let (_, member) = members.into_iter().find(|(name, _)| name == key)?;
    let mut text = String::new();
    match member {
        Member::Item(item) => item.write(&mut text),
        Member::List(list) => list.write(&mut text),
    }
    Some(text)
}
