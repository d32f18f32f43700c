//! What the replay of a rule looked at.

use serde::{Deserialize, Serialize};

/// What the replay of a rule looked at: the evidence of its verdicts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LookedAt {
    /// The number of lines that were read; with conditions, those of the records that they select.
    pub lines: u64,
    /// The number of these lines that are in no known format, and that the rule therefore misses.
    pub unparsed: u64,
    /// The number of selected records of the kind that the rule evaluates, or of lines that its own
    /// parser reads.
    pub records: u64,
    /// The number of records that the rule applies to; the verdicts are about them.
    pub evaluated: u64,
    /// The number of lines with a date that the rule understands. Left out if it does not look for
    /// dates itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub dated: Option<u64>,
    /// The patterns that find the events of the rule. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<PatternMatches>>"))]
    pub patterns: Vec<PatternMatches>,
    /// Why nothing was evaluated, and what to do, as sentences. Left out if something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub nothing: Option<String>,
}

/// A pattern of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PatternMatches {
    /// The pattern, as it is written.
    pub pattern: String,
    /// The number of lines that it matches. A line counts for the first pattern that matches it.
    pub lines: u64,
}

impl From<weir_rules::LookedAt> for LookedAt {
    fn from(looked_at: weir_rules::LookedAt) -> Self {
        let weir_rules::LookedAt { lines, unparsed, records, evaluated, dated, patterns, nothing } =
            looked_at;
        let patterns = patterns.into_iter().map(|found| {
            let weir_rules::PatternMatches { pattern, lines } = found;
            PatternMatches { pattern, lines }
        });
        Self { lines, unparsed, records, evaluated, dated, patterns: patterns.collect(), nothing }
    }
}
