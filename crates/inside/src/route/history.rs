//! The recent history of the stages, from which rates are computed. It is updated only by requests.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use weir_view::{Passed, PassedRates, Route, RouteStage, RouteStageKind};

use super::slowest::slowest;
use crate::part::STAGES_OF_KIND_MAX;

/// The span over which rates are computed, if the route is requested often enough.
const SPAN: Duration = Duration::from_secs(1);

/// The longest span over which rates are computed: five seconds, and some tolerance for late
/// requests.
const SPAN_MAX: Duration = Duration::from_millis(5_500);

/// The shortest span over which rates are computed. Over a shorter one, they would fluctuate.
const SPAN_MIN: Duration = Duration::from_millis(500);

/// Younger entries are all kept; the one that is closest to [`SPAN`] is among them.
const DENSE_SPAN: Duration = Duration::from_millis(1_500);

/// The least time between two older entries.
const SPARSE_INTERVAL: Duration = Duration::from_millis(900);

/// The stages of the last requests, the oldest first. There are at most ten requests a second.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<(Instant, Vec<RouteStage>)>);

impl History {
    /// Returns the route with its rates, given the current stages.
    pub(crate) fn route(&mut self, now: Instant, mut stages: Vec<RouteStage>) -> Route {
        self.drop_old(now);
        let before = self.0.iter().min_by_key(|(then, _)| age(now, *then).abs_diff(SPAN));
        let before = before.filter(|(then, _)| age(now, *then) >= SPAN_MIN);
        let span = before.map(|(then, _)| age(now, *then).as_secs_f64());
        if let (Some(before), Some(oldest)) = (before, self.0.front()) {
            for index in 0..stages.len() {
                let (stage, span) = (&stages[index], age(now, before.0));
                let mut rates = rates_since(stage, &stages, before, span);
                if is_written_in_bursts(stage)
                    && let (Some(rates), Some(long)) =
                        (&mut rates, rates_since(stage, &stages, oldest, age(now, oldest.0)))
                {
                    rates.bytes = long.bytes;
                }
                stages[index].is_failing |= rates.is_some_and(half_have_failed);
                stages[index].rates = rates;
            }
        }
        let without_rates = |stage: &RouteStage| RouteStage { rates: None, ..stage.clone() };
        self.0.push_back((now, stages.iter().map(without_rates).collect()));
        let slowest = slowest(&stages);
        Route { span, stages, slowest, limits: Vec::new() }
    }

    /// Drops entries that are too old, and thins out old ones.
    fn drop_old(&mut self, now: Instant) {
        let youngest = self.0.back().map(|(then, _)| *then);
        let mut last_kept: Option<Instant> = None;
        self.0.retain(|(then, _)| {
            let is_dense = age(now, *then) <= DENSE_SPAN || youngest == Some(*then);
            let is_apart = last_kept.is_none_or(|last| age(*then, last) >= SPARSE_INTERVAL);
            let is_kept = age(now, *then) <= SPAN_MAX && (is_dense || is_apart);
            if is_kept {
                last_kept = Some(*then);
            }
            is_kept
        });
    }
}

/// Whether at least half of the requests have failed that passed in the span of the rates.
fn half_have_failed(rates: PassedRates) -> bool {
    let failed = rates.failed.unwrap_or_default();
    failed > 0.0 && failed * 2.0 >= rates.records.unwrap_or_default()
}

/// Returns the rates of a stage of `stages` since an entry, if they are known. The entry is `span`
/// old.
fn rates_since(
    stage: &RouteStage,
    stages: &[RouteStage],
    (_, before): &(Instant, Vec<RouteStage>),
    span: Duration,
) -> Option<PassedRates> {
    let same = before.iter().find(|other| stage.is_same(other)).map(|same| same.passed);
    let passed = match same {
        _ if stage.is_of_other_views() => same.unwrap_or_default() + ended_views(stages, before),
        Some(passed) => passed,
        // The stage may have existed without being listed.
        None if is_full(before, stage) => return None,
        None => Passed::default(),
    };
    Some(stage.passed.rates_since(&passed, span.as_secs_f64()))
}

/// Returns the former totals of the data sets that have ended since. Their totals are now those of
/// the other views, which did not pass in the meantime.
fn ended_views(stages: &[RouteStage], before: &[RouteStage]) -> Passed {
    let has_ended = |old: &&RouteStage| {
        let is_own = old.stage == RouteStageKind::View && !old.is_of_other_views();
        is_own && !stages.iter().any(|stage| stage.is_same(old))
    };
    before.iter().filter(has_ended).fold(Passed::default(), |sum, old| sum + old.passed)
}

