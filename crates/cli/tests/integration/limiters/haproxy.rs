//! Rates, counts and general counters of HAProxy.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use weir_testkit::numbers::Numbers;

use super::{Comparison, DISTANCE_MS, Program, REQUEST_TIME_MAX, TIMEOUT, compare, wait_for};
use crate::support::{Folder, text};

/// The least number of requests that are compared.
const REQUESTS: usize = 1_200;

/// The least number of them that each front end rejects.
const REJECTED: usize = 12;

/// The lines of each log.
const FORMAT: &str = "$remote_addr $msec \"$request\" $status";

/// A front end.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// The period of a rate; `None` for a count since the entry was made.
    period_ms: Option<i64>,
    count: i64,
    /// After how long without a request an entry ends, and with it what it has counted. With a rate, it
    /// keeps who was over it.
    hold_ms: Option<i64>,
}

const SETTINGS: [Setting; 6] = [
    Setting { period_ms: Some(400), count: 3, hold_ms: None },
    Setting { period_ms: Some(900), count: 5, hold_ms: None },
    Setting { period_ms: Some(1_500), count: 8, hold_ms: None },
    Setting { period_ms: Some(300), count: 3, hold_ms: Some(700) },
    Setting { period_ms: None, count: 6, hold_ms: Some(400) },
    Setting { period_ms: None, count: 9, hold_ms: Some(600) },
];

impl Setting {
    /// The lines of its rule.
    fn rule(self) -> String {
        let Self { period_ms, count, hold_ms } = self;
        let table = |expire: &str| {
            let rate = period_ms.map(|period_ms| format!("http_req_rate({period_ms}ms),"));
            format!(
                "  stick-table type ip size 10k expire {expire} store {}http_req_cnt,gpc0\n",
                rate.unwrap_or_default()
            )
        };
        match (period_ms, hold_ms) {
            (_, None) => {
                "  acl is_login path_beg /login\n".to_owned()
                    + &table("1h")
                    + "  http-request track-sc0 src if is_login or { path_end .php }\n"
                    + &format!(
                        "  http-request deny deny_status 429 if is_login \
                         {{ sc_http_req_rate(0) gt {count} }}\n"
                    )
            }
            // One counts requests, the other raises a general counter.
            (None, Some(hold_ms)) => {
                let (raise, counter) = match count % 2 {
                    0 => ("", "sc_http_req_cnt(0)"),
                    _ => ("  http-request sc-inc-gpc0(0)\n", "sc_get_gpc0(0)"),
                };
                table(&format!("{hold_ms}ms"))
                    + "  http-request track-sc0 src\n"
                    + raise
                    + &format!(
                        "  http-request deny deny_status 429 if {{ {counter} gt {count} }}\n"
                    )
            }
            (Some(_), Some(hold_ms)) => {
                table(&format!("{hold_ms}ms"))
                    + &format!("  acl abuse sc0_http_req_rate gt {count}\n")
                    + "  acl flagged sc0_get_gpc0 gt 0\n\
                       \x20 http-request track-sc0 src\n\
                       \x20 http-request sc-inc-gpc0(0) if abuse\n\
                       \x20 http-request deny deny_status 429 if flagged\n"
            }
        }
    }

    fn tracks(self, path: &str) -> bool {
        self.hold_ms.is_some() || path != "/home"
    }
}

/// The counter of a client, by the clock of this test.
#[derive(Debug, Clone, Copy, Default)]
struct Rate {
    begin: i64,
    current: i64,
    previous: i64,
    last: i64,
}

impl Rate {
    /// The counter with a request at some millisecond; `None` if that is too close to a limit.
    fn with(self, setting: Setting, now: i64) -> Option<Self> {
        let is_near = |age: i64, limit: i64| age.abs_diff(limit) <= DISTANCE_MS;
        let Some(period) = setting.period_ms else {
            let goes_on = setting.hold_ms.is_some_and(|hold_ms| now - self.last < hold_ms);
            let current = if goes_on { self.current + 1 } else { 1 };
            let is_near = setting.hold_ms.is_some_and(|hold_ms| is_near(now - self.last, hold_ms));
            return (!is_near).then_some(Self { current, last: now, ..self });
        };
        if is_near(now - self.begin, period)
            || is_near(now - self.begin, 2 * period)
            || setting.hold_ms.is_some_and(|hold_ms| is_near(now - self.last, hold_ms))
        {
            return None;
        }
        let next = match now - self.begin {
            age if age < period => Self { current: self.current + 1, last: now, ..self },
            age if age < 2 * period => {
                let begin = self.begin + period;
                Self { begin, current: 1, previous: self.current, last: now }
            }
            _ => Self { begin: now, current: 1, previous: 0, last: now },
        };
        let rate = |at: i64| {
            let remain = (next.begin + period - at).clamp(0, period);
            next.current + next.previous * remain / period
        };
        let is_over = |at: i64| rate(at) > setting.count;
        let distance = DISTANCE_MS as i64;
        (is_over(now - distance) == is_over(now + distance)).then_some(next)
    }
}

