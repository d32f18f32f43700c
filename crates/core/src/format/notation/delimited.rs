//! The delimited notation: `spaces:time,client,status,bytes`.
//!
//! | item | meaning |
//! |---|---|
//! | `client` | the next value is the field `client` |
//! | `client=c_ip` | the same; the log calls it `c_ip` |
//! | `client(port)` | an address with a port, which becomes the extra field `port` |
//! | `request_time=took(ms)` | a duration in milliseconds |
//! | `cache_result/status` | one value with two parts |
//! | `_` | a value that is skipped |
//! | `user_agent?` | a line may end after this value |
//!
//! In `tabs:`, `csv:` and `semicolons:` logs a line that begins with the first name is a header, not a record.
//!
//! Values are never optional in the middle: a line has as many values as the definition, unless a
//! `?` allows it to end earlier. The notation exists for formats of services and proxies whose
//! manual is a table of columns; the catalog has several.

use super::builder::FormatBuilder;
use super::item::Item;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::Program;
use crate::format::program::delimited::{Column, DelimitedProgram, Directives, Part, Separator};
use crate::schema::RecordKind;

/// The prefixes of the notation, each with the separator of the values.
const PREFIXES: [(&str, Separator); 4] = [
    ("spaces:", Separator::Spaces),
    ("tabs:", Separator::Tab),
    ("csv:", Separator::Comma),
    ("semicolons:", Separator::Semicolon),
];

/// The separator that the prefix of a definition names, and the length of the prefix.
///
/// `None` if the definition has none of the prefixes.
pub(super) fn separator_of(trimmed: &str) -> Option<(Separator, usize)> {
    let (prefix, separator) = PREFIXES.iter().find(|(prefix, _)| trimmed.starts_with(prefix))?;
    Some((*separator, prefix.len()))
}

/// Compiles the names of the values, separated by commas, in their order in a line.
///
/// A name is that of a field, then, if needed, `=` and the name in the log, and the kind in
/// parentheses (`request_time=took(ms)`). A slash separates the parts of one value
/// (`cache_result/status`). `_` skips a value. After a `?` a line may end, or have further
/// values.
///
/// # Errors
/// If an item has no name, if its kind does not fit the field, or if there are more than 256
/// values.
pub(super) fn compile(
    definition: &str,
    separator: Separator,
    prefix_length: usize,
) -> Result<Format, FormatError> {
    let start = definition.len() - definition.trim_start().len();
    let mut builder = FormatBuilder::new(definition, false);
    let mut parts_of_columns = Vec::new();
    let mut required = None;
    let mut header = None;
    let mut at = start + prefix_length;
    for column in definition[at..].split(',') {
        let padding = column.len() - column.trim_start().len();
        let (names, is_last_required) = match column.trim().strip_suffix('?') {
            Some(names) => (names, true),
            None => (column.trim(), false),
        };
        let mut name_at = at + padding;
        let names: Vec<&str> = split_names(names);
        for name in &names {
            let item = Item { definition, text: name, at: name_at };
            header.get_or_insert(item.column());
            builder.value(item.variable()?);
            name_at += name.len() + 1;
        }
        parts_of_columns.push(names.len());
        if is_last_required {
            required.get_or_insert(parts_of_columns.len());
        }
        at += column.len() + 1;
    }
    let directives = match (separator, header) {
        (Separator::Comma | Separator::Tab | Separator::Semicolon, Some(name)) => {
            Directives::Header(name.into())
        }
        _ => Directives::None,
    };
    builder.finish_values(|variables| {
        let mut parts =
            variables.into_iter().map(|variable| Part { sink: variable.sink, name: variable.name });
        let columns: Vec<Column> = parts_of_columns
            .iter()
            .map(|count| Column { parts: parts.by_ref().take(*count).collect() })
            .collect();
        let required = required.unwrap_or(columns.len());
        let kind = RecordKind::Request;
        Program::Delimited(DelimitedProgram {
            separator,
            columns,
            required,
            directives,
            header: None,
            day: None,
            kind,
        })
    })
}

/// Splits at slashes, except for those in the parentheses of a kind.
fn split_names(text: &str) -> Vec<&str> {
    let mut depth = 0u32;
    let is_slash = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '/' && depth == 0
    };
    text.split(is_slash).collect()
}
