//! `weir rules` against nginx's own decisions, request for request.
//!
//! nginx decides with `limit_req_dry_run`, and logs what it decided. Its clock for limits ticks
//! every few milliseconds and is not the clock of its log. So the client computes the limits
//! itself, and does not send requests that are too close to a limit for the log to be decisive. If
//! the machine was too busy for a request to come when it should, that request is not compared, and
//! the next ones have another key.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use weir_testkit::numbers::Numbers;

use super::{Nginx, TIMEOUT, read_response};
use crate::support::{Folder, run, text};

/// The number of settings, each of which is a location.
const SETTINGS: usize = 48;

/// The least number of requests in total.
const REQUESTS: usize = 6_000;

/// How close to a limit a request may come, in milliseconds of what the rate drains.
const DISTANCE_MS: f64 = 30.0;

/// A request that took longer may have come too close to a limit.
const REQUEST_TIME_MAX: Duration = Duration::from_millis(20);

/// A limit of a location, in requests and requests in a second.
#[derive(Debug, Clone, Copy)]
struct Limit {
    zone: usize,
    rate: f64,
    burst: f64,
    /// `None` with `nodelay`.
    delay: Option<f64>,
}

/// The state of a key in a zone, as the client computes it.
#[derive(Debug, Clone, Copy)]
struct Count {
    excess: f64,
    last: Instant,
    /// The requests since the excess was 0: nginx rounds what drains before each of them to a
    /// thousandth.
    roundings: f64,
}

/// Zones, and the limits of each location, as text and as numbers.
fn settings(numbers: &mut Numbers) -> (String, String, Vec<Vec<Limit>>) {
    let (mut zones, mut locations, mut settings) = (String::new(), String::new(), Vec::new());
    let mut zone = 0;
    for setting in 0..SETTINGS {
        let modifier = ["", "= ", "^~ ", "~ ^"][setting % 4];
        // Two digits, because `^~ /s2` would take the requests for `~ ^/s23$`.
        let ending = if modifier == "~ ^" { "$" } else { "" };
        let _ = write!(
            locations,
            "location {modifier}/s{setting:02}{ending} {{ limit_req_dry_run on; "
        );
        let mut limits = Vec::new();
        for _ in 0..1 + usize::from(setting % 3 == 2) {
            let (rate_text, rate) = match numbers.below(2) {
                0 => {
                    let rate = 1 + numbers.below(5);
                    (format!("{rate}r/s"), rate as f64)
                }
                _ => {
                    let rate = 30 + numbers.below(90);
                    (format!("{rate}r/m"), (rate * 1_000 / 60) as f64 / 1_000.0)
                }
            };
            let burst = numbers.below(7);
            let (delay_text, delay) = match numbers.below(3) {
                0 => (String::new(), Some(0.0)),
                1 => (" nodelay".to_owned(), None),
                _ => {
                    let delay = 1 + numbers.below(burst + 1);
                    (format!(" delay={delay}"), Some(delay as f64))
                }
            };
            let key = ["$http_x_key", "$binary_remote_addr$http_x_key"][zone % 2];
            let _ = writeln!(zones, "limit_req_zone {key} zone=z{zone}:1m rate={rate_text};");
            let burst_text = if burst > 0 { format!(" burst={burst}") } else { String::new() };
            let _ = write!(locations, "limit_req zone=z{zone}{burst_text}{delay_text}; ");
            limits.push(Limit { zone, rate, burst: burst as f64, delay });
            zone += 1;
        }
        locations.push_str("}\n");
        settings.push(limits);
    }
    (zones, locations, settings)
}

