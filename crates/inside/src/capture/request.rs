//! The parameters of a request for a capture.

use std::time::Duration;

use weir_server::query_parameters;

use crate::capture_kind::CaptureKind;
use crate::parameters::{ParameterError, parse_seconds};

/// The default wait, in seconds.
const CAPTURE_SECONDS: u64 = 30;

/// A request for a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaptureRequest {
    pub(crate) kind: CaptureKind,
    pub(crate) condition: Option<String>,
    pub(crate) patience: Duration,
}

impl CaptureRequest {
    /// Parses a path with its query; `None` if the path is not `/glass.json`.
    ///
    /// # Errors
    /// If a parameter is invalid.
    pub(crate) fn read(path: &str, query: Option<&str>) -> Option<Result<Self, ParameterError>> {
        (path == "/glass.json").then(|| Self::with_parameters(query))
    }

    fn with_parameters(query: Option<&str>) -> Result<Self, ParameterError> {
        let (mut kind, mut condition) = (CaptureKind::Request, None);
        let mut patience = Duration::from_secs(CAPTURE_SECONDS);
        for (name, value) in query_parameters(query) {
            match &*name {
                "kind" => {
                    let named = CaptureKind::ALL.into_iter().find(|kind| kind.name() == value);
                    kind = named.ok_or_else(|| {
                        let names = CaptureKind::ALL.map(CaptureKind::name).join(", ");
                        ParameterError::value("kind", &value, format!("one of {names}"))
                    })?;
                }
                "condition" => condition = Some(value).filter(|text| !text.trim().is_empty()),
                "seconds" => patience = parse_seconds(&value)?,
                other => {
                    return Err(ParameterError::unknown(other, "kind, condition or seconds"));
                }
            }
        }
        Ok(Self { kind, condition, patience })
    }
}

#[cfg(test)]
mod tests {
    use super::{CaptureKind, CaptureRequest, Duration};

    #[test]
    fn parameters_are_checked() {
        let read = |query| CaptureRequest::read("/glass.json", query);
        let expected = |kind, condition: Option<&str>, seconds| {
            let (condition, patience) =
                (condition.map(str::to_owned), Duration::from_secs(seconds));
            Some(Ok(CaptureRequest { kind, condition, patience }))
        };
        assert_eq!(read(None), expected(CaptureKind::Request, None, 30));
        let query = "kind=feed&seconds=60&condition=";
        assert_eq!(read(Some(query)), expected(CaptureKind::Feed, None, 60));
        let query = "condition=status%3E%3D500+and+path%3D%2Fa";
        let condition = Some("status>=500 and path=/a");
        assert_eq!(read(Some(query)), expected(CaptureKind::Request, condition, 30));
        assert_eq!(CaptureRequest::read("/glass", None), None);
        for query in ["seconds=0", "seconds=3600", "seconds=x", "kind=pages", "conditions=a"] {
            assert!(read(Some(query)).expect("the path").is_err(), "{query}");
        }
    }
}
