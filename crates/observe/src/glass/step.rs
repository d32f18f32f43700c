//! The steps of an observation.

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
