//! The line that is written for each decision of a replay.

use std::io::{self, Write};

use serde::Serialize;
use weir_rules::Decision;

use super::Verdict;
use super::of_report::millionths;
use crate::bytes::{hex_if_needed, lossy_text};
use crate::json::write_json;

/// The decision about a request, for JSON.
#[derive(Debug, Serialize)]
struct DecisionLine<'a> {
    source: &'a str,
    line: u64,
    rule: &'a str,
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    verdict: Verdict,
    delay_ms: Option<u64>,
    excess: Option<f64>,
    /// The ids of the rules of a set that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a [&'a str]>,
    /// The sum of their scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
}

/// Writes a decision of a rule as a JSON object on a line of its own. `sources` are the source
/// names by number.
///
/// # Errors
/// Fails if `output` cannot be written.
pub fn write_decision(
    output: &mut impl Write,
    rule: &str,
    sources: &[String],
    decision: &Decision<'_>,
) -> io::Result<()> {
    let line = DecisionLine {
        source: sources.get(decision.source as usize).map_or("", String::as_str),
        line: decision.line,
        rule,
        key: lossy_text(decision.key),
        key_hex: hex_if_needed(decision.key),
        verdict: decision.verdict.into(),
        delay_ms: decision.delay_ms,
        excess: decision.excess.map(millionths),
        rules: decision.matched.as_ref().map(|matched| &*matched.ids),
        score: decision.matched.as_ref().and_then(|matched| matched.score),
    };
    write_json(output, &line)?;
    output.write_all(b"\n")
}
