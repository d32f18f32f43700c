//! The metrics of the gateway.

use std::time::{Duration, UNIX_EPOCH};

use weir_gateway::token::{TokenCounters, TokenRefusal};
use weir_gateway::{
    BUCKET_BOUNDS_S, BackendCounts, BackendShare, DurationCounts, DurationExemplar, GatewayCounts,
    GatewayHandle,
};
use weir_observe::WaitTimes;
use weir_observe::capture::{CaptureError, PendingCapture};
use weir_view::{Passed, RouteShare, RouteStage, RouteStageKind, ServiceLimit, ServiceLimitKind};

use crate::capture_kind::CaptureKind;
use crate::metrics::catalog::{
    CLOCK_JUMPS, GATEWAY_CACHE, GATEWAY_CONNECTIONS, GATEWAY_CONNECTIONS_MAX, GATEWAY_DECISIONS,
    GATEWAY_DURATION, GATEWAY_ENDED, GATEWAY_PARTS, GATEWAY_UNANSWERED, LIMIT_BYTES,
    LIMIT_CLOCK_RESETS, LIMIT_EVICTIONS, LIMIT_KEYS, LIMIT_NO_ROOM, LOG_LINES_LOST,
    RECORDS_DROPPED, RECORDS_WAITING, SERVER_BUSY_CONNECTIONS, SERVER_IDLE_CONNECTIONS,
    SERVER_IN_FLIGHT, SERVER_UP, SHARE_REQUESTS, SHARE_WEIGHT, SPANS_LOST, SPANS_SENT, TOKEN_CACHE,
    TOKEN_CACHE_BYTES, TOKEN_CACHE_ENTRIES, TOKEN_CACHE_EVICTIONS, TOKENS_REFUSED, TOKENS_VERIFIED,
};
use crate::metrics::{Exemplar, HistogramPoint, Scrape};
use crate::part::{Part, STAGES_OF_KIND_MAX};

impl Part for GatewayHandle {
    fn collect(&self, scrape: &mut Scrape) {
        collect(&self.counts(), scrape);
    }

    fn stages(&self) -> Vec<RouteStage> {
        let counts = self.counts();
        let backends = counts.backends.iter().take(STAGES_OF_KIND_MAX);
        backends.flat_map(|backend| stages(backend, &counts.shares)).collect()
    }

    fn limits(&self) -> Vec<ServiceLimit> {
        let counts = self.counts();
        vec![ServiceLimit {
            limit: ServiceLimitKind::GatewayConnections,
            used: counts.connections as u64,
            used_max: Some(counts.connections_max as u64),
        }]
    }

    fn start_capture(
        &self,
        kind: CaptureKind,
        condition: Option<&str>,
    ) -> Option<Result<PendingCapture, CaptureError>> {
        match kind {
            CaptureKind::Request => Some(self.capture(condition)),
            CaptureKind::Call => Some(self.capture_call(condition)),
            CaptureKind::Tunnel => Some(self.tunnels().arm_any(condition)),
            _ => None,
        }
    }
}

fn collect(counts: &GatewayCounts, scrape: &mut Scrape) {
    scrape.add(&GATEWAY_CONNECTIONS, &[], counts.connections as u64);
    scrape.add(&GATEWAY_CONNECTIONS_MAX, &[], counts.connections_max as u64);
    for (reason, number) in counts.connection_ends {
        scrape.add(&GATEWAY_ENDED, &[reason], number);
    }
    scrape.add(&RECORDS_WAITING, &[], counts.waiting_record_bytes as u64);
    scrape.add(&RECORDS_DROPPED, &[], counts.records_dropped);
    scrape.add(&LOG_LINES_LOST, &[], counts.log_lines_lost);
    if let Some(spans) = &counts.spans {
        scrape.add(&SPANS_SENT, &[], spans.sent);
        scrape.add(&SPANS_LOST, &["full"], spans.dropped);
        scrape.add(&SPANS_LOST, &["refused"], spans.refused);
        scrape.add(&SPANS_LOST, &["unanswered"], spans.unanswered);
    }
    for backend in &counts.backends {
        add_backend(backend, scrape);
    }
    for share in &counts.shares {
        let labels = [&*share.route, &share.backend];
        scrape.add(&SHARE_REQUESTS, &labels, share.requests);
        scrape.add(&SHARE_WEIGHT, &labels, share.weight.into());
    }
    for (issuer, tokens) in &counts.issuers {
        add_tokens(issuer, tokens, scrape);
    }
    add_refusals(&counts.issuers, scrape);
    for (outcome, requests) in &counts.events.unanswered {
        scrape.add(&GATEWAY_UNANSWERED, &[outcome], *requests);
    }
    for ((limit, verdict), requests) in &counts.events.decisions {
        scrape.add(&GATEWAY_DECISIONS, &[limit, verdict], *requests);
    }
    for (file, usage) in &counts.limits {
        scrape.add(&LIMIT_KEYS, &[file], usage.keys as u64);
        scrape.add(&LIMIT_BYTES, &[file], usage.memory_bytes as u64);
        scrape.add(&LIMIT_EVICTIONS, &[file], usage.evicted);
        scrape.add(&LIMIT_NO_ROOM, &[file], usage.no_room);
        scrape.add(&LIMIT_CLOCK_RESETS, &[file], usage.clock_resets);
    }
    for (direction, jumps) in &counts.events.clock_jumps {
        scrape.add(&CLOCK_JUMPS, &[direction], *jumps);
    }
    for ((cache, result), requests) in &counts.events.cache_lookups {
        scrape.add(&GATEWAY_CACHE, &[cache, result], *requests);
    }
}

