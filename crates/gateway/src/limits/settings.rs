//! The settings of a limit.

use std::path::PathBuf;

/// A rule file, and whether it is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitConfig {
    /// The file, in a language of `weir rules`.
    pub rule_file: PathBuf,
    /// The name by which routes choose it. A limit without one is for all requests.
    pub name: Option<String>,
    /// Its content.
    pub text: String,
    /// Whether requests that the rules reject are refused.
    pub mode: LimitMode,
}

/// Whether requests that a rule rejects are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitMode {
    /// They are counted and forwarded.
    Shadow,
    /// They are refused with `429 Too Many Requests`.
    Enforce,
}
