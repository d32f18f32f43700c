//! The counts of clients.
//!
//! Times are the whole seconds in which requests arrive, and the order within a second is not in
//! the log, so the requests of a second are decided together: a verdict holds for every order.

use super::Count;
use crate::event::Event;
use crate::interner::Interner;
use crate::report::{Decision, Exactness, KeyCounts, RequestCounts, RuleReport, Trip, Verdict};
use crate::rule::Replay;
use crate::stamps::Stamps;

/// The most clients that are listed, and that are within the limit.
const LISTED_MAX: [usize; 2] = [1_000_000, 100];

/// The most possible states of a client before its requests become undecided.
const STATES_MAX: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Request {
    arrival_ns: i64,
    line: u64,
    source: u32,
    client: u32,
    /// The events when it arrives, and when it has been handled.
    at_arrival: u32,
    at_end: u32,
}

/// A replay.
///
/// # Memory
///
/// 32 bytes for each request and 5 at the end of the log, and the text of each client.
pub(super) struct QosReplay {
    count: Count,
    requests: Vec<Request>,
    clients: Interner,
    stamps: Stamps,
    /// Whether the arrival may be in the second before, for a request whose stamp is cut to the
    /// second.
    is_ambiguous: bool,
    untimed: u64,
}

/// A count that a client may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    least: u64,
    most: u64,
    /// When the count began.
    begin_s: i64,
}

/// A client without a count.
const NO_COUNT: State = State { least: 0, most: 0, begin_s: 0 };

/// The summary of a client.
#[derive(Debug, Default)]
struct Client {
    requests: RequestCounts,
    /// The highest count, at least and at most, and the position of its request.
    peak: Option<(u64, u64, u32)>,
    /// The position of the first request that was rejected, or may be one of those.
    trip: Option<u32>,
}

impl QosReplay {
    pub(super) fn new(count: Count) -> Self {
        let (requests, clients, stamps) = Default::default();
        Self { count, requests, clients, stamps, is_ambiguous: false, untimed: 0 }
    }

    fn second(&self, position: u32) -> i64 {
        self.requests[position as usize].arrival_ns.div_euclid(1_000_000_000)
    }

    /// Decides about the requests of a client, which are in the order of their arrival.
    fn client(&self, positions: &[u32], is_exact: bool, verdicts: &mut [Verdict]) -> Client {
        let mut client = Client::default();
        // Several states: a block ends in a second, before or after the requests of that second.
        let mut states = Some(vec![NO_COUNT]);
        if !is_exact && self.events(positions) >= self.count.number {
            states = None;
        }
        for group in positions.chunk_by(|one, other| self.second(*one) == self.second(*other)) {
            let Some(known) = states else {
                for position in group {
                    verdicts[*position as usize] = Verdict::Undecided;
                }
                client.take_peak((0, self.events(positions), group[0]));
                continue;
            };
            states = self.decide(&known, group, verdicts, &mut client);
        }
        for position in positions {
            match verdicts[*position as usize] {
                Verdict::Rejected => {
                    client.requests.rejected += 1;
                    client.trip.get_or_insert(*position);
                }
                Verdict::Undecided => client.requests.undecided += 1,
                _ => client.requests.passed += 1,
            }
        }
        // The event that made the count reach the number is one of them.
        if client.trip.is_some() && client.requests.rejected == 0 {
            client.requests.undecided -= 1;
            client.requests.rejected += 1;
        }
        client
    }

    fn events(&self, positions: &[u32]) -> u64 {
        let request = |position: &u32| &self.requests[*position as usize];
        positions
            .iter()
            .map(request)
            .map(|it| u64::from(it.at_arrival) + u64::from(it.at_end))
            .sum()
    }

    /// Decides about the requests of a second, and returns the states after it; `None` if they are
    /// too many.
    fn decide(
        &self,
        before: &[State],
        group: &[u32],
        verdicts: &mut [Verdict],
        client: &mut Client,
    ) -> Option<Vec<State>> {
        let (now_s, number) = (self.second(group[0]), self.count.number);
        let all = self.events(group);
        let mut found = Vec::new();
        let mut may_be_released = false;
        for state in before {
            let end_s = state.begin_s.saturating_add(self.count.seconds);
            let is_over = state.most == 0 || end_s < now_s;
            found.push(if is_over { NO_COUNT } else { *state });
            // A new connection ends a block in the last of its seconds, and a request of an old one
            // in the next.
            let is_last = !is_over && self.count.blocks_connections && end_s == now_s;
            may_be_released |= is_last && state.most + all >= number;
        }
        let request = |position: &u32| &self.requests[*position as usize];
        let at_arrival: u64 = group.iter().map(|it| u64::from(request(it).at_arrival)).sum();
        let mut next: Vec<State> = Vec::new();
        let after = |state: &State| State {
            least: state.least + all,
            most: state.most + all,
            begin_s: if state.most == 0 { now_s } else { state.begin_s },
        };
        next.extend(found.iter().map(after));
        if may_be_released {
            found.push(NO_COUNT);
            next.push(NO_COUNT);
            if all > 0 {
                next.push(State { least: 1, most: all, begin_s: now_s });
            }
        }
        let least = found.iter().map(|state| state.least).min().unwrap_or(0);
        let most = found.iter().map(|state| state.most).max().unwrap_or(0);
        for position in group {
            let own = request(position);
            verdicts[*position as usize] = if least + u64::from(own.at_arrival) >= number {
                Verdict::Rejected
            } else if most + all - u64::from(own.at_end) < number {
                Verdict::Passed
            } else {
                Verdict::Undecided
            };
        }
        if !may_be_released && at_arrival > 0 && least + at_arrival >= number {
            client.trip.get_or_insert(group[0]);
        }
        let last = group[group.len() - 1];
        client.take_peak((if may_be_released { 0 } else { least + all }, most + all, last));
        next.dedup();
        (next.len() <= STATES_MAX).then_some(next)
    }

