//! A limit as a person describes it.

use std::path::PathBuf;

/// A file of rules, and what follows from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitConfig {
    /// The file, in a language of `weir rules`.
    pub rule_file: PathBuf,
    /// Its content.
    pub text: String,
    /// What becomes of requests that the rules reject.
    pub mode: LimitMode,
}

/// What becomes of requests that a rule rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitMode {
    /// They are counted and let through.
    Shadow,
    /// They are refused with `429 Too Many Requests`.
    Enforce,
}
