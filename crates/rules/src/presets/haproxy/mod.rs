//! Rates of HAProxy's stick tables: which requests lines track, what their counters count, and the
//! counts over which other lines deny.
//!
//! Each denial by a counter becomes a limit. Rates are the two periods of `src/freq_ctr.c`. What a
//! counter counts follows `http_wait_for_request`, `http_wait_for_response` and the deny actions of
//! `src/http_ana.c`, and `src/stick_table.c`. [`configuration`] reads the lines, [`condition`] what
//! comes after `if` and `unless`, [`counter`] the names of counters, and [`limits`] makes limits of
//! them.

mod condition;
mod configuration;
mod counter;
mod limits;
mod request_condition;
#[cfg(test)]
mod tests;

use weir_core::PatternBudget;

use self::configuration::Configuration;
use super::Preset;
use crate::error::RuleError;
use crate::windows::lines;

/// Whether a text tracks requests, or has a table in which they are counted.
pub(super) fn looks_like(text: &str) -> bool {
    let has = |name: &str| text.contains(name);
    has("stick-table") && (has("type ") || has("store ")) || has("-request track-sc")
}

/// Reads a configuration.
///
/// # Errors
/// If it has no table, nothing is tracked or denied, or a part is not valid.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let mut configuration = Configuration::default();
    for words in lines(text) {
        configuration.read(&words)?;
    }
    limits::presets(configuration, budget)
}