    fn report(&self, clients: &[Client], is_exact: bool) -> RuleReport {
        let (mut keys, mut counts) = (KeyCounts::default(), RequestCounts::default());
        let (mut trips, mut closest) = (Vec::new(), Vec::new());
        for (number, client) in clients.iter().enumerate() {
            let Some((least, most, peak_at)) = client.peak else { continue };
            let verdict = match (client.trip, client.requests.undecided) {
                (Some(_), _) => Verdict::Rejected,
                (None, 0) => Verdict::Passed,
                (None, _) => Verdict::Undecided,
            };
            keys.seen += 1;
            keys.tripped += u64::from(verdict == Verdict::Rejected);
            keys.undecided += u64::from(verdict == Verdict::Undecided);
            counts.passed += client.requests.passed;
            counts.rejected += client.requests.rejected;
            counts.undecided += client.requests.undecided;
            let request = &self.requests[client.trip.unwrap_or(peak_at) as usize];
            let list = if verdict == Verdict::Passed { &mut closest } else { &mut trips };
            list.push(Trip {
                key: self.clients.text(number as u32).to_vec(),
                limit: None,
                verdict,
                time_ns: request.arrival_ns,
                source: request.source,
                line: request.line,
                peak: most as f64,
                peak_range: (least as f64, most as f64),
                margin: most as f64 - self.count.number as f64,
                requests: client.requests,
            });
        }
        for (list, max) in [&mut trips, &mut closest].into_iter().zip(LISTED_MAX) {
            list.sort_by(|one, other| {
                other.margin.total_cmp(&one.margin).then_with(|| one.key.cmp(&other.key))
            });
            list.truncate(max);
        }
        counts.undecided += self.untimed;
        let mut notes = Vec::new();
        if !is_exact {
            notes.push(
                "the log has whole seconds of the ends of requests; a client with as many events as \
                 the limit cannot be told"
                    .to_owned(),
            );
        }
        let is_certain = is_exact && counts.undecided == 0;
        let exactness = if is_certain { Exactness::Exact } else { Exactness::Bounded };
        let (steps, bans, alerts) = Default::default();
        RuleReport { exactness, notes, keys, requests: counts, trips, closest, steps, bans, alerts }
    }
}

impl Client {
    fn take_peak(&mut self, (least, most, position): (u64, u64, u32)) {
        self.peak = Some(match self.peak {
            Some(known) if known.1 >= most => (known.0.max(least), known.1, known.2),
            Some(known) => (known.0.max(least), most, position),
            None => (least, most, position),
        });
    }
}

