//! The fields of a record as text.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, Timestamp, Zone, format_rfc3339};

use crate::log_line::FieldValue;

/// Returns the value of a field. Times are in `zone`, or as logged if it is `None`.
pub fn value_in<'a>(
    zone: Option<&Zone>,
    field: FieldAccessor,
    record: &Record<'a>,
) -> Option<Cow<'a, [u8]>> {
    match (zone, field, record.time) {
        (Some(zone), FieldAccessor::Field(Field::Time), Some(time)) => {
            let offset_s = zone.offset_s(time.unix_ns.div_euclid(1_000_000_000));
            Some(Cow::Owned(format_rfc3339(Timestamp { offset_s, ..time }).into_bytes()))
        }
        _ => field.value(record),
    }
}

/// Returns the value of a field as [`LogLine`](crate::LogLine) writes it. Times are in `zone`, or as logged
/// if it is `None`.
pub fn field_value<'a>(
    zone: Option<&Zone>,
    field: FieldAccessor,
    record: &Record<'a>,
) -> Option<FieldValue<'a>> {
    let value = value_in(zone, field, record)?;
    Some(match field.is_number() {
        true => FieldValue::Number(value),
        false => FieldValue::Text(value),
    })
}
