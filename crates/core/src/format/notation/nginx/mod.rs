//! nginx's `log_format`.
//!
//! ```text
//! log_format main '$remote_addr [$time_local] "$request" $status';   the whole directive
//! '$remote_addr [$time_local] "$request" $status'                    its strings
//! $remote_addr [$time_local] "$request" $status                      the bare text
//! ```
//!
//! A value ends where the text after its variable begins. In the default escaping nginx writes a
//! quote inside a value as `\x22`, so a value before a quote cannot contain one. With `escape=none`
//! it can.
//!
//! Sources: the documentation of ngx_http_log_module, and `ngx_http_log_compile_format`
//! (variables are `[A-Za-z0-9_]+` after `$`, or in braces) and `ngx_conf_read_token` (quoting
//! and escapes of the configuration file) in nginx's source.
//!
//! Escaping decides what a value may contain:
//!
//! | `escape` | a quote in a value is written | a value before a quote ends at |
//! |---|---|---|
//! | `default` | `\x22` | the first quote |
//! | `json` | `\"` | the first quote that is not escaped |
//! | `none` | `"` | the first text that follows the value in the format |

mod text;
mod variable;

use self::text::{Escape, is_quoted, start_of, unquote};
use self::variable::add_variables;
pub(in crate::format) use self::variable::{is_plain_variable, variable_at};
use super::builder::FormatBuilder;
use super::json_template::{self, ValueNotation};
use super::positioned::Positioned;
use super::quotes::check_quotes;
use crate::format::compiled::Format;
use crate::format::error::FormatError;

/// Compiles the whole directive (`log_format main '...' '...';`), its quoted strings, or
/// the bare text of a format.
pub(super) fn compile(definition: &str) -> Result<Format, FormatError> {
    let (text, escape) = unquote(definition)?;
    let compiled = compile_text(definition, &text, escape);
    if compiled.is_err() && is_quoted(definition) {
        // `"$status" "$request"` is either two strings of the configuration, with nothing
        // between the variables, or the bare text of a format.
        let bare: Vec<Positioned> = definition.trim().bytes().zip(start_of(definition)..).collect();
        return compile_text(definition, &bare, Escape::Default).or(compiled);
    }
    compiled
}

/// Variables that are numbers in every line.
const NEVER_EMPTY: [&str; 12] = [
    "$body_bytes_sent",
    "$bytes_sent",
    "$connection",
    "$connection_requests",
    "$connection_time",
    "$msec",
    "$pid",
    "$remote_port",
    "$request_length",
    "$request_time",
    "$server_port",
    "$status",
];

/// Compiles the text of a format that is a JSON object.
fn compile_json(definition: &str, text: &[Positioned]) -> Result<Option<Format>, FormatError> {
    let is_number = |value: &[u8]| NEVER_EMPTY.iter().any(|name| name.as_bytes() == value);
    let notation = ValueNotation { sign: b'$', is_number };
    let builder = FormatBuilder::new(definition, false);
    json_template::compile(text, notation, builder, |value, builder| {
        add_variables(definition, value, builder)
    })
}

/// Compiles the text of a format, as JSON if it is escaped so and has the form of an object.
fn compile_text(
    definition: &str,
    text: &[Positioned],
    escape: Escape,
) -> Result<Format, FormatError> {
    if escape == Escape::Json
        && let Some(format) = compile_json(definition, text)?
    {
        return Ok(format);
    }
    check_quotes(definition, text, b'$')?;
    let mut builder = FormatBuilder::new(definition, escape != Escape::None);
    add_variables(definition, text, &mut builder)?;
    builder.finish()
}
