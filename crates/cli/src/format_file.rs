//! Formats as the user gives them: a name, a definition, or a file that has one.
//!
//! Such a file is TOML:
//!
//! ```toml
//! name = "shop"
//! definition = '$remote_addr [$time_local] "$request" $status ${request_time=took(ms)} $pool'
//!
//! [fields]
//! pool = "upstream_pool"   # calls a field of the format's own otherwise
//! ```

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_core::{Format, format_by_name};

use crate::outcome::Failure;
use crate::terminal::safe;

/// What the names of such files end with.
const ENDING: &str = ".toml";
/// Larger files are no definitions, and are not read.
const BYTES_MAX: u64 = 1 << 20;

/// The format of that name or definition, or of the file of that name.
pub(crate) fn format_of(text: &str) -> Result<Format, Failure> {
    if !text.trim_end().ends_with(ENDING) {
        return Format::parse(text).map_err(Failure::new);
    }
    let path = Path::new(text);
    let content = read(path)
        .map_err(|error| Failure::new(format_args!("{}: cannot be read: {error}", safe(text))))?;
    format_in(&content).map_err(|fault| {
        let line = content[..fault.at.min(content.len())].matches('\n').count() + 1;
        Failure::new(format_args!("{}:{line}: {}", safe(text), fault.sentence))
    })
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut content = String::new();
    let length = File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut content)?;
    match length as u64 > BYTES_MAX {
        true => Err(std::io::Error::other("it is too large to be a format")),
        false => Ok(content),
    }
}

/// What is wrong, and where in the file, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    at: usize,
    sentence: String,
}

impl Fault {
    fn new(span: &Range<usize>, sentence: impl Into<String>) -> Self {
        Self { at: span.start, sentence: sentence.into() }
    }
}

/// The format that a file's content defines.
fn format_in(content: &str) -> Result<Format, Fault> {
    let document = DeTable::parse(content).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        Fault::new(&span, format!("this is no TOML: {}", error.message()))
    })?;
    let (mut name, mut definition, mut fields) = (None, None, None);
    for (key, value) in document.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(text)) => name = Some((text, value.span())),
            ("definition", DeValue::String(text)) => definition = Some((text, value.span())),
            ("fields", DeValue::Table(table)) => fields = Some(table),
            ("name" | "definition", _) => {
                return Err(Fault::new(&value.span(), "this has to be a text in quotes"));
            }
            ("fields", _) => {
                return Err(Fault::new(&value.span(), "this has to be a table of names"));
            }
            (other, _) => {
                let sentence =
                    format!("`{other}` is not known here; name, definition and fields are");
                return Err(Fault::new(&key.span(), sentence));
            }
        }
    }
    let Some((name, name_span)) = name else {
        return Err(Fault::new(&(0..0), "the format's name is missing: name = \"...\""));
    };
    let Some((definition, definition_span)) = definition else {
        return Err(Fault::new(&(0..0), "the definition is missing: definition = '...'"));
    };
    check_name(name, &name_span)?;
    let mut format = Format::parse(definition)
        .map_err(|error| Fault::new(&definition_span, error.to_string()))?
        .with_name(name);
    for (from, to) in fields.into_iter().flatten() {
        rename(&mut format, from.get_ref(), to)?;
    }
    Ok(format)
}

/// A name stands in tables and sentences, and must not be another's.
fn check_name(name: &str, span: &Range<usize>) -> Result<(), Fault> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_letter) {
        return Err(Fault::new(span, "a name is letters, digits, `-`, `_` and points"));
    }
    match format_by_name(name) {
        Some(_) => Err(Fault::new(span, format!("{name} is a format that Weir knows"))),
        None => Ok(()),
    }
}

fn rename(format: &mut Format, from: &str, to: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
    let DeValue::String(name) = to.get_ref() else {
        return Err(Fault::new(&to.span(), "this has to be a field's new name in quotes"));
    };
    if format.rename_field(from, name) {
        return Ok(());
    }
    let own = format.extra_fields().join(", ");
    let sentence = match format.extra_fields().iter().any(|field| field == from) {
        true => format!("there is a field `{name}` already"),
        false => format!("the format has no field `{from}` of its own; it has: {own}"),
    };
    Err(Fault::new(&to.span(), sentence))
}

#[cfg(test)]
mod tests {
    use super::format_in;

    fn fault(content: &str) -> (usize, String) {
        let fault = format_in(content).expect_err("it is wrong");
        (content[..fault.at].matches('\n').count() + 1, fault.sentence)
    }

    #[test]
    fn reads_a_definition() {
        let content = "# ours\nname = \"shop\"\ndefinition = '''\n$remote_addr $status $pool'''\n\
                       [fields]\npool = \"upstream_pool\"\n";
        let format = format_in(content).expect("it is right");
        assert_eq!(format.name(), "shop");
        assert_eq!(format.extra_fields(), ["upstream_pool"]);
    }

    #[test]
    fn says_which_line_is_wrong() {
        let start = "name = \"shop\"\ndefinition = '$remote_addr $status $pool'\n";
        for (content, line, part) in [
            ("name = \"a\"\nname = \"b\"", 2, "this is no TOML"),
            ("name = \"a\"\ndefinition = '", 2, "this is no TOML"),
            ("definition = '$status'", 1, "name is missing"),
            ("name = \"a\"", 1, "definition is missing"),
            ("name = \"a\"\n\ndefinition = 'x'", 3, "neither a known name"),
            ("name = \"a b\"\ndefinition = '$status'", 1, "a name is letters"),
            ("name = \"combined\"\ndefinition = '$status'", 1, "Weir knows"),
            ("name = 1\ndefinition = '$status'", 1, "a text in quotes"),
            ("title = \"a\"", 1, "`title` is not known"),
            ("fields = 1", 1, "a table of names"),
            (&format!("{start}[fields]\nx = \"y\""), 4, "has: pool"),
            (&format!("{start}[fields]\npool = \"status\""), 4, "`status` already"),
            (&format!("{start}[fields]\npool = 7"), 4, "new name in quotes"),
        ] {
            let (found, sentence) = fault(content);
            assert_eq!(found, line, "{content}: {sentence}");
            assert!(sentence.contains(part), "{content}: {sentence}");
        }
    }
}
