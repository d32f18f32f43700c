//! Zones of caddy-ratelimit in a Caddyfile.

mod key;
mod matcher;
mod surroundings;
#[cfg(test)]
mod tests;
mod zone;

use weir_core::PatternBudget;

use self::surroundings::Surroundings;
use self::zone::Zone;
use super::Preset;
use crate::error::RuleError;
use crate::windows::{Limit, Word, lines};

/// Whether a text has `rate_limit` with a zone.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains("rate_limit") && lines(text).any(|line| is_zone(&line))
}

fn is_zone(line: &[Word<'_>]) -> bool {
    matches!(line, [first, _, last] if first.text == "zone" && last.text == "{")
}

/// Reads the zones.
///
/// # Errors
/// If there is none, or one lacks its window or its events.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let (mut zones, mut zone) = (Vec::new(), None::<Zone<'_>>);
    let mut surroundings = Surroundings::default();
    for line in lines(text) {
        match &mut zone {
            None if is_zone(&line) => {
                zone = Some(Zone::new(line[1], surroundings.conditions.clone()));
            }
            None => surroundings.read(&line),
            Some(current) => {
                if current.read(&line)? {
                    zones.extend(zone.take());
                }
            }
        }
    }
    // A text that is cut off may lack the end of its last zone.
    if let Some(mut cut) = zone.filter(|zone| zone.events.is_some() && zone.window_ns.is_some()) {
        let message = "the text ends before this zone: its `}` is taken to be at the end";
        cut.notes.push(cut.name.error(message));
        zones.push(cut);
    }
    let mut presets = zones
        .into_iter()
        .map(|zone| Ok((zone.name, zone.preset(budget)?)))
        .collect::<Result<Vec<_>, RuleError>>()?;
    note_order(&mut presets, surroundings.handlers);
    let mut presets: Vec<Preset> = presets.into_iter().map(|(_, preset)| preset).collect();
    for preset in &mut presets {
        preset.notes.extend(surroundings.notes.iter().cloned());
    }
    if presets.is_empty() {
        Err(RuleError::new(0..0, "there is no `zone NAME { ... }` that ends with `}`"))
    } else {
        Ok(presets)
    }
}

/// Names the zones that others come before. `ServeHTTP` of handler.go asks the zones with the most
/// events in a time first, and ends with the first that rejects, so that later ones do not count
/// the request.
fn note_order(zones: &mut [(Word<'_>, Preset)], handlers: usize) {
    let events_of =
        |limit: &Limit, other: &Limit| limit.count as u128 * u128::from(other.window_ns);
    let is_after =
        |limit: &Limit, other: &Limit| events_of(limit, other) <= events_of(other, limit);
    let is_later = |at: usize| {
        let others = zones.iter().enumerate().filter(|(other, _)| *other != at);
        others
            .into_iter()
            .any(|(_, (_, other))| handlers > 1 || is_after(&zones[at].1.limit, &other.limit))
    };
    let later: Vec<usize> = (0..zones.len()).filter(|at| is_later(*at)).collect();
    for at in later {
        let (name, preset) = &mut zones[at];
        let message = "the zone is replayed alone: requests that another zone rejects before count \
                       here, and not in Caddy";
        preset.notes.push(name.error(message));
    }
}