/// Returns whether bytes pass a stage in bursts of megabytes. The system takes an answer for a slow
/// client only after a part of the socket's buffer is free, which may be seconds later.
fn is_written_in_bursts(stage: &RouteStage) -> bool {
    matches!(stage.stage, RouteStageKind::Backend | RouteStageKind::Client)
}

fn age(now: Instant, then: Instant) -> Duration {
    now.saturating_duration_since(then)
}

/// Returns whether the list of stages was full for the kind of `of`.
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
    fn rates_are_of_the_last_second() {
        let mut history = History::default();
        let start = Instant::now();
        let mut rate = |ms: u64, bytes| {
            let route = history.route(start + Duration::from_millis(ms), stages(bytes));
            (route.span, route.stages[0].rates.and_then(|rates| rates.bytes))
        };
        assert_eq!(rate(0, 0), (None, None), "there is nothing to compare with");
        assert_eq!(rate(100, 50), (None, None), "it is too early");
        assert_eq!(rate(1_000, 500), (Some(1.0), Some(500.0)));
        assert_eq!(rate(1_600, 620), (Some(0.6), Some(200.0)), "0.6 s is closer to 1 s than 1.5 s");
        for tenth in 17..=30 {
            rate(100 * tenth, 1_000);
        }
        assert_eq!(rate(3_050, 1_000), (Some(1.05), Some(0.0)), "nothing has flowed for a second");
        assert_eq!(rate(8_000, 5_950), (Some(4.95), Some(1_000.0)), "it was requested rarely");
        assert_eq!(rate(100_000, 9_000), (None, None), "nobody has asked for a long time");
    }

    #[test]
    fn only_entries_that_are_needed_are_kept() {
        let mut history = History::default();
        let start = Instant::now();
        for tenth in 0..100 {
            history.route(start + Duration::from_millis(100 * tenth), stages(0));
        }
        assert!(history.0.len() <= 21, "{}", history.0.len());
    }

    #[test]
    fn bursts_to_a_client_are_averaged() {
        let mut history = History::default();
        let start = Instant::now();
        let mut rates = None;
        for half in 0..=20 {
            // 7 MB every 3.5 s.
            let bytes = half / 7 * 7_000_000;
            let mut stage = RouteStage::new(RouteStageKind::Client, "a");
            stage.passed = Passed { bytes: Some(bytes), ..Passed::default() };
            let route = history.route(start + Duration::from_millis(500 * half), vec![stage]);
            assert!(half < 2 || route.span == Some(1.0), "{:?}", route.span);
            rates = route.stages[0].rates;
            let bytes = rates.and_then(|rates| rates.bytes).unwrap_or_default();
            assert!(half < 10 || (1.2e6..=3e6).contains(&bytes), "{half}: {bytes}");
        }
        assert!(rates.is_some());
    }

    #[test]
    fn views_of_an_ended_data_set_have_not_passed_again() {
        let mut history = History::default();
        let start = Instant::now();
        let view = |number: Option<u64>, name: &str, bytes| RouteStage {
            number: number.map(|number| number.to_string()),
            passed: Passed { bytes: Some(bytes), busy: Some(0.5), ..Passed::default() },
            ..RouteStage::new(RouteStageKind::View, name)
        };
        history.route(start, vec![view(Some(0), "", 1_000)]);
        let mut bytes = |seconds, stages| {
            let route = history.route(start + Duration::from_secs(seconds), stages);
            let rates = route.stages.iter().map(|stage| stage.rates.and_then(|it| it.bytes));
            rates.collect::<Vec<_>>()
        };
        let named =
            |others| vec![view(Some(0), "data set 0", 1_100), view(Some(1), "data set 1", others)];
        assert_eq!(bytes(1, named(5_000)), [Some(100.0), Some(5_000.0)], "a name is no new stage");
        let ended = vec![view(Some(0), "data set 0", 1_100), view(None, "other data sets", 5_020)];
        assert_eq!(bytes(2, ended), [Some(0.0), Some(20.0)]);
        assert_eq!(bytes(3, vec![view(None, "", 6_150)]), [Some(30.0)]);
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
        // The first stage has ended, and one that existed before takes its place in the list.
        let shown = || (1..=STAGES_OF_KIND_MAX).map(stage).collect();
        let route = history.route(start + Duration::from_secs(2), shown());
        let rates = |route: &weir_view::Route, index: usize| route.stages[index].rates;
        assert_eq!(rates(&route, STAGES_OF_KIND_MAX - 1), None);
        assert_eq!(rates(&route, 0).and_then(|rates| rates.bytes), Some(0.0));
        let route = history.route(start + Duration::from_secs(4), shown());
        let late = rates(&route, STAGES_OF_KIND_MAX - 1);
        assert_eq!(late.and_then(|rates| rates.bytes), Some(0.0), "it is known now");
    }
}
