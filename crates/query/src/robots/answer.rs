//! What a census has found, as it is shown.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use weir_core::{ABSENT, Dictionary, Field, Values};
use weir_view::{RobotClient, RobotCohort, RobotReason, RobotSums, Robots, RowValue};

use super::RobotCensus;
use super::cohorts::{Cohort, cohorts};
use super::trace::{LogHas, Trace};

/// The fewest reasons, other than asking for robots.txt.
const REASONS_MIN: usize = 2;

/// The clients of a census, judged.
pub(super) struct Judged<'t> {
    log: LogHas,
    cohorts: Vec<Cohort>,
    /// The clients of the cohorts.
    pub(super) members: HashSet<u32>,
    /// The other clients that are like robots, with the reasons.
    pub(super) alone: HashMap<u32, (&'t Trace, Vec<RobotReason>)>,
    /// The clients that call themselves robots.
    pub(super) declared: HashMap<u32, &'t Trace>,
}

impl RobotCensus {
    /// Judges the clients. `declares` says of an agent whether it calls itself a robot.
    pub(super) fn judge(&self, values: &Values, declares: impl Fn(&[u8]) -> bool) -> Judged<'_> {
        let agents = values.dictionary(Field::UserAgent.column());
        let mut known: HashMap<u32, bool> = HashMap::new();
        let mut declares = |agent: u32| {
            let read = || agents.value(agent).is_some_and(&declares);
            *known.entry(agent).or_insert_with(read)
        };
        let log = LogHas {
            assets: self.clients.values().any(|trace| trace.assets > 0),
            referers: self.clients.values().any(|trace| trace.referers > 0),
        };
        let traces = self.clients.iter().map(|(client, trace)| (*client, trace));
        let paths = values.dictionary(Field::Path.column());
        let cohorts = cohorts(traces.clone(), log, paths, &mut declares);
        let members: HashSet<u32> =
            cohorts.iter().flat_map(|cohort| cohort.clients.iter().copied()).collect();
        let (mut alone, mut declared) = (HashMap::new(), HashMap::new());
        for (client, trace) in traces {
            if trace.is_declared(&mut declares) {
                declared.insert(client, trace);
                continue;
            }
            let reasons = trace.reasons(log);
            if is_robot_like(&reasons) && !members.contains(&client) {
                alone.insert(client, (trace, reasons));
            }
        }
        Judged { log, cohorts, members, alone, declared }
    }

    /// Returns the clients that are like robots, and the cohorts: the `top` of each with the most
    /// requests, and the sums of all. `declares` says of an agent whether it calls itself a robot.
    pub fn robots(&self, values: &Values, top: usize, declares: impl Fn(&[u8]) -> bool) -> Robots {
        let judged = self.judge(values, declares);
        let Judged { log, cohorts, members, alone, declared } = &judged;
        let agents = values.dictionary(Field::UserAgent.column());
        let declared = declared.values().filter(|trace| is_robot_like(&trace.reasons(*log)));
        let declared = sum(declared.copied());
        Robots {
            clients: self.scaled(sum(alone.values().map(|(trace, _)| *trace))),
            declared: self.scaled(declared),
            cohorts: cohorts.len() as u64,
            cohort_clients: self.scaled(sum(members.iter().map(|client| &self.clients[client]))),
            rows: client_rows(alone, values, top),
            cohort_rows: self.cohort_rows(cohorts, agents, top),
            has_assets: log.assets,
            has_referers: log.referers,
            unattributed: self.unattributed,
            sampled: if self.level > 0 { 1 << self.level.min(63) } else { 0 },
        }
    }

    fn cohort_rows(&self, cohorts: &[Cohort], agents: &Dictionary, top: usize) -> Vec<RobotCohort> {
        let row = |cohort: &Cohort| RobotCohort {
            value: text(agents, cohort.agent),
            pattern: RowValue::new(&cohort.pattern, false).text,
            sums: self.scaled(sum(cohort.clients.iter().map(|client| &self.clients[client]))),
            others: (cohort.others as u64) << self.level.min(63),
        };
        let mut rows: Vec<RobotCohort> = cohorts.iter().map(row).collect();
        rows.sort_by(|one, other| {
            let by_requests = other.sums.requests.cmp(&one.sums.requests);
            let by_agent = || one.value.text.cmp(&other.value.text);
            by_requests.then_with(by_agent).then_with(|| one.pattern.cmp(&other.pattern))
        });
        rows.truncate(top);
        rows
    }

    /// The sums of all clients, estimated from those that are kept.
    fn scaled(&self, sums: RobotSums) -> RobotSums {
        let scale = |number: u64| number.saturating_mul(1 << self.level.min(63));
        RobotSums {
            clients: scale(sums.clients),
            requests: scale(sums.requests),
            bytes_sent: scale(sums.bytes_sent),
            errors: scale(sums.errors),
        }
    }
}

/// Returns the clients with the most requests.
fn client_rows(
    alone: &HashMap<u32, (&Trace, Vec<RobotReason>)>,
    values: &Values,
    top: usize,
) -> Vec<RobotClient> {
    let clients = values.dictionary(Field::Client.column());
    let agents = values.dictionary(Field::UserAgent.column());
    let value = |client: u32| clients.value(client).unwrap_or_default();
    let mut rows: Vec<_> = alone.iter().map(|(client, found)| (*client, found)).collect();
    rows.sort_unstable_by_key(|(client, (trace, _))| (Reverse(trace.requests), value(*client)));
    let row = |(client, (trace, reasons)): (u32, &(&Trace, Vec<RobotReason>))| RobotClient {
        value: RowValue::new(value(client), false),
        sums: sum([*trace]),
        agent: trace.agent().map(|agent| text(agents, agent).text),
        reasons: reasons.clone(),
    };
    rows.into_iter().take(top).map(row).collect()
}

/// Whether a client for these reasons is like a robot: people do not ask for robots.txt, and each of the
/// others holds for some of them.
fn is_robot_like(reasons: &[RobotReason]) -> bool {
    reasons.contains(&RobotReason::RobotsTxt) || reasons.len() >= REASONS_MIN
}

fn text(agents: &Dictionary, agent: u32) -> RowValue {
    match agent {
        ABSENT => RowValue::absent(),
        agent => RowValue::new(agents.value(agent).unwrap_or_default(), false),
    }
}

fn sum<'t>(traces: impl IntoIterator<Item = &'t Trace>) -> RobotSums {
    let mut sums = RobotSums::default();
    traces.into_iter().for_each(|trace| add(&mut sums, trace));
    sums
}

fn add(sums: &mut RobotSums, trace: &Trace) {
    sums.clients += 1;
    sums.requests += u64::from(trace.requests);
    sums.bytes_sent = sums.bytes_sent.saturating_add(trace.bytes);
    sums.errors += u64::from(trace.errors);
}