fn add_backend(backend: &BackendCounts, scrape: &mut Scrape) {
    for durations in &backend.durations {
        let labels = [&*backend.name, durations.status_class];
        scrape.add_histogram(&GATEWAY_DURATION, &labels, histogram(durations));
        for (part, time) in
            [("wait", durations.wait), ("header", durations.header), ("body", durations.body)]
        {
            scrape.add_float(&GATEWAY_PARTS, &[&backend.name, part], time.as_secs_f64());
        }
    }
    for (index, server) in backend.servers.iter().enumerate() {
        let labels = [&*backend.name, &server.name];
        // A server that is listed twice, to get twice the requests, is one series.
        let mut same = backend.servers.iter().enumerate().filter(|(_, it)| it.name == server.name);
        if same.clone().next().is_some_and(|(first, _)| first == index) {
            scrape.add(&SERVER_UP, &labels, same.all(|(_, it)| it.is_available).into());
        }
        scrape.add(&SERVER_IN_FLIGHT, &labels, server.requests as u64);
        scrape.add(&SERVER_BUSY_CONNECTIONS, &labels, server.busy_connections as u64);
        scrape.add(&SERVER_IDLE_CONNECTIONS, &labels, server.idle_connections as u64);
    }
}

fn histogram(durations: &DurationCounts) -> HistogramPoint {
    let sum: Duration = [durations.wait, durations.header, durations.body].iter().sum();
    let exemplar = |kept: &DurationExemplar| Exemplar {
        trace_id: kept.trace_id.clone(),
        value: kept.duration.as_secs_f64(),
        unix_s: kept.ended.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
    };
    let exemplars = durations.exemplars.iter().map(|kept| kept.as_ref().map(exemplar));
    HistogramPoint {
        bounds: BUCKET_BOUNDS_S.to_vec(),
        counts: durations.counts.clone(),
        sum: sum.as_secs_f64(),
        exemplars: exemplars.collect(),
    }
}

fn add_tokens(issuer: &str, tokens: &TokenCounters, scrape: &mut Scrape) {
    scrape.add(&TOKEN_CACHE, &[issuer, "hit"], tokens.cache.hits);
    scrape.add(&TOKEN_CACHE, &[issuer, "miss"], tokens.cache.misses);
    scrape.add(&TOKEN_CACHE_EVICTIONS, &[issuer], tokens.cache.evictions);
    scrape.add(&TOKEN_CACHE_ENTRIES, &[issuer], tokens.cache.entries);
    scrape.add(&TOKEN_CACHE_BYTES, &[issuer], tokens.cache.bytes);
    scrape.add(&TOKENS_VERIFIED, &[issuer], tokens.verified);
}

/// Adds the refused tokens of all issuers. A rate needs a counter before its first event, so all
/// reasons are there, but those that have occurred come first if there are too many issuers.
fn add_refusals(issuers: &[(String, TokenCounters)], scrape: &mut Scrape) {
    for has_occurred in [true, false] {
        for (issuer, tokens) in issuers {
            for refusal in TokenRefusal::ALL {
                let refused = tokens.refused_for(refusal);
                if (refused > 0) == has_occurred {
                    scrape.add(&TOKENS_REFUSED, &[issuer, refusal.name()], refused);
                }
            }
        }
    }
}

