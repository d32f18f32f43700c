//! The stages of the last seconds. They are read only while somebody asks for them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use weir_view::{Passed, Route, RouteStage};

use super::slowest::slowest;
use crate::part::STAGES_OF_KIND_MAX;

/// The stages are kept this often. A page asks for them each second.
const INTERVAL: Duration = Duration::from_millis(900);

/// Rates are of this time at most.
const SPAN_MAX: Duration = Duration::from_secs(5);

/// A time shorter than this would give rates that jump.
const SPAN_MIN: Duration = Duration::from_millis(500);

/// The stages of the last seconds, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<(Instant, Vec<RouteStage>)>);

impl History {
    /// The route with its rates, from the stages at this moment.
    pub(crate) fn route(&mut self, now: Instant, mut stages: Vec<RouteStage>) -> Route {
        let age = |then: &Instant| now.saturating_duration_since(*then);
        // A little longer, so that a page that asks each second compares with five seconds before.
        self.0.retain(|(then, _)| age(then) <= SPAN_MAX + INTERVAL / 2);
        let is_due = self.0.back().is_none_or(|(then, _)| age(then) >= INTERVAL);
        if is_due {
            self.0.push_back((now, stages.clone()));
        }
        let before = self.0.front().filter(|(then, _)| age(then) >= SPAN_MIN);
        let span = before.map(|(then, _)| age(then).as_secs_f64());
        if let (Some((_, before)), Some(span)) = (before, span) {
            for stage in &mut stages {
                let passed = match before.iter().find(|other| stage.is_same(other)) {
                    Some(same) => same.passed,
                    // It may have been there without being shown, so what it did lately is not known.
                    None if is_full(before, stage) => continue,
                    None => Passed::default(),
                };
                stage.rates = Some(stage.passed.rates_since(&passed, span));
            }
        }
        let slowest = slowest(&stages);
        Route { span, stages, slowest }
    }
}

/// Whether as many stages of a kind were shown as there may be.
fn is_full(stages: &[RouteStage], of: &RouteStage) -> bool {
    stages.iter().filter(|stage| stage.stage == of.stage).count() >= STAGES_OF_KIND_MAX
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use weir_view::{Passed, RouteStage, RouteStageKind};

    use super::{History, STAGES_OF_KIND_MAX};

    fn stages(bytes: u64) -> Vec<RouteStage> {
        let mut stage = RouteStage::new(RouteStageKind::Source, "a");
        stage.passed = Passed { bytes: Some(bytes), ..Passed::default() };
        vec![stage]
    }

    #[test]
    fn rates_are_of_the_last_seconds() {
        let mut history = History::default();
        let start = Instant::now();
        let mut rate = |ms: u64, bytes| {
            let route = history.route(start + Duration::from_millis(ms), stages(bytes));
            (route.span, route.stages[0].rates.and_then(|rates| rates.bytes))
        };
        assert_eq!(rate(0, 0), (None, None), "there is nothing to compare with");
        assert_eq!(rate(100, 50), (None, None), "it is too early");
        assert_eq!(rate(1_000, 500), (Some(1.0), Some(500.0)));
        for second in 2..=8 {
            rate(1_000 * second, 500);
        }
        assert_eq!(rate(9_000, 5_500), (Some(5.0), Some(1_000.0)), "the first seconds are over");
        assert_eq!(rate(100_000, 9_000), (None, None), "nobody has asked for a long time");
    }

    #[test]
    fn a_new_stage_began_with_nothing() {
        let mut history = History::default();
        let start = Instant::now();
        history.route(start, Vec::new());
        let route = history.route(start + Duration::from_secs(2), stages(10));
        assert_eq!(route.stages[0].rates.and_then(|rates| rates.bytes), Some(5.0));
    }

    #[test]
    fn a_stage_that_is_shown_late_has_no_rate_at_first() {
        let mut history = History::default();
        let start = Instant::now();
        let stage = |index: usize| {
            let mut stage = RouteStage::new(RouteStageKind::Source, &index.to_string());
            stage.passed = Passed { bytes: Some(1_000_000), ..Passed::default() };
            stage
        };
        history.route(start, (0..STAGES_OF_KIND_MAX).map(stage).collect());
        // The first has ended, and one that was there before takes its place.
        let shown = || (1..=STAGES_OF_KIND_MAX).map(stage).collect();
        let route = history.route(start + Duration::from_secs(2), shown());
        let rates = |route: &weir_view::Route, index: usize| route.stages[index].rates;
        assert_eq!(rates(&route, STAGES_OF_KIND_MAX - 1), None);
        assert_eq!(rates(&route, 0).and_then(|rates| rates.bytes), Some(0.0));
        let route = history.route(start + Duration::from_secs(6), shown());
        let late = rates(&route, STAGES_OF_KIND_MAX - 1);
        assert_eq!(late.and_then(|rates| rates.bytes), Some(0.0), "it is known now");
    }
}