/// A configuration with a front end for each setting.
fn configuration(folder: &Path) -> String {
    let here = text(folder);
    let mut configuration = format!(
        "global\n  log {here}/log.sock format raw local0\n\
         defaults\n  mode http\n  timeout client 9s\n  timeout server 9s\n  timeout connect 9s\n"
    );
    for (number, setting) in SETTINGS.iter().enumerate() {
        configuration += &format!(
            "frontend f{number}\n  bind unix@{here}/f{number}.sock accept-proxy\n  log global\n\
             \x20 log-format \"%f %[src] %Ts.%ms \\\"%r\\\" %ST\"\n{}\
             \x20 http-request return status 200\n",
            setting.rule()
        );
    }
    configuration
}

/// Sends a request of a client.
fn request(socket: &Path, address: &str, path: &str) {
    let mut stream = UnixStream::connect(socket).expect("HAProxy listens");
    let head = format!("PROXY TCP4 {address} 192.0.2.1 1000 80\r\nGET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("HAProxy reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    assert!(answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
#[ignore = "needs HAProxy; `cargo xtask test` runs it"]
fn decisions_are_those_of_haproxy() {
    let folder = Folder::new();
    let here = folder.path("haproxy");
    std::fs::create_dir_all(&here).expect("a folder");
    let receiver = UnixDatagram::bind(here.join("log.sock")).expect("a socket");
    receiver.set_read_timeout(Some(TIMEOUT)).expect("a time");
    let file = here.join("haproxy.cfg");
    std::fs::write(&file, configuration(&here)).expect("a file");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("haproxy");
    command.args(["-db", "-f"]).arg(&file).env("PATH", format!("{path}:/usr/sbin"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _haproxy = Program(command.spawn().expect("haproxy runs; `apt install haproxy`"));
    let socket = |number: usize| here.join(format!("f{number}.sock"));
    // A connection without a request would have a line of its own.
    wait_for("HAProxy", || {
        let last = socket(SETTINGS.len() - 1);
        last.exists().then(|| request(&last, "10.0.0.255", "/home"))
    });
    receiver.recv(&mut [0; 512]).expect("its line");

    let mut numbers = Numbers::new(20_260_202);
    let mut rates = [[Rate::default(); 3]; SETTINGS.len()];
    let mut generations = [[0; 3]; SETTINGS.len()];
    let mut late = vec![BTreeSet::new(); SETTINGS.len()];
    let mut logs = vec![Vec::new(); SETTINGS.len()];
    let (mut in_time, mut rejected) = (0, [0; SETTINGS.len()]);
    let start = Instant::now();
    while in_time < REQUESTS || rejected.iter().any(|count| *count < REJECTED) {
        assert!(
            start.elapsed() < TIMEOUT,
            "{in_time} requests came in time, {rejected:?} rejected"
        );
        let number = numbers.below(SETTINGS.len() as u64) as usize;
        let (client, setting) = (numbers.below(3) as usize, SETTINGS[number]);
        let path = ["/login", "/login/x", "/a.php", "/home"][numbers.below(4) as usize];
        // After some of the bursts comes a pause in which counters end.
        if numbers.below(40) == 0 {
            std::thread::sleep(Duration::from_millis(numbers.below(900)));
        }
        for _ in 0..=numbers.below(3) {
            let (begun, rate) = (Instant::now(), &mut rates[number][client]);
            // The counters begin long after the clock does.
            let now = start.elapsed().as_millis() as i64 + 1_000_000;
            match rate.with(setting, now) {
                Some(next) if setting.tracks(path) => *rate = next,
                Some(_) => {}
                None => break,
            }
            let generation = generations[number][client];
            let (more, last) = (3 * (generation / 250), generation % 250);
            let address = format!("10.{number}.{}.{last}", client + more);
            request(&socket(number), &address, path);
            let is_late = begun.elapsed() > REQUEST_TIME_MAX;
            let mut line = [0; 512];
            let length = receiver.recv(&mut line).expect("a line for each request");
            let line = String::from_utf8_lossy(&line[..length]);
            let (name, line) = line.trim_end().split_once(' ').expect("two parts");
            assert_eq!(name, format!("f{number}"));
            logs[number].push(format!("{line}\n"));
            if is_late {
                late[number].insert(logs[number].len());
                generations[number][client] += 1;
                *rate = Rate::default();
            } else {
                in_time += 1;
                rejected[number] += usize::from(line.ends_with(" 429"));
            }
        }
        std::thread::sleep(Duration::from_millis(numbers.below(12)));
    }
    let mut all = Comparison::default();
    for (number, log) in logs.iter().enumerate() {
        let (rule, path) = (here.join("rule.cfg"), here.join(format!("{number}.log")));
        std::fs::write(&rule, SETTINGS[number].rule()).expect("a file");
        std::fs::write(&path, log.concat()).expect("a file");
        let found = compare(&rule, &path, FORMAT, " 429", &late[number]);
        assert_eq!(found.wrong, [""; 0], "front end {number}: {found:?}");
        all.compared += found.compared;
        all.undecided += found.undecided;
    }
    println!("{} requests are decided as by HAProxy, {} undecided", all.compared, all.undecided);
    // Those that are not tracked have no decision.
    assert!(all.compared > REQUESTS / 2, "{all:?}");
    // Requests of a client in one millisecond are undecided if their order matters.
    assert!(all.undecided * 6 < all.compared, "{all:?}");
}
