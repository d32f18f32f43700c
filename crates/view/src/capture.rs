//! A captured request, upload or feed with its steps: the answer to `GET /glass.json` of `--admin`.

use serde::{Deserialize, Serialize};

/// A captured request, upload or feed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Capture {
    /// Its name, such as `GET /a`, which may contain any character.
    pub name: String,
    /// The start time, in seconds since 1970.
    pub begun: f64,
    /// Its duration in seconds; so far, if it has not ended.
    pub duration: f64,
    /// Whether it has ended. An unfinished one is returned if the wait of the capture ends first.
    pub has_ended: bool,
    /// A sentence about its parts, if it has many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub summary: Option<String>,
    /// The steps in the order in which they ended: the first and the last ones.
    pub steps: Vec<CaptureStep>,
    /// How many of `steps` came before the omitted ones.
    pub first_steps: u64,
    /// The number of omitted steps.
    pub steps_left_out: u64,
    /// The totals of all steps by name, including omitted ones.
    pub totals: Vec<CaptureTotal>,
    /// The captured heads, without secrets.
    pub heads: Vec<CaptureHead>,
}

/// A step: something that was done or waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CaptureStep {
    /// The name of the step.
    pub name: String,
    /// The start time in seconds after the start of the capture; negative if earlier.
    pub begun: f64,
    /// The duration in seconds.
    pub duration: f64,
    /// The number of bytes that the step moved, if it moves bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub bytes: Option<u64>,
    /// Details, which may contain any character.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub detail: String,
}

/// The totals of all steps with one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CaptureTotal {
    /// The name of the steps.
    pub name: String,
    /// The number of steps.
    pub count: u64,
    /// Their total duration in seconds.
    pub duration: f64,
    /// The number of bytes that they moved, if they move bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub bytes: Option<u64>,
    /// The median number of bytes of a step, accurate to about 3 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub bytes_median: Option<u64>,
}

/// The head of a request or a response at one point of its route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CaptureHead {
    /// The sender and the receiver.
    pub title: String,
    /// The text, with a line for each field. It may contain any character.
    pub text: String,
}
