//! The notations of format definitions, each compiled to a program.

mod apache;
mod builder;
mod delimited;
mod item;
mod json;
mod nginx;
mod positioned;
pub(super) mod w3c;

use super::compiled::Format;
use super::error::FormatError;

/// Compiles a definition. Returns `None` if it is in none of the notations.
///
/// # Errors
/// If the definition is in a notation and has a mistake.
pub(super) fn compile(definition: &str) -> Option<Result<Format, FormatError>> {
    let trimmed = definition.trim();
    if trimmed.starts_with(json::PREFIX) {
        return Some(json::compile(definition));
    }
    if let Some(separator) = delimited::separator_of(trimmed) {
        return Some(delimited::compile(definition, separator));
    }
    if w3c::is_directives(trimmed) {
        return Some(w3c::compile(definition));
    }
    if apache::is_directive(trimmed) {
        return Some(apache::compile(definition));
    }
    if trimmed.starts_with("log_format") || has_nginx_variable(trimmed) {
        return Some(nginx::compile(definition));
    }
    if trimmed.contains('%') {
        return Some(apache::compile(definition));
    }
    trimmed.contains('$').then(|| nginx::compile(definition))
}

/// Whether the text has a variable of nginx.
fn has_nginx_variable(text: &str) -> bool {
    let starts_name = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'{' | b'_');
    text.as_bytes().windows(2).any(|pair| pair[0] == b'$' && starts_name(&pair[1]))
}
