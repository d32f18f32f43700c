//! Which stages a screen shows, and in which order.

use weir_view::{Route, RouteStage, RouteStageKind};

/// The stages of a route, by what they do now.
#[derive(Debug)]
pub(super) struct StageOrder<'a> {
    route: &'a Route,
    /// The stages that fail, the slowest, then those that work or move data, in the order of the
    /// route.
    active: Vec<usize>,
    /// How many of them come first in any case: those that fail, and the slowest.
    foremost: usize,
    /// The others.
    idle: Vec<usize>,
}

impl<'a> StageOrder<'a> {
    /// Sorts the stages of this route.
    pub(super) fn of(route: &'a Route) -> Self {
        let slowest = route.slowest.stage.filter(|at| *at < route.stages.len());
        let is_failing = |at: &usize| route.stages[*at].is_failing;
        let (failing, others): (Vec<usize>, Vec<usize>) =
            (0..route.stages.len()).partition(is_failing);
        let others = others.into_iter().filter(|at| Some(*at) != slowest);
        let (active, idle): (Vec<usize>, Vec<usize>) =
            others.partition(|at| is_active(&route.stages[*at]));
        let slowest = slowest.filter(|at| !is_failing(at));
        let foremost: Vec<usize> = failing.into_iter().chain(slowest).collect();
        let count = foremost.len();
        Self { route, active: [foremost, active].concat(), foremost: count, idle }
    }

    /// Returns the number of rows of all stages.
    pub(super) fn rows(&self) -> usize {
        self.route.stages.len()
    }

    /// Returns the stages that fit into `rows_max` rows, and a line about the others.
    pub(super) fn shown(&self, rows_max: usize) -> (Vec<usize>, Option<String>) {
        if self.rows() <= rows_max {
            return (self.active.iter().chain(&self.idle).copied().collect(), None);
        }
        if rows_max < 2 && !self.active.is_empty() {
            return (self.busiest(rows_max), None);
        }
        let shown = self.busiest(rows_max.saturating_sub(1));
        let rest = self.rest(self.active.len() - shown.len());
        (shown, (rows_max > 0).then_some(rest))
    }

    /// Returns the most active stages, in the same order as all of them.
    fn busiest(&self, count: usize) -> Vec<usize> {
        let mut ranked: Vec<usize> = (0..self.active.len()).collect();
        if let Some(others) = ranked.get_mut(self.foremost..) {
            others.sort_by(|one, other| {
                let [one, other] =
                    [one, other].map(|at| work(&self.route.stages[self.active[*at]]));
                other.partial_cmp(&one).unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        ranked.truncate(count);
        ranked.sort_unstable();
        ranked.into_iter().map(|at| self.active[at]).collect()
    }

    /// Describes the stages that are left out: `2 more busy, 5 idle and 1 ended stages`.
    fn rest(&self, active: usize) -> String {
        let ended = self.idle.iter().filter(|at| self.route.stages[**at].has_ended).count();
        let idle = self.idle.len() - ended;
        let parts = [(active, "more busy"), (idle, "idle"), (ended, "ended")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let noun = if active + idle + ended == 1 { "stage" } else { "stages" };
        format!("{} {noun}", parts.join(", "))
    }
}

/// Whether a stage does something that its row shows.
fn is_active(stage: &RouteStage) -> bool {
    let (busy, bytes) = work(stage);
    let records = stage.rates.and_then(|rates| rates.records).unwrap_or_default();
    // The least numbers that are not shown as zero.
    let moves = busy > 0.0 || bytes >= 0.5 || records >= 0.05;
    let has_requests = stage.in_flight.is_some_and(|requests| requests > 0);
    let is_filled =
        stage.stage == RouteStageKind::Queue && stage.held_bytes.is_some_and(|held| held > 0);
    !stage.has_ended && (moves || has_requests || is_filled)
}

/// Returns the busy time of a stage in a second, in the precision of its row, and the bytes.
fn work(stage: &RouteStage) -> (f64, f64) {
    let rates = stage.rates.unwrap_or_default();
    let busy = (rates.busy.unwrap_or_default() * 100.0).round() / 100.0;
    (busy, rates.bytes.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use weir_view::{PassedRates, Route, RouteStage, RouteStageKind, SlowestStage};

    use super::StageOrder;

    fn stage(busy: f64, bytes: f64) -> RouteStage {
        let rates = PassedRates { busy: Some(busy), bytes: Some(bytes), ..PassedRates::default() };
        RouteStage { rates: Some(rates), ..RouteStage::new(RouteStageKind::Source, "") }
    }

    #[test]
    fn the_slowest_comes_first_and_idle_stages_are_collapsed() {
        let ended = RouteStage { has_ended: true, ..stage(0.0, 0.0) };
        let stages = vec![
            stage(0.0, 0.0),
            stage(0.1, 0.0),
            stage(0.0, 9e6),
            ended,
            stage(0.9, 0.0),
            stage(0.004, 0.4),
            stage(0.2, 0.0),
        ];
        let slowest = SlowestStage { stage: Some(4), reason: String::new() };
        let route = Route { stages, slowest, ..Route::default() };
        let order = StageOrder::of(&route);
        assert_eq!(order.shown(7), (vec![4, 1, 2, 6, 0, 3, 5], None));
        let rest = |text: &str| Some(text.to_owned());
        assert_eq!(order.shown(6), (vec![4, 1, 2, 6], rest("2 idle, 1 ended stages")));
        assert_eq!(order.shown(4), (vec![4, 1, 6], rest("1 more busy, 2 idle, 1 ended stages")));
        assert_eq!(order.shown(1), (vec![4], None));
        assert_eq!(order.shown(0), (vec![], None));
    }

    #[test]
    fn those_that_fail_come_first_even_if_nothing_passes_them() {
        let failing = RouteStage { is_failing: true, ..stage(0.0, 0.0) };
        let stages =
            vec![stage(0.0, 0.0), stage(0.1, 0.0), stage(0.9, 0.0), stage(0.5, 0.0), failing];
        let slowest = SlowestStage { stage: Some(2), reason: String::new() };
        let mut route = Route { stages, slowest, ..Route::default() };
        let rest = |text: &str| Some(text.to_owned());
        assert_eq!(StageOrder::of(&route).shown(5), (vec![4, 2, 1, 3, 0], None));
        let shown = StageOrder::of(&route).shown(4);
        assert_eq!(shown, (vec![4, 2, 3], rest("1 more busy, 1 idle stages")));
        assert_eq!(StageOrder::of(&route).shown(1), (vec![4], None));
        route.slowest.stage = Some(4);
        assert_eq!(StageOrder::of(&route).shown(5), (vec![4, 1, 2, 3, 0], None));
    }

    #[test]
    fn requests_in_progress_and_a_filled_queue_are_no_rest() {
        let waiting = RouteStage { in_flight: Some(1), ..stage(0.0, 0.0) };
        let held = RouteStage { held_bytes: Some(1), ..stage(0.0, 0.0) };
        let queue = RouteStage { stage: RouteStageKind::Queue, ..held.clone() };
        let stages = vec![held, waiting, queue];
        let route = Route { stages, ..Route::default() };
        let (shown, rest) = StageOrder::of(&route).shown(2);
        assert_eq!((shown, rest.as_deref()), (vec![1], Some("1 more busy, 1 idle stages")));
    }
}
