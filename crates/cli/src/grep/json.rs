//! Lines as JSON objects.

use std::io::{self, Write};

use weir_view::{FieldValue, LogLine};

use super::fields::RecordFields;

/// Writes a line as an object on a line of its own.
pub(super) fn write(
    output: &mut impl Write,
    file: &str,
    number: u64,
    raw: &[u8],
    fields: Option<RecordFields<'_>>,
) -> io::Result<()> {
    let fields = fields.iter().flat_map(|fields| {
        fields.columns.iter().filter_map(|(name, accessor)| {
            let value = fields.value(*accessor)?;
            let value = match accessor.is_number() {
                true => FieldValue::Number(value),
                false => FieldValue::Text(value),
            };
            Some((name.as_str(), value))
        })
    });
    LogLine { file, line: number, fields: fields.collect(), raw }.write_json(output)
}
