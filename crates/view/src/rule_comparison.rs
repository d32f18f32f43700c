//! Two rules over the same records.

use serde::{Deserialize, Serialize};

/// The keys that two rules catch. The counts are those of all keys; lists have the first 500.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleComparison {
    /// The rule that the question compares with.
    pub first: RuleSide,
    /// The rule of the question.
    pub second: RuleSide,
    /// The keys that both catch.
    pub both: KeySet,
    /// The keys that only the first catches.
    pub first_only: KeySet,
    /// The keys that only the second catches.
    pub second_only: KeySet,
}

/// What one of two rules does. Several rules in one text are replayed each alone and added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleSide {
    /// The requests that it rejects.
    pub rejected: u64,
    /// The requests for which it cannot be told.
    pub undecided: u64,
    /// The keys for which it cannot be told; they count as not caught.
    pub undecided_keys: u64,
}

/// Some keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KeySet {
    /// Their number.
    pub keys: u64,
    /// The first of them, those farthest over the limit first, with U+FFFD for bytes that are not
    /// UTF-8.
    pub list: Vec<String>,
}
