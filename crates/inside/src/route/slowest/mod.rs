//! The bottleneck of the route: the stage that the others wait for, with the reason as a sentence.

mod data;
mod failing;
mod gateway;
#[cfg(test)]
mod tests;

use weir_view::{PassedRates, RouteStage, RouteStageKind, SlowestStage};

use self::data::{of_parsers, of_sources};
use self::failing::of_failing;
use self::gateway::of_gateway;

/// Finds the bottleneck by the rates of the stages.
pub(super) fn slowest(stages: &[RouteStage]) -> SlowestStage {
    let nowhere = |reason: &str| SlowestStage { stage: None, reason: reason.to_owned() };
    if stages.iter().all(|stage| stage.rates.is_none()) {
        return nowhere("Rates will be known in a second.");
    }
    let found = match (of_gateway(stages), of_parsers(stages)) {
        // Both sides are slow, independently of each other.
        (Some(gateway), Some(parsers)) => Some(SlowestStage {
            reason: format!("{} {}", gateway.reason, parsers.reason),
            stage: gateway.stage.or(parsers.stage),
        }),
        (gateway, parsers) => gateway.or(parsers),
    };
    let found = found.or_else(|| of_sources(stages));
    let found = found.unwrap_or_else(|| nowhere("Nothing flows at the moment."));
    match of_failing(stages) {
        Some(failing) => SlowestStage { reason: format!("{failing} {}", found.reason), ..found },
        None => found,
    }
}

fn rates(stage: &RouteStage) -> PassedRates {
    stage.rates.unwrap_or_default()
}

fn busy(stage: &RouteStage) -> f64 {
    rates(stage).busy.unwrap_or_default()
}

fn waiting(stage: &RouteStage) -> f64 {
    rates(stage).waiting.unwrap_or_default()
}

fn bytes_per_second(stage: &RouteStage) -> f64 {
    rates(stage).bytes.unwrap_or_default()
}

fn requests_per_second(stage: &RouteStage) -> f64 {
    rates(stage).records.unwrap_or_default()
}

/// Returns the stages of these kinds with their indices.
fn of_kinds<'s>(
    stages: &'s [RouteStage],
    kinds: &'s [RouteStageKind],
) -> impl Iterator<Item = (usize, &'s RouteStage)> + Clone {
    stages.iter().enumerate().filter(|(_, stage)| kinds.contains(&stage.stage))
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share.min(1.0) * 100.0)
}

/// Formats bytes with a decimal unit.
fn size(bytes: f64) -> String {
    match bytes {
        1e9.. => format!("{:.2} GB", bytes / 1e9),
        1e6.. => format!("{:.1} MB", bytes / 1e6),
        1e3.. => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{bytes:.0} bytes"),
    }
}
