//! The notations of format definitions, each compiled to a program.
//!
//! | a definition that | is in the notation | module |
//! |---|---|---|
//! | begins with `json:`, `ltsv:` or `logfmt:` | keys | `json` |
//! | begins with `spaces:`, `tabs:` or `csv:` | delimited values | `delimited` |
//! | begins with a directive, `#Fields:` | W3C extended log format | `w3c` |
//! | begins with `LogFormat` | Apache | `apache` |
//! | begins with `log_format`, or has a variable, `$status` | nginx | `nginx` |
//! | has a line `log-format`, or `%^`, `%d`, `%x`, `%~` or `~h{` | GoAccess | `goaccess` |
//! | has a `%` | Apache, the text alone | `apache` |
//!
//! Each module lists the values of its notation. `builder` collects them and decides which value
//! fills which field: of several for one field, such as `$request` and `$request_uri`, the one with
//! the lowest rank. The others become extra fields under their own names.
//!
//! # From definition to program
//!
//! 1. A notation splits the definition into literal text and values, and keeps the offset of each
//!    for errors.
//! 2. It gives each value a sink, the field that it fills, and a rank.
//! 3. `builder` assigns the fields by rank, turns the rest into extra fields, and finds the end of
//!    each value from the text after it.
//!
//! So nginx, Apache and the others differ only in their syntax and names; all rules about fields
//! are in one place.
//!
//! Mistakes are errors at a place in the definition. An unknown nginx variable is not a mistake:
//! modules add variables, so it becomes an extra field. An unknown Apache directive is one, since
//! Apache would refuse it.

mod apache;
mod builder;
mod delimited;
mod goaccess;
mod item;
mod json;
mod json_template;
mod nginx;
mod positioned;
mod quotes;
pub(super) mod w3c;

pub(super) use self::builder::Variable;
pub(super) use self::json::{
    item_of as json_item_of, without_field as json_without_field, without_key as json_without_key,
};
pub(super) use self::nginx::{is_plain_variable, variable_at};
use super::compiled::Format;
use super::error::FormatError;

/// The name of a known format that the definition, lines of a configuration, has instead of a text.
pub(super) fn name_of(definition: &str) -> Option<&str> {
    goaccess::name_of(definition)
}

/// Compiles a definition. Returns `None` if it is in none of the notations.
///
/// # Errors
/// If the definition is in a notation and has a mistake.
pub(super) fn compile(definition: &str) -> Option<Result<Format, FormatError>> {
    let trimmed = definition.trim();
    if json::prefix_of(trimmed).is_some() {
        return Some(json::compile(definition));
    }
    if let Some((separator, prefix_length)) = delimited::separator_of(trimmed) {
        return Some(delimited::compile(definition, separator, prefix_length));
    }
    if w3c::is_directives(trimmed) {
        return Some(w3c::compile(definition));
    }
    if apache::is_directive(trimmed) {
        return Some(apache::compile(definition));
    }
    if goaccess::is_configuration(trimmed) {
        return Some(goaccess::compile(definition));
    }
    if trimmed.starts_with("log_format") || has_nginx_variable(trimmed) {
        return Some(nginx::compile(definition));
    }
    if goaccess::has_specifier(trimmed) {
        return Some(goaccess::compile(definition));
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