impl Replay for QosReplay {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let mut texts = event.texts;
        let client = texts.next().and_then(|client| self.clients.number(client));
        let mut events = || {
            let bytes = texts.next()?.try_into().ok()?;
            u32::try_from(u64::from_le_bytes(bytes)).ok()
        };
        let (Some(time_ns), Some(client), Some(at_arrival), Some(at_end)) =
            (event.time_ns, client, events(), events())
        else {
            self.untimed += 1;
            return;
        };
        if event.tag == 0 {
            let has_fraction = |ns: i128| ns % 1_000_000_000 != 0;
            self.stamps.count(source, time_ns);
            self.is_ambiguous |=
                !has_fraction(time_ns.into()) && has_fraction(event.duration_ns.into());
        }
        let duration_ns = i64::try_from(event.duration_ns).unwrap_or(i64::MAX);
        let arrival_ns = time_ns.saturating_sub(duration_ns);
        let request = Request { arrival_ns, line, source, client, at_arrival, at_end };
        self.requests.push(request);
    }

    fn memory_bytes(&self) -> usize {
        let order_bytes = size_of::<u32>() + size_of::<Verdict>();
        self.requests.capacity() * (size_of::<Request>() + order_bytes)
            + self.clients.memory_bytes()
            + self.clients.len() * size_of::<Client>()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let is_exact = !self.is_ambiguous || self.stamps.have_fractions();
        let mut order: Vec<u32> = (0..self.requests.len() as u32).collect();
        let client = |position: &u32| self.requests[*position as usize].client;
        order.sort_by_key(|position| {
            (client(position), self.requests[*position as usize].arrival_ns)
        });
        let mut verdicts = vec![Verdict::Passed; self.requests.len()];
        let clients: Vec<Client> = order
            .chunk_by(|one, other| client(one) == client(other))
            .map(|positions| self.client(positions, is_exact, &mut verdicts))
            .collect();
        if let Some(decide) = decide {
            for (request, verdict) in self.requests.iter().zip(&verdicts) {
                decide(&Decision {
                    source: request.source,
                    line: request.line,
                    key: self.clients.text(request.client),
                    verdict: *verdict,
                    delay_ms: (*verdict == Verdict::Passed).then_some(0),
                    excess: None,
                });
            }
        }
        self.report(&clients, is_exact)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Count, QosReplay};
    use crate::event::Events;
    use crate::report::{Decision, RuleReport, Verdict};
    use crate::rule::Replay;

    /// A request of one client: its arrival in milliseconds, its events when it arrives and when it
    /// has been handled, and whether it comes over a new connection.
    type Request = (i64, u64, u64, bool);

    /// The counters of mod_qos.c, line by line. Returns which requests are rejected.
    fn naive(rule: Count, requests: &[Request]) -> Vec<bool> {
        let (mut count, mut begin) = (0, 0);
        let mut rejected = Vec::new();
        for (arrival_ms, at_arrival, at_end, is_new) in requests {
            let now = arrival_ms.div_euclid(1_000);
            if rule.blocks_connections && *is_new && count >= rule.number {
                if begin + rule.seconds > now {
                    rejected.push(true);
                    continue;
                }
                (count, begin) = (0, 0);
            }
            let mut is_rejected = false;
            for (events, is_end) in [(at_arrival, false), (at_end, true)] {
                // A request that is rejected has another status.
                if is_rejected {
                    break;
                }
                if begin + rule.seconds < now {
                    (count, begin) = (0, 0);
                }
                if *events > 0 {
                    begin = if count == 0 { now } else { begin };
                    count += events;
                }
                is_rejected = !is_end && count >= rule.number;
            }
            rejected.push(is_rejected);
        }
        rejected
    }

    fn replayed(rule: Count, requests: &[Request]) -> (Vec<Verdict>, RuleReport) {
        let mut replay = QosReplay::new(rule);
        let mut events = Events::default();
        for (line, (arrival_ms, at_arrival, at_end, _)) in requests.iter().enumerate() {
            let time_ns = arrival_ms.div_euclid(1_000) * 1_000_000_000;
            let texts = [&b"a"[..], &at_arrival.to_le_bytes()[..], &at_end.to_le_bytes()[..]];
            assert!(events.put((line as u64, 1), (Some(time_ns), 0), texts));
        }
        for event in events.iter() {
            replay.take(0, event.line + 1, &event);
        }
        let mut verdicts = Vec::new();
        let report = Box::new(replay).finish(Some(&mut |decision: &Decision<'_>| {
            verdicts.push(decision.verdict);
        }));
        (verdicts, report)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

        #[test]
        fn no_definite_verdict_differs_from_the_module(
            (number, seconds, blocks_connections) in (1..6u64, 1..5i64, any::<bool>()),
            pauses in prop::collection::vec(
                (
                    prop_oneof![4 => 0..300i64, 4 => 300..2_500i64, 1 => 3_000..15_000i64],
                    prop_oneof![3 => Just((0u64, 0u64)), 3 => Just((1, 0)), 3 => Just((0, 1)), 1 => Just((3, 0))],
                    any::<bool>(),
                ),
                1..60,
            ),
        ) {
            let rule = Count { number, seconds, blocks_connections };
            let mut now_ms = 1_700_000_000_001;
            let requests: Vec<Request> = pauses
                .into_iter()
                .map(|(pause_ms, (at_arrival, at_end), is_new)| {
                    now_ms += pause_ms;
                    (now_ms, at_arrival, at_end, is_new)
                })
                .collect();
            let truth = naive(rule, &requests);
            let (verdicts, report) = replayed(rule, &requests);
            for (at, (verdict, is_rejected)) in verdicts.iter().zip(&truth).enumerate() {
                let expected = if *is_rejected { Verdict::Rejected } else { Verdict::Passed };
                prop_assert!(
                    *verdict == Verdict::Undecided || *verdict == expected,
                    "{at}: {verdict:?}, {requests:?}"
                );
            }
            let rejected = truth.iter().filter(|it| **it).count() as u64;
            let counts = &report.requests;
            prop_assert!(counts.rejected <= rejected && rejected <= counts.rejected + counts.undecided);
            let has_tripped = u64::from(rejected > 0);
            let keys = &report.keys;
            prop_assert!(keys.tripped <= has_tripped && has_tripped <= keys.tripped + keys.undecided);
            let has_seconds_apart =
                requests.windows(2).all(|two| two[0].0 / 1_000 != two[1].0 / 1_000);
            if has_seconds_apart && !blocks_connections {
                prop_assert_eq!(report.requests.undecided, 0);
            }
        }
    }
}
