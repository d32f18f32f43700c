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

/// The start of the line with Zeek's names.
const ZEEK_FIELDS: &str = "#fields\t";

/// The fewest names of a header.
const NAMES_MIN: usize = 3;

/// The format of lines after a header, which is the first line or one of Zeek's first lines.
pub(in crate::format) fn header_format<'a>(
    mut lines: impl Iterator<Item = &'a [u8]>,
) -> Option<Arc<Format>> {
    let first = std::str::from_utf8(lines.next()?).ok()?.trim_start_matches('\u{feff}');
    if first.starts_with("#separator") {
        let is_header = |line: &&str| line.starts_with(ZEEK_FIELDS);
        let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
        let header = lines.take_while(|line| line.starts_with('#')).find(is_header)?;
        let format = compile("tabs:", header[ZEEK_FIELDS.len()..].split('\t'))?;
        return Some(Arc::new(format.with_name("ZEEK").with_comments()));
    }
    let (prefix, separator, name) =
        if first.contains('\t') { ("tabs:", '\t', "TSV") } else { ("csv:", ',', "CSV") };
    let format = compile(prefix, first.split(separator).map(|name| name.trim_matches('"')))?;
    Some(Arc::new(format.with_name(name)))
}

/// The format of lines with these columns.
fn compile<'a>(prefix: &str, names: impl Iterator<Item = &'a str>) -> Option<Format> {
    let names: Vec<&str> = names.map(str::trim).collect();
    let is_name = |name: &&str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || "_-.@ ()".contains(letter);
        !name.is_empty() && name.chars().all(is_letter) && name.chars().any(char::is_alphabetic)
    };
    if names.len() < NAMES_MIN || !names.iter().all(is_name) {
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
    let format = Format::parse(&format!("{prefix}{}", items.join(","))).ok()?;
    let is_log = format.fills(Field::Time)
        && [Field::Status, Field::Path, Field::Request].iter().any(|field| format.fills(*field));
    is_log.then_some(format)
}
