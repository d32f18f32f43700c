//! Tests that the pages' data shows each fault of the example, and does not show it after the fault
//! is mended.

#[path = "../examples/three_faults/service/mod.rs"]
mod service;

use std::time::Duration;

use service::{Faults, Service, clients};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use weir_inside::{AdminServer, Inside};
use weir_view::{CallProfile, FunctionCalls};

/// The timeout of a request, which may take a profile of some seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// The fewest samples of the service for a comparison of shares. A busy machine takes few in a
/// second.
const SAMPLES_MIN: f64 = 1_000.0;
/// The most profiles for these samples.
const PROFILES_MAX: usize = 40;

/// The least share of time of each fault. On machines with slow system calls, `epoll_ctl` leaves
/// little to the other two.
const FAULTY_SHARE_MIN: f64 = 0.02;
/// The most share of the time of a function that is mended.
const MENDED_SHARE_MAX: f64 = 0.01;

/// The data of the pages after the service has run for a while.
struct Measurements {
    metrics: String,
    calls: CallProfile,
    samples: Samples,
}

/// The samples of the service's threads, as folded stacks.
#[derive(Debug, Default)]
struct Samples(String);

async fn measure(faults: Faults) -> Measurements {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let service = Service::new(faults);
    let admin = "127.0.0.1:0".parse().expect("an address");
    let server = AdminServer::bind(&admin, None, Default::default()).await.expect("a port");
    let admin = server.address().to_string();
    let inside = Inside::default();
    inside.add(service.clone());
    let serving = tokio::spawn(service.serve(listener));
    let looking = tokio::spawn(server.serve(inside, std::future::pending()));
    let clients = clients::start(address).expect("it accepts");
    let calls = get(&admin, "/profile/calls.json?seconds=1").await;
    let mut samples = Samples::default();
    for _ in 0..PROFILES_MAX {
        samples.add(get(&admin, "/profile/folded?seconds=3&hz=499").await);
        if samples.count("") >= SAMPLES_MIN {
            break;
        }
    }
    let metrics = get(&admin, "/metrics").await;
    drop(clients);
    serving.abort();
    looking.abort();
    for task in [serving, looking] {
        // The result is the cancellation.
        let _ = task.await;
    }
    Measurements { metrics, calls: serde_json::from_str(&calls).expect("its JSON"), samples }
}

async fn get(admin: &str, path: &str) -> String {
    let address = admin.strip_prefix("tcp://").expect("TCP");
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = timeout(PATIENCE, exchange).await.expect("in time").expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
    body.to_owned()
}

impl Measurements {
    /// Returns the calls of a function by all its callers.
    fn calls_of(&self, name: &str) -> FunctionCalls {
        let mut sums = FunctionCalls { name: name.to_owned(), ..FunctionCalls::default() };
        for calls in self.calls.calls.iter().filter(|it| it.name == name) {
            sums.calls += calls.calls;
            sums.own += calls.own;
            sums.accumulated += calls.accumulated;
        }
        sums
    }

    fn lookups(&self, result: &str) -> u64 {
        let name = format!("three_faults_session_lookups_total{{result=\"{result}\"}} ");
        let number = self.metrics.lines().find_map(|line| line.strip_prefix(&name));
        number.and_then(|number| number.parse().ok()).expect("the metric")
    }
}

impl Samples {
    fn add(&mut self, folded: String) {
        let lines = folded.lines().filter(|line| line.starts_with("tokio-rt-worker;"));
        lines.for_each(|line| self.0 += &format!("{line}\n"));
    }

    /// Returns the number of samples whose stack contains a function; of all samples if its name is
    /// empty.
    fn count(&self, function: &str) -> f64 {
        let samples = |line: &str| -> Option<f64> {
            let (stack, number) = line.rsplit_once(' ')?;
            // A function that is not inlined has a name with its path.
            let is_it = |name: &str| name.rsplit("::").next() == Some(function);
            let is_in_stack = function.is_empty() || stack.split(';').any(is_it);
            Some(if is_in_stack { number.parse().ok()? } else { 0.0 })
        };
        self.0.lines().map(|line| samples(line).expect("a folded stack")).sum()
    }

    /// Returns the share of the samples whose stack contains a function.
    fn share(&self, function: &str) -> f64 {
        let all = self.count("");
        assert!(all >= SAMPLES_MIN, "{}\n{all} samples", self.0);
        self.count(function) / all
    }
}

/// The share of the samples that the log has, by sampling: it formats lines in the standard library,
/// which is optimized, beside a service that is not. About 2.5 in a hundred are usual, and none if
/// the fault is mended.
const LOG_SHARE: f64 = 0.006;

#[track_caller]
fn assert_faulty(found: &Measurements, function: &str) {
    let share = found.samples.share(function);
    assert!(share > FAULTY_SHARE_MIN, "{}\n{function}: {share}", found.samples.0);
}

#[track_caller]
fn assert_mended(found: &Measurements, function: &str) {
    let share = found.samples.share(function);
    assert!(share < MENDED_SHARE_MAX, "{}\n{function}: {share}", found.samples.0);
}

/// One test: a process has one profile at a time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[tokio::test(flavor = "multi_thread")]
async fn each_fault_is_found_and_gone_when_it_is_mended() {
    let faulty = measure(Faults::ALL).await;
    let mended = measure(Faults { cache: false, log: false, socket: false }).await;

    // The cache: the metrics have no hit, and every lookup ends in a log-in.
    assert_eq!(faulty.lookups("hit"), 0);
    assert!(faulty.lookups("miss") > 100, "{}", faulty.metrics);
    let (lookups, logins) =
        (faulty.calls_of("Sessions::get").calls, faulty.calls_of("log_in").calls);
    assert!(logins > 100 && logins.abs_diff(lookups) <= 4, "{logins} of {lookups}");
    assert_faulty(&faulty, "log_in");
    assert!(mended.lookups("hit") > 100 * mended.lookups("miss"), "{}", mended.metrics);
    assert_mended(&mended, "log_in");

    // The log, which is off: its function takes a good part of the time all the same.
    assert!(faulty.calls_of("log_requests").calls > 100, "{:?}", faulty.calls);
    let share = faulty.samples.share("log_requests");
    assert!(share > LOG_SHARE, "{}\nlog_requests: {share}", faulty.samples.0);
    // By samples of processor time: a pause of the machine in one call would be a large share of
    // wall time.
    assert_mended(&mended, "log_requests");

    // The socket: it is registered for each read, several times for a request.
    let requests = faulty.calls_of("answer").calls;
    let registered = faulty.calls_of("register_anew").calls;
    assert!(registered.abs_diff(faulty.calls_of("read").calls) <= 4, "{:?}", faulty.calls);
    assert!(registered > 5 * requests, "{registered} for {requests}");
    assert_faulty(&faulty, "epoll_ctl");
    let requests = |found: &Measurements| found.calls_of("answer").calls;
    // A connection of the faulty service may end while the calls of the mended one are counted.
    let registered = mended.calls_of("register_anew").calls;
    assert!(100 * registered < requests(&mended), "{registered}");
    assert_mended(&mended, "epoll_ctl");
    assert!(requests(&mended) > requests(&faulty), "{} {}", requests(&mended), requests(&faulty));
}

#[test]
fn faults_have_names() {
    let mended = Faults::ALL.without("cache,socket").expect("faults");
    assert!(!mended.cache && mended.log && !mended.socket);
    assert!(Faults::ALL.without("other").is_none());
}
