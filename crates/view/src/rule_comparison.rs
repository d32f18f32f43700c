//! The comparison of two rules over the same records.

use serde::{Deserialize, Serialize};

/// The keys that two rules catch. The counts include all keys; the lists have the first 500.
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

/// The effect of one of the two rules. If a text has several rules, each is replayed alone, and the
/// numbers are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleSide {
    /// The number of requests that it rejects; the likeliest one if it is not certain.
    pub rejected: u64,
    /// The number of requests whose outcome is undecided.
    pub undecided: u64,
    /// The number of keys whose outcome is undecided. They count as caught if that is likely.
    pub undecided_keys: u64,
}

/// A set of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KeySet {
    /// The number of keys.
    pub keys: u64,
    /// The first keys, those farthest over the limit first, with U+FFFD for bytes that are not
    /// UTF-8.
    pub list: Vec<String>,
}
