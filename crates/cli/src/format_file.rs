//! Formats on the command line: a name, a definition, or a file that contains one.
//!
//! The file is TOML:
//!
//! ```toml
//! name = "shop"
//! definition = '$remote_addr [$time_local] "$request" $status ${request_time=took(ms)} $pool'
//!
//! [fields]
//! pool = "upstream_pool"   # renames an extra field of the format
//! ```
//!
//! The other kind of file is a configuration of GoAccess, whose log-format is the definition.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_core::{Format, format_by_name};

use crate::display::safe;
use crate::outcome::Failure;
use crate::sources::cannot_read;

/// The extension of the files.
const EXTENSION: &str = ".toml";
/// The end of the name of GoAccess's configuration.
const GOACCESS: &str = "goaccess.conf";
/// Larger files are not read, because no definition is this long.
const BYTES_MAX: u64 = 1 << 20;

/// Parses the name of a known format, a definition, or the name of a file that contains one.
///
/// # Errors
/// If the file cannot be read, or the definition is not valid.
pub(crate) fn parse_format(text: &str) -> Result<Format, Failure> {
    let is_goaccess = text.ends_with(GOACCESS);
    if !is_goaccess && !text.trim_end().ends_with(EXTENSION) {
        return Format::parse(text).map_err(Failure::new);
    }
    let path = Path::new(text);
    let content = read(path)
        .map_err(|error| Failure::new(format_args!("{}: {}", safe(text), cannot_read(&error))))?;
    if is_goaccess {
        return parse_goaccess(&content)
            .map_err(|fault| Failure::new(format_args!("{}: {}", safe(text), fault.message)));
    }
    parse_file(&content).map_err(|fault| {
        let line = content[..fault.offset.min(content.len())].matches('\n').count() + 1;
        Failure::new(format_args!("{}:{line}: {}", safe(text), fault.message))
    })
}

/// Parses the content of a configuration of GoAccess. An error is one of the whole file.
fn parse_goaccess(content: &str) -> Result<Format, Fault> {
    let is_format = |line: &str| line.trim_start().starts_with("log-format");
    if !content.lines().any(is_format) {
        let message = "it has no line `log-format`; remove the `#` before the one to use";
        return Err(Fault::new(&(0..0), message));
    }
    Format::parse(content).map_err(|error| Fault::new(&(0..0), error.to_string()))
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut content = String::new();
    let length = File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut content)?;
    match length as u64 > BYTES_MAX {
        true => Err(std::io::Error::other("it is too large for a format; write at most 1 MiB")),
        false => Ok(content),
    }
}

/// An error in a format file.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    /// The offset of the error, in bytes.
    offset: usize,
    message: String,
}

impl Fault {
    fn new(span: &Range<usize>, message: impl Into<String>) -> Self {
        Self { offset: span.start, message: message.into() }
    }
}

/// Parses the content of a format file.
fn parse_file(content: &str) -> Result<Format, Fault> {
    let document = DeTable::parse(content).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        Fault::new(&span, format!("this is not valid TOML: {}", error.message()))
    })?;
    let (mut name, mut definition, mut fields) = (None, None, None);
    for (key, value) in document.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(text)) => name = Some((text, value.span())),
            ("definition", DeValue::String(text)) => definition = Some((text, value.span())),
            ("fields", DeValue::Table(table)) => fields = Some(table),
            ("name" | "definition", _) => {
                return Err(Fault::new(
                    &value.span(),
                    "the value is not a string; write it in quotes",
                ));
            }
            ("fields", _) => {
                return Err(Fault::new(
                    &value.span(),
                    "`fields` is not a table; write [fields] and one line for each name",
                ));
            }
            (other, _) => {
                let message =
                    format!("`{other}` is not a known key; use name, definition and fields");
                return Err(Fault::new(&key.span(), message));
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

/// Checks a name, which is shown in tables and messages. It must not be that of a known format.
fn check_name(name: &str, span: &Range<usize>) -> Result<(), Fault> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_letter) {
        let message =
            format!("`{name}` is not a valid name; use letters, digits, `-`, `_` and `.`");
        return Err(Fault::new(span, message));
    }
    match format_by_name(name) {
        Some(_) => Err(Fault::new(
            span,
            format!("`{name}` is the name of a known format; choose another one"),
        )),
        None => Ok(()),
    }
}

