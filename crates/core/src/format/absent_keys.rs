//! Keys of a person's definition that no line has.
//!
//! A key of JSON lines may be missing, so a misspelled one is no mismatch: its field would be empty without
//! a word.

use std::sync::Arc;

use super::catalog::format_by_name;
use super::compiled::Format;
use super::detect::{BYTES_MAX, LINE_BYTES_MAX};
use super::program::Program;
use super::read::line_parser::LineParser;
use crate::line::Lines;

/// The keys of a definition in JSON, LTSV or logfmt that none of these lines has, of the first 256 KiB. Of
/// alternatives the first, if the lines have none. No keys, if no line is in the notation, and for the
/// known formats, which have more keys than any log.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, absent_keys};
///
/// let format = Arc::new(Format::parse("json:time=t,status=s,request_time=tok(ms)")?);
/// let line = br#"{"t":"2025-12-17T09:03:01Z","s":200,"took":7}"#;
/// assert_eq!(absent_keys(&format, line), ["tok"]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
pub fn absent_keys(format: &Arc<Format>, bytes: &[u8]) -> Vec<String> {
    let Program::Json(program) = format.program() else { return Vec::new() };
    let name = format.name().split(" in ").next().unwrap_or_default();
    if format_by_name(name).is_some() {
        return Vec::new();
    }
    let entries = program.entries();
    let mut is_present = vec![false; entries.len()];
    let mut parser = LineParser::new(format.clone());
    let mut text = Vec::new();
    for line in Lines::new(&bytes[..bytes.len().min(BYTES_MAX)]) {
        if line.bytes.len() <= LINE_BYTES_MAX {
            // What is required may be missing.
            parser.matches(line.bytes, &mut text);
            for (entry, is_present) in is_present.iter_mut().enumerate() {
                *is_present |= parser.has_key(entry);
            }
        }
    }
    if !is_present.contains(&true) {
        return Vec::new();
    }
    let group_is_present =
        |group| entries.iter().zip(&is_present).any(|(entry, is)| entry.group == group && *is);
    let is_first = |index: usize| index == 0 || entries[index - 1].group != entries[index].group;
    let absent = entries
        .iter()
        .enumerate()
        .filter(|(index, entry)| is_first(*index) && !group_is_present(entry.group));
    absent.map(|(_, entry)| entry.path.clone()).collect()
}
