//! A value of a field in a row of a list.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::bytes::{from_hex, hex_if_needed, lossy_text};
use crate::number::is_zero;
use crate::words::NO_VALUE;

/// A value of a field in a row of a list. Its members are flattened into the JSON of the row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RowValue {
    /// The value as logged. Bytes that are not UTF-8 are shown as U+FFFD.
    #[serde(rename = "value")]
    pub text: String,
    /// The bytes of the value in hexadecimal, if some are not UTF-8.
    #[serde(rename = "value_hex", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub hex: Option<String>,
    /// Whether this is the remainder: all values that came after memory ran out.
    #[serde(rename = "remainder", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_remainder: bool,
    /// Whether this stands for the records without the field. If so, `value` is
    /// [`crate::NO_VALUE`].
    #[serde(rename = "absent", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_absent: bool,
    /// The maximum number of records with this value that are counted in the remainder instead.
    /// They came after memory ran out, before the value turned out to be frequent. Missing if the
    /// count is exact.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<u64>"))]
    pub uncounted_max: u64,
}

impl RowValue {
    /// Creates a value from its bytes.
    pub fn new(value: &[u8], is_remainder: bool) -> Self {
        Self {
            text: lossy_text(value),
            hex: hex_if_needed(value),
            is_remainder,
            is_absent: false,
            uncounted_max: 0,
        }
    }

    /// Creates the value for records without the field.
    pub fn absent() -> Self {
        Self { is_absent: true, ..Self::new(NO_VALUE.as_bytes(), false) }
    }

    /// Sets [`Self::uncounted_max`].
    #[must_use]
    pub fn with_uncounted_max(self, uncounted_max: u64) -> Self {
        Self { uncounted_max, ..self }
    }

    /// Returns the value as logged, byte for byte.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self.hex.as_deref().and_then(from_hex) {
            Some(bytes) => Cow::Owned(bytes),
            None => Cow::Borrowed(self.text.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RowValue;

    #[test]
    fn values_keep_their_bytes() {
        for (bytes, hex) in [(&b"\xFF"[..], Some("ff")), ("\u{FFFD}".as_bytes(), None)] {
            let value = RowValue::new(bytes, false);
            assert_eq!((&*value.text, value.hex.as_deref()), ("\u{FFFD}", hex));
            assert_eq!(*value.bytes(), *bytes);
        }
    }

    #[test]
    fn the_json_has_only_the_members_that_are_needed() {
        let json = |value: &RowValue| serde_json::to_string(value).expect("a value");
        assert_eq!(json(&RowValue::new(b"a", false)), r#"{"value":"a"}"#);
        assert_eq!(
            json(&RowValue::new(b"\xFF", true)),
            "{\"value\":\"\u{FFFD}\",\"value_hex\":\"ff\",\"remainder\":true}"
        );
        let late = RowValue::new(b"a", false).with_uncounted_max(3);
        assert_eq!(json(&late), r#"{"value":"a","uncounted_max":3}"#);
    }
}