/// The status class of tunnels. One that is idle for hours says nothing about the speed of its
/// client.
const TUNNELS: &str = "1xx";

/// Returns the three parts of the duration of a backend's requests as stages of the route.
fn stages(backend: &BackendCounts, shares: &[BackendShare]) -> [RouteStage; 3] {
    let requests = backend.durations.iter().map(DurationCounts::count).sum();
    let sum = |part: fn(&DurationCounts) -> Duration| -> Duration {
        let ended = backend.durations.iter().filter(|it| it.status_class != TUNNELS);
        ended.map(part).sum()
    };
    let stage = |kind, ended: Duration, open: WaitTimes| RouteStage {
        passed: Passed {
            records: Some(requests),
            busy: Some((ended + open.open_time).as_secs_f64()),
            ..Passed::default()
        },
        in_flight: Some(open.open),
        number: (backend.number > 0).then(|| backend.number.to_string()),
        ..RouteStage::new(kind, &backend.name)
    };
    let open = &backend.in_progress;
    let mut stages = [
        stage(RouteStageKind::Gateway, sum(|it| it.wait), open.wait),
        stage(RouteStageKind::Backend, sum(|it| it.header), open.header),
        stage(RouteStageKind::Client, sum(|it| it.body), open.body),
    ];
    let [_, server, client] = &mut stages;
    note_failures(server, backend);
    let of_backend = shares.iter().filter(|share| share.backend == backend.name);
    server.shares = of_backend.take(SHARES_MAX).map(route_share).collect();
    for stage in [server, &mut *client] {
        stage.passed.bytes = Some(open.bytes);
    }
    // A body that waits for its backend does not wait for the client, which has taken all of it.
    let waiting = open.body_wait.as_secs_f64();
    client.passed.waiting = Some(waiting);
    client.passed.busy = client.passed.busy.map(|busy| (busy - waiting).max(0.0));
    stages
}

/// The most routes of a backend whose shares are shown.
const SHARES_MAX: usize = 20;

fn route_share(share: &BackendShare) -> RouteShare {
    let got = share.requests as f64 / share.request_sum as f64;
    RouteShare {
        route: share.route.clone(),
        asked: f64::from(share.weight) / share.weight_sum as f64,
        got: (share.request_sum > 0).then_some(got),
    }
}

/// A backend fails if as many requests in a row have failed: one or two may be mistakes of their
/// clients.
const FAILING_IN_ROW: u64 = 3;

/// Notes in the stage of a backend how many requests and servers have failed.
fn note_failures(stage: &mut RouteStage, backend: &BackendCounts) {
    stage.passed.failed = Some(backend.failures.total);
    let servers = backend.servers.len() as u64;
    let available = backend.servers.iter().filter(|it| it.is_available).count() as u64;
    if servers > 0 {
        (stage.servers, stage.servers_available) = (Some(servers), Some(available));
    }
    let is_down = servers > 0 && available == 0;
    stage.is_failing = is_down || backend.failures.in_row >= FAILING_IN_ROW;
}

#[cfg(test)]
mod tests {
    use weir_gateway::{FailureCounts, InProgressCounts, ServerCounts};

    use super::*;
    use crate::metrics::TextFormat;

