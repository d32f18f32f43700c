//! JSON text of the types of this crate.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value could not be written as JSON, or a text is not the JSON of the expected type.
#[derive(Debug)]
pub struct JsonError(serde_json::Error);

/// Returns a value as JSON on one line, without a line feed.
///
/// # Errors
/// If the value cannot be represented in JSON, such as a map with keys that are not text.
pub fn to_json<T: Serialize>(value: &T) -> Result<String, JsonError> {
    serde_json::to_string(value).map_err(JsonError)
}

/// Parses a value from JSON.
///
/// ```
/// let created: weir_view::SessionCreated = weir_view::from_json(r#"{"id":"3f0c"}"#)?;
/// assert_eq!(weir_view::to_json(&created)?, r#"{"id":"3f0c"}"#);
/// # Ok::<(), weir_view::JsonError>(())
/// ```
///
/// # Errors
/// If the text is not valid JSON, or is the JSON of another type.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    serde_json::from_str(text).map_err(JsonError)
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