/// Whether a request would come too close to a limit. If not, it is counted.
fn is_too_close(counts: &mut [[Option<Count>; 2]], limits: &[Limit], key: usize) -> bool {
    let now = Instant::now();
    // The excess before it is raised to 0, to see how close to 0 it is, and the new count.
    let next = |limit: &Limit| match counts[limit.zone][key] {
        Some(Count { excess, last, roundings }) => {
            let drained = limit.rate * (now - last).as_secs_f64();
            let unlimited = excess - drained + 1.0;
            let roundings = if unlimited > 0.0 { roundings + 1.0 } else { 0.0 };
            (unlimited, Count { excess: unlimited.max(0.0), last: now, roundings })
        }
        None => (f64::NEG_INFINITY, Count { excess: 0.0, last: now, roundings: 0.0 }),
    };
    let found: Vec<(f64, Count)> = limits.iter().map(next).collect();
    let is_near = |(limit, (excess, count)): (&Limit, &(f64, Count))| {
        let distance = limit.rate * DISTANCE_MS / 1_000.0 + (count.roundings + 1.0) / 1_000.0;
        let thresholds = [Some(0.0), Some(limit.burst), limit.delay].into_iter().flatten();
        thresholds.into_iter().any(|threshold| (excess - threshold).abs() <= distance)
    };
    if limits.iter().zip(&found).any(is_near) {
        return true;
    }
    if limits.iter().zip(&found).all(|(limit, (_, count))| count.excess <= limit.burst) {
        for (limit, (_, count)) in limits.iter().zip(found) {
            counts[limit.zone][key] = Some(count);
        }
    }
    false
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn decisions_are_those_of_nginx() {
    let mut numbers = Numbers::new(20_260_101);
    let (zones, locations, settings) = settings(&mut numbers);
    let folder = Folder::new();
    let path = folder.path("nginx");
    std::fs::create_dir_all(&path).expect("a folder");
    let log = path.join("access.log");
    let format =
        "$remote_addr $msec $request_time \"$request\" $status $http_x_key $limit_req_status";
    let http = format!("{zones}\nlog_format limits '{format}';\naccess_log {} limits;", text(&log));
    let nginx = Nginx::new(&path, &http, &locations);

    let mut counts = vec![[None; 2]; settings.iter().flatten().count()];
    let mut stream = nginx.connect();
    let mut responses = BufReader::new(stream.try_clone().expect("a socket"));
    let (mut sent, start) = (0, Instant::now());
    // The numbers of the requests that may have come too late.
    let mut late = BTreeSet::new();
    // By setting and key: the part of its name that a late request changes.
    let mut generations = [[0; 2]; SETTINGS];
    while sent < REQUESTS {
        assert!(start.elapsed() < TIMEOUT, "only {sent} requests were sent");
        let (setting, key) = (numbers.below(SETTINGS as u64) as usize, numbers.below(2) as usize);
        for _ in 0..1 + numbers.below(6) {
            let (begun, limits) = (Instant::now(), &settings[setting]);
            if is_too_close(&mut counts, limits, key) {
                break;
            }
            let name = format!("k{key}-{}", generations[setting][key]);
            let request =
                format!("GET /s{setting:02} HTTP/1.1\r\nHost: localhost\r\nX-Key: {name}\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("nginx reads");
            read_response(&mut responses);
            if begun.elapsed() > REQUEST_TIME_MAX {
                late.insert(sent);
                generations[setting][key] += 1;
                limits.iter().for_each(|limit| counts[limit.zone][key] = None);
            }
            sent += 1;
        }
        std::thread::sleep(Duration::from_millis(numbers.below(4)));
    }
    let configuration = path.join("nginx.conf");
    drop(nginx);

    let text_of_log = std::fs::read_to_string(&log).expect("a log");
    let expected: Vec<&str> = text_of_log
        .lines()
        .map(|line| line.rsplit(' ').next().expect("a status"))
        .map(|status| status.strip_suffix("_DRY_RUN").unwrap_or(status))
        .collect();
    let options = ["rules", "--decisions", "--format", format, "--rule", text(&configuration)];
    let run = run(options.into_iter().chain([text(&log)]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    let decided: Vec<String> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|line| line["verdict"].as_str().expect("text").to_uppercase())
        .collect();
    assert_eq!(decided.len(), expected.len());
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (number, (line, verdict)) in text_of_log.lines().zip(&decided).enumerate() {
        if late.contains(&number) {
            continue;
        }
        compared += 1;
        if expected[number] != verdict {
            wrong.push(format!("{line} but {verdict}"));
        }
    }
    assert_eq!(wrong, [""; 0], "of {compared} requests");
    assert!(compared > REQUESTS / 2, "only {compared} requests came in time");
    for verdict in ["PASSED", "DELAYED", "REJECTED"] {
        let count = decided.iter().filter(|decided| *decided == verdict).count();
        assert!(count > REQUESTS / 50, "{count} requests are {verdict}");
    }
}