    #[test]
    fn a_server_that_is_named_twice_is_one() {
        let server = |name: &str, is_available, requests| ServerCounts {
            name: name.to_owned(),
            is_available,
            requests,
            busy_connections: 0,
            idle_connections: 0,
        };
        let backend = |number, servers| BackendCounts {
            name: "one".to_owned(),
            number,
            durations: Vec::new(),
            in_progress: InProgressCounts::default(),
            failures: FailureCounts::default(),
            servers,
        };
        let twice =
            backend(0, vec![server("a", true, 2), server("b", true, 1), server("a", true, 3)]);
        let mut scrape = Scrape::default();
        add_backend(&twice, &mut scrape);
        let text = scrape.text(TextFormat::Prometheus);
        for line in [
            "weir_gateway_server_up{backend=\"one\",server=\"a\"} 1",
            "weir_gateway_server_up{backend=\"one\",server=\"b\"} 1",
            "weir_gateway_server_requests{backend=\"one\",server=\"a\"} 5",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        let mut scrape = Scrape::default();
        let half = backend(1, vec![server("a", true, 0), server("a", false, 0)]);
        add_backend(&half, &mut scrape);
        let text = scrape.text(TextFormat::Prometheus);
        let line = "weir_gateway_server_up{backend=\"one\",server=\"a\"} 0";
        assert!(text.lines().any(|it| it == line), "{text}");
        let [first, ..] = stages(&twice, &[]);
        let [second, ..] = stages(&half, &[]);
        assert!(!first.is_same(&second), "{first:?} {second:?}");
    }

    #[test]
    fn requests_in_progress_count_and_tunnels_do_not() {
        let seconds = Duration::from_secs;
        let durations = |status_class, body| DurationCounts {
            status_class,
            counts: vec![2],
            wait: Duration::ZERO,
            header: Duration::ZERO,
            body,
            exemplars: Vec::new(),
        };
        let body = WaitTimes { open: 1, open_time: seconds(5), ..WaitTimes::default() };
        let backend = BackendCounts {
            name: "one".to_owned(),
            number: 0,
            durations: vec![durations("1xx", seconds(3_600)), durations("2xx", seconds(10))],
            in_progress: InProgressCounts {
                body,
                body_wait: seconds(4),
                bytes: 7_000,
                ..InProgressCounts::default()
            },
            failures: FailureCounts { total: 3, in_row: 2 },
            servers: Vec::new(),
        };
        let [gateway, server, client] = stages(&backend, &[]);
        assert_eq!((server.passed.failed, server.is_failing), (Some(3), false));
        assert_eq!(client.passed.busy, Some(11.0), "10 s and 5 s, without 4 s of waiting");
        assert_eq!((client.passed.waiting, client.in_flight), (Some(4.0), Some(1)));
        assert_eq!((client.passed.records, client.passed.bytes), (Some(4), Some(7_000)));
        assert_eq!((server.passed.bytes, gateway.passed.bytes), (Some(7_000), None));
    }

    #[test]
    fn a_backend_fails_if_its_requests_do_or_if_it_has_no_server() {
        let server = |is_available| ServerCounts {
            name: "a".to_owned(),
            is_available,
            requests: 0,
            busy_connections: 0,
            idle_connections: 0,
        };
        for (in_row, servers, is_failing) in [
            (2, vec![true], false),
            (3, vec![true], true),
            (0, vec![true, false], false),
            (0, vec![false, false], true),
            (0, vec![], false),
        ] {
            let backend = BackendCounts {
                name: "one".to_owned(),
                number: 0,
                durations: Vec::new(),
                in_progress: InProgressCounts::default(),
                failures: FailureCounts { total: 7, in_row },
                servers: servers.iter().copied().map(server).collect(),
            };
            let [gateway, stage, client] = stages(&backend, &[]);
            assert_eq!(stage.is_failing, is_failing, "{in_row} {servers:?}");
            assert_eq!((gateway.is_failing, client.is_failing), (false, false));
            let available = servers.iter().filter(|is_available| **is_available).count() as u64;
            let shown = stage.servers.zip(stage.servers_available);
            assert_eq!(shown, (!servers.is_empty()).then_some((servers.len() as u64, available)));
        }
    }

    #[test]
    fn the_shares_are_shown_beside_those_that_were_asked_for() {
        let share = |backend: &str, weight, requests| BackendShare {
            route: "/".to_owned(),
            backend: backend.to_owned(),
            weight,
            weight_sum: 100,
            requests,
            request_sum: 50,
        };
        let shares = [share("one", 90, 44), share("canary", 10, 6)];
        let mut counts = vec![BackendShare { request_sum: 0, ..share("canary", 10, 0) }];
        counts.extend((0..30).map(|_| share("canary", 10, 6)));
        let backend = BackendCounts {
            name: "canary".to_owned(),
            number: 0,
            durations: Vec::new(),
            in_progress: InProgressCounts::default(),
            failures: FailureCounts::default(),
            servers: Vec::new(),
        };
        let [gateway, server, client] = stages(&backend, &shares);
        let shown = RouteShare { route: "/".to_owned(), asked: 0.1, got: Some(0.12) };
        assert_eq!(server.shares, [shown]);
        assert!(gateway.shares.is_empty() && client.shares.is_empty());
        let [_, server, _] = stages(&backend, &counts);
        assert_eq!((server.shares.len(), server.shares[0].got), (SHARES_MAX, None));
    }
}
