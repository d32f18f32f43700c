//! Backends that fail, as a sentence.

use weir_view::{RouteStage, RouteStageKind};

use super::{of_kinds, rates};

/// Names the backend with the most failed requests among those that fail, and counts the others.
/// `None` if no backend fails.
pub(super) fn of_failing(stages: &[RouteStage]) -> Option<String> {
    let failing = of_kinds(stages, &[RouteStageKind::Backend]);
    let failing = failing.map(|(_, stage)| stage).filter(|stage| stage.is_failing);
    let failed = |stage: &RouteStage| stage.passed.failed.unwrap_or_default();
    let worst = failing.clone().max_by_key(|stage| failed(stage))?;
    let others = match failing.count() - 1 {
        0 => String::new(),
        1 => " One more backend fails.".to_owned(),
        others => format!(" {others} more backends fail."),
    };
    Some(format!("The backend {} fails: {}.{others}", worst.name, reason(worst)))
}

fn reason(stage: &RouteStage) -> String {
    let recent = rates(stage);
    let share = recent.failed.unwrap_or_default() / recent.records.unwrap_or_default();
    if share > 0.0 {
        return format!("{:.0}% of its requests in the last second", share.min(1.0) * 100.0);
    }
    if stage.servers_available == Some(0) {
        return "none of its servers is available".to_owned();
    }
    let [failed, all] = [stage.passed.failed, stage.passed.records].map(Option::unwrap_or_default);
    format!("{failed} of {all} requests since the start, the last ones among them")
}
