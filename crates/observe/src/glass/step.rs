//! The steps of an observation.

/// Something that a request, an upload or a feed did or waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it was.
    pub name: &'static str,
    /// When it began, in nanoseconds since the observed thing began; negative if it began before, such as the
    /// connection on which a request came.
    pub begun_ns: i64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// The bytes that it moved, if it is a step that moves some.
    pub bytes: Option<u64>,
    /// More about it, for a person; may be empty.
    pub detail: String,
}

/// All steps of one name, those that are left out included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTotal {
    /// What they were.
    pub name: &'static str,
    /// How many.
    pub count: u64,
    /// How long they took together, in nanoseconds.
    pub duration_ns: u64,
    /// The bytes that they moved together, if they move some.
    pub bytes: Option<u64>,
    /// The bytes of the one in the middle, when they are ordered by their bytes; of many bytes to about 3 %.
    pub bytes_median: Option<u64>,
}
