//! The derived fields that this crate knows, by name.

use super::network::{self, Prefix, USUAL_BITS};
use super::path::{self, PathPart};
use super::time::{self, TimePart};
use super::{DerivedField, SourceName, parameter};
use crate::value::Zone;

/// The most segments of `path/N`.
const SEGMENTS_MAX: usize = 64;

/// The longest name of a parameter, in bytes.
const PARAMETER_BYTES_MAX: usize = 256;

/// The derived field of this name; `None` if this crate has none. Times are told in the zone, or as
/// they were logged.
///
/// # Errors
/// If the name begins as that of a derived field, and its part is not valid.
///
/// # Examples
///
/// ```
/// use weir_core::{DerivedInputs, derived_field};
///
/// let network = derived_field("network/16", None)?.expect("it exists");
/// let mut value = Vec::new();
/// assert!(network.derive(&DerivedInputs::of_texts(&[Some(b"192.0.2.7")]), &mut value));
/// assert_eq!(value, b"192.0.0.0/16");
/// assert!(derived_field("network/200", None).is_err());
/// assert_eq!(derived_field("ssl_protocol", None), Ok(None));
/// # Ok::<(), String>(())
/// ```
pub fn derived_field(name: &str, zone: Option<&Zone>) -> Result<Option<DerivedField>, String> {
    Ok(Some(match name {
        "date" => time::field(name, TimePart::Date, zone),
        "hour" => time::field(name, TimePart::Hour, zone),
        "weekday" => time::field(name, TimePart::Weekday, zone),
        "source" => SourceName::default().into_field(),
        "network" => network::field(name, USUAL_BITS),
        "extension" => path::field(name, PathPart::Extension),
        "static" => path::field(name, PathPart::Static),
        "campaign" => parameter::field(name, &["utm_campaign", "utm_source"]),
        _ => return with_part(name, zone),
    }))
}

/// The derived field whose name has a part that a person chooses.
fn with_part(name: &str, zone: Option<&Zone>) -> Result<Option<DerivedField>, String> {
    if let Some(step) = name.strip_prefix("time/") {
        return time::step_field(name, step, zone).map(Some);
    }
    if let Some(bits) = name.strip_prefix("network/") {
        let bits = number(bits).filter(|bits| *bits <= 128).map(|bits| bits as u8);
        let bits = bits.ok_or_else(|| {
            format!("`{name}` needs the bits of a prefix, 0 to 128: network/24 or network/48")
        })?;
        // A prefix that is longer than an IPv4 address leaves that whole.
        return Ok(Some(network::field(name, Prefix { v4_bits: bits.min(32), v6_bits: bits })));
    }
    if let Some(segments) = name.strip_prefix("path/") {
        let segments = number(segments).filter(|count| (1..=SEGMENTS_MAX).contains(count));
        let segments = segments.ok_or_else(|| {
            format!("`{name}` needs a number of segments, 1 to {SEGMENTS_MAX}: path/1")
        })?;
        return Ok(Some(path::field(name, PathPart::Segments(segments))));
    }
    if let Some(parameter) = name.strip_prefix("query:") {
        if parameter.is_empty() || parameter.len() > PARAMETER_BYTES_MAX {
            return Err(format!("`{name}` needs the name of a parameter: query:utm_source"));
        }
        return Ok(Some(parameter::field(name, &[parameter])));
    }
    Ok(None)
}

/// A number as it is usually written, so that a field has one name.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number: &usize| number.to_string() == text)
}