fn rename(format: &mut Format, from: &str, to: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
    let DeValue::String(name) = to.get_ref() else {
        return Err(Fault::new(
            &to.span(),
            "the new name of the field is not a string; write it in quotes",
        ));
    };
    if format.rename_field(from, name) {
        return Ok(());
    }
    let extra = format.extra_fields().join(", ");
    let message = if format.extra_fields().iter().any(|field| field == from) {
        format!("the format already has a field `{name}`; choose another name")
    } else {
        format!("the format has no extra field `{from}`; it has: {extra}")
    };
    Err(Fault::new(&to.span(), message))
}

#[cfg(test)]
mod tests {
    use super::{parse_file, parse_goaccess};

    #[test]
    fn reads_a_configuration_of_goaccess() {
        let content = "# time-format %T\ntime-format %H:%M:%S\ndate-format %d/%b/%Y\n\
                       log-format %h %^[%d:%t %^] \"%r\" %s %b\ncolor-scheme 2\n";
        let format = parse_goaccess(content).expect("a format");
        assert!(format.fills(weir_core::Field::Client) && format.fills(weir_core::Field::Time));
        assert_eq!(parse_goaccess("log-format COMBINED").expect("a format").name(), "COMBINED");
        assert!(
            parse_goaccess("# log-format COMBINED").expect_err("none").message.contains("remove")
        );
        assert!(
            parse_goaccess("log-format %h %Z %^").expect_err("a mistake").message.contains("%Z")
        );
    }

    fn fault(content: &str) -> (usize, String) {
        let fault = parse_file(content).expect_err("an error");
        (content[..fault.offset].matches('\n').count() + 1, fault.message)
    }

    #[test]
    fn parses_a_definition() {
        let content = "# ours\nname = \"shop\"\ndefinition = '''\n$remote_addr $status $pool'''\n\
                       [fields]\npool = \"upstream_pool\"\n";
        let format = parse_file(content).expect("a format");
        assert_eq!(format.name(), "shop");
        assert_eq!(format.extra_fields(), ["upstream_pool"]);
    }

    #[test]
    fn errors_name_their_line() {
        let start = "name = \"shop\"\ndefinition = '$remote_addr $status $pool'\n";
        for (content, line, part) in [
            ("name = \"a\"\nname = \"b\"", 2, "this is not valid TOML"),
            ("name = \"a\"\ndefinition = '", 2, "this is not valid TOML"),
            ("definition = '$status'", 1, "name is missing"),
            ("name = \"a\"", 1, "definition is missing"),
            ("name = \"a\"\n\ndefinition = 'x'", 3, "neither the name of a known format"),
            ("name = \"a b\"\ndefinition = '$status'", 1, "is not a valid name"),
            ("name = \"combined\"\ndefinition = '$status'", 1, "a known format"),
            ("name = 1\ndefinition = '$status'", 1, "write it in quotes"),
            ("title = \"a\"", 1, "`title` is not a known key"),
            ("fields = 1", 1, "is not a table"),
            (&format!("{start}[fields]\nx = \"y\""), 4, "has: pool"),
            (&format!("{start}[fields]\npool = \"status\""), 4, "already has a field `status`"),
            (&format!("{start}[fields]\npool = 7"), 4, "write it in quotes"),
        ] {
            let (found, message) = fault(content);
            assert_eq!(found, line, "{content}: {message}");
            assert!(message.contains(part), "{content}: {message}");
        }
    }
}
