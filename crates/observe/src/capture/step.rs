//! The steps of a capture.

/// One action or wait of a request, an upload or a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name of the action.
    pub name: &'static str,
    /// When the step began, in nanoseconds since the subject began. It is negative if it began
    /// before the subject, such as the connection of a request.
    pub begun_ns: i64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// The bytes that it moved; `None` for a step that moves none.
    pub bytes: Option<u64>,
    /// Details for a person; may be empty.
    pub detail: String,
}

/// The totals of all steps with one name, including omitted steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTotal {
    /// The name of the steps.
    pub name: &'static str,
    /// The number of steps.
    pub count: u64,
    /// Their total duration in nanoseconds.
    pub duration_ns: u64,
    /// The total bytes that they moved; `None` for steps that move none.
    pub bytes: Option<u64>,
    /// The median of the bytes of a step. Large values are exact to about 3 %.
    pub bytes_median: Option<u64>,
}

/// What a step moved, and details for a person. A number is the bytes, a text the details.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepDetail {
    /// The bytes that the step moved, if it moves any.
    pub bytes: Option<u64>,
    /// The details; may be empty.
    pub text: String,
}

impl From<String> for StepDetail {
    fn from(text: String) -> Self {
        Self { bytes: None, text }
    }
}

impl From<&str> for StepDetail {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<usize> for StepDetail {
    fn from(bytes: usize) -> Self {
        Self { bytes: Some(bytes as u64), text: String::new() }
    }
}
