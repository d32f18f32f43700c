//! Lines as JSON objects.

use std::io::{self, Write};

use super::fields::RecordFields;

/// Writes a line as an object on a line of its own: `file`, `line`, the record's fields by
/// name where it fits the format, and `raw`, with `raw_hex` where that had to replace bytes
/// that are no UTF-8.
pub(super) fn write(
    output: &mut impl Write,
    name: &str,
    number: u64,
    line: &[u8],
    fields: Option<RecordFields<'_>>,
) -> io::Result<()> {
    write!(output, "{{\"file\":{},\"line\":{number}", quoted(name.as_bytes())?)?;
    if let Some(RecordFields { columns, record }) = fields {
        for (name, place) in columns {
            let Some(value) = place.value(record) else { continue };
            let value = match place.is_number() {
                true => String::from_utf8_lossy(&value).into_owned(),
                false => quoted(&value)?,
            };
            // A format's own field may be named as ours are; JSON has no rule against that,
            // but readers keep only one of them.
            let own = matches!(name.as_str(), "file" | "line" | "raw" | "raw_hex");
            let name = if own { format!("log_{name}") } else { name.clone() };
            write!(output, ",{}:{value}", quoted(name.as_bytes())?)?;
        }
    }
    write!(output, ",\"raw\":{}", quoted(line)?)?;
    if std::str::from_utf8(line).is_err() {
        let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
        write!(output, ",\"raw_hex\":\"{hex}\"")?;
    }
    output.write_all(b"}\n")
}

fn quoted(bytes: &[u8]) -> io::Result<String> {
    Ok(serde_json::to_string(&String::from_utf8_lossy(bytes))?)
}
