//! Lines of values whose names stand in a header: CSV, and the TSV of Zeek.
//!
//! ```text
//! time,client_ip,method,path,status           the first line of a CSV file
//! #fields<tab>ts<tab>uid<tab>id.orig_h        the header of Zeek's http.log
//! ```
//!
//! The names are those that JSON logs have for their keys. A header that names no time, or neither a status
//! nor a path, is not that of a log of requests.

use std::sync::Arc;

use super::names::field_name;
use crate::field::Field;
use crate::format::catalog::format_by_name;
use crate::format::compiled::Format;
use crate::format::notation::json_item_of;
use crate::format::program::Program;
use crate::format::program::delimited::{Directives, ZEEK_FIELDS};

/// The fewest names of a header.
const NAMES_MIN: usize = 3;

/// The format of lines after a header, which is the first line or one of Zeek's first lines. A later header
/// may change the columns.
pub(in crate::format) fn header_format<'a>(
    mut lines: impl Iterator<Item = &'a [u8]>,
) -> Option<Arc<Format>> {
    let first = lines.next()?;
    let is_zeek = first.starts_with(b"#separator");
    let definition = match is_zeek {
        true => lines.take_while(|line| line.starts_with(b"#")).find_map(definition_of),
        false => definition_of(first),
    }?;
    let name = match (is_zeek, definition.starts_with("tabs:")) {
        (true, _) => "ZEEK",
        (false, true) => "TSV",
        (false, false) => "CSV",
    };
    let mut format = Format::parse(&definition).ok()?.with_name(name);
    let Program::Delimited(mut program) = format.program().clone() else { return None };
    program.header = Some(definition_of);
    if is_zeek {
        program.directives = Directives::Comments;
    }
    format.set_program(Program::Delimited(program));
    Some(Arc::new(format))
}

/// The definition of the lines after a header; `None` if the line is none.
fn definition_of(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.trim_start_matches('\u{feff}');
    let (line, prefix, separator) = match line.strip_prefix(ZEEK_FIELDS) {
        Some(names) => (names, "tabs:", '\t'),
        None if line.contains('\t') => (line, "tabs:", '\t'),
        None => (line, "csv:", ','),
    };
    let names = line.split(separator).map(|name| name.trim_matches('"').trim());
    let is_name = |name: &str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || "_-.@ ()".contains(letter);
        !name.is_empty() && name.chars().all(is_letter) && name.chars().any(char::is_alphabetic)
    };
    // Most lines end here, with their first value.
    if !names.clone().all(is_name) {
        return None;
    }
    let names: Vec<&str> = names.collect();
    if names.len() < NAMES_MIN {
        return None;
    }
    let json = format_by_name("JSON")?;
    let item = |name: &&str| {
        // A number of the kind `unit` has none.
        let known = json_item_of(json.definition(), name).filter(|item| !item.ends_with("(unit)"));
        known.unwrap_or_else(|| field_name(name))
    };
    let mut items: Vec<String> = names.iter().map(item).collect();
    // A URL fills the host too, unless a column has it.
    if items.iter().any(|item| item.starts_with("host=")) {
        items.iter_mut().for_each(|item| *item = item.replace("(url)", ""));
    }
    let definition = format!("{prefix}{}", items.join(","));
    let format = Format::parse(&definition).ok()?;
    let is_log = format.fills(Field::Time)
        && [Field::Status, Field::Path, Field::Request].iter().any(|field| format.fills(*field));
    is_log.then_some(definition)
}
