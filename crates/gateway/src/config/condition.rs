//! `methods` and `fields` of a route: which requests of its path it takes.

use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};

use super::table::TableReader;
use crate::header_fields;
use crate::route::condition::RouteCondition;

/// Reads the condition of a route. Notes mistakes.
pub(super) fn read(table: &TableReader<'_>) -> RouteCondition {
    RouteCondition { methods: read_methods(table), fields: read_fields(table) }
}

fn read_methods(table: &TableReader<'_>) -> Option<Vec<Method>> {
    let list = table.strings("methods")?;
    if list.value.is_empty() {
        table.complain_at(&list, "the list is empty; name at least one method, such as \"GET\"");
    }
    let mut methods = Vec::new();
    for item in &list.value {
        match Method::from_bytes(item.value.as_bytes()) {
            Ok(Method::CONNECT | Method::TRACE) => {
                table.complain_at(item, format!("requests with {} are always refused", item.value));
            }
            Ok(method) if !item.value.bytes().any(|byte| byte.is_ascii_lowercase()) => {
                methods.push(method);
            }
            _ => table.complain_at(
                item,
                format!("this is not a method; write \"{}\"", item.value.to_ascii_uppercase()),
            ),
        }
    }
    // Servers answer HEAD as they answer GET.
    if methods.contains(&Method::GET) && !methods.contains(&Method::HEAD) {
        methods.push(Method::HEAD);
    }
    Some(methods)
}

fn read_fields(route: &TableReader<'_>) -> Vec<(HeaderName, HeaderValue)> {
    let Some(table) = route.table("fields") else { return Vec::new() };
    let entries = table.entries();
    if entries.is_empty() {
        table.complain("this names no field; write { X-Version = \"2\" }");
    }
    let mut fields: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for (name, text) in entries {
        let field = HeaderName::from_bytes(name.as_bytes()).ok();
        let field = field.filter(|field| !header_fields::is_own(field));
        let value = HeaderValue::from_str(text.value).ok();
        // The parser of requests removes spaces around values.
        let value = value.filter(|_| text.value.trim() == text.value);
        match field.zip(value) {
            Some((field, _)) if fields.iter().any(|(other, _)| *other == field) => {
                table.complain_at(&text, format!("`{field}` is named twice; leave one out"));
            }
            Some(pair) => fields.push(pair),
            None => table.complain_at(
                &text,
                "a route cannot depend on this field, or no request has this value",
            ),
        }
    }
    fields
}
