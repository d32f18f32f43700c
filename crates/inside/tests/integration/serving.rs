//! Tests of the admin server over real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use weir_inside::{AdminAddress, AdminServer, Inside, Part, Scrape};
use weir_server::AccessToken;
use weir_view::{RouteStage, RouteStageKind};

/// No test waits longer than this for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The number of calls of a part.
#[derive(Default)]
struct CallCount(AtomicU64);

/// A part that counts its calls.
struct CountingPart(Arc<CallCount>);

impl Part for CountingPart {
    fn collect(&self, _: &mut Scrape) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }

    fn stages(&self) -> Vec<RouteStage> {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        vec![RouteStage::new(RouteStageKind::Source, "<a>\u{1b}")]
    }
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    asked: Arc<CallCount>,
    serving: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A process can take one profile and one recording of calls at a time.
pub(crate) static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub(crate) async fn start(token: Option<AccessToken>) -> Running {
    start_with(token, Inside::default()).await
}

/// Starts a server with these parts and a [`CountingPart`].
pub(crate) async fn start_with(token: Option<AccessToken>, inside: Inside) -> Running {
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = AdminServer::bind(&address, token, Default::default()).await.expect("a port");
    let address = server.address().to_string();
    let address = address.strip_prefix("tcp://").expect("TCP").parse().expect("an address");
    let asked = Arc::<CallCount>::default();
    inside.add(CountingPart(asked.clone()));
    let serving = tokio::spawn(server.serve(inside, std::future::pending()));
    Running { address, asked, serving }
}

/// Sends a request, and reads until the server closes the connection.
pub(crate) async fn exchange(address: SocketAddr, line: &str, fields: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it accepts");
    let request = format!("{line} HTTP/1.1\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut answer));
    read.await.expect("in time").expect("UTF-8");
    answer
}

#[tokio::test]
async fn a_collector_gets_its_format() {
    let running = start(None).await;
    let get = |accept: &'static str| async move {
        let fields = format!("Host: {}\r\nAccept: {accept}\r\n", running.address);
        exchange(running.address, "GET /metrics", &fields).await
    };
    let open = get("application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    let (head, body) = open.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let expected = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(expected), "{head}");
    assert!(body.ends_with("\n# EOF\n") && body.contains("# TYPE weir_build info"), "{body}");
    let plain = get("*/*").await;
    let (head, body) = plain.split_once("\r\n\r\n").expect("an answer");
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    assert!(!body.contains("# EOF") && body.contains("# TYPE weir_build_info gauge"), "{body}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_process_uses_is_shown_with_its_limits() {
    let running = start(None).await;
    let host = format!("Host: {}\r\n", running.address);
    let open: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").expect("a file")).collect();
    let answer = exchange(running.address, "GET /route.json", &host).await;
    let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let route: weir_view::Route = serde_json::from_str(body).expect("a route");
    let used = |kind| {
        let limit = route.limits.iter().find(|limit| limit.limit == kind).expect("a limit");
        (limit.used, limit.used_max.expect("Linux states it"))
    };
    let (files, files_max) = used(weir_view::ServiceLimitKind::Files);
    assert!((open.len() as u64..files_max).contains(&files), "{files} of {files_max}");
    let (memory, memory_max) = used(weir_view::ServiceLimitKind::Memory);
    assert!(memory > 1 << 20 && memory < memory_max, "{memory} of {memory_max}");
    let metrics = exchange(running.address, "GET /metrics", &host).await;
    for line in [
        format!("\nprocess_max_fds {files_max}\n"),
        format!("\nweir_process_memory_max_bytes {memory_max}\n"),
    ] {
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn only_those_who_may_are_answered() {
    let token = AccessToken::new("0123456789abcdef").expect("a token");
    let running = start(Some(token)).await;
    for (line, fields, status) in [
        ("GET /metrics", "Host: localhost\r\n", "401"),
        ("GET /metrics", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdeF\r\n", "401"),
        ("GET /metrics", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n", "200"),
        ("HEAD /metrics", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n", "200"),
        ("POST /metrics", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n", "405"),
        ("GET /nothing", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n", "404"),
        // A name that resolves to this machine, and a page of another site.
        ("GET /metrics", "Host: evil.example\r\n", "421"),
        ("GET /metrics", "Host: localhost\r\nOrigin: http://evil.example\r\n", "403"),
    ] {
        let answer = exchange(running.address, line, fields).await;
        assert_eq!(answer.split(' ').nth(1), Some(status), "{line} {fields}: {answer}");
        assert!(answer.contains("\r\nx-content-type-options: nosniff\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn frequent_collectors_share_what_was_read() {
    let running = start(None).await;
    let start = Instant::now();
    for _ in 0..50 {
        let answer = exchange(running.address, "GET /metrics", "Host: localhost\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    for _ in 0..50 {
        let answer = exchange(running.address, "GET /route.json", "Host: localhost\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let turns = 2 + start.elapsed().as_millis() as u64 / 100;
    let asked = running.asked.0.load(Ordering::Relaxed);
    assert!((1..=turns).contains(&asked), "{asked} times in {:?}", start.elapsed());
}

#[tokio::test]
async fn the_page_runs_no_script_of_others() {
    let running = start(None).await;
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/glass", "text/html; charset=utf-8"),
        ("/log", "text/html; charset=utf-8"),
        ("/admin/admin.css", "text/css; charset=utf-8"),
        ("/admin/admin.js", "text/javascript; charset=utf-8"),
        ("/assets/frame.js", "text/javascript; charset=utf-8"),
        ("/route.json", "application/json"),
    ] {
        let answer = exchange(running.address, &format!("GET {path}"), "Host: localhost\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(&format!("content-type: {content_type}\r\n")), "{answer}");
        assert!(answer.contains("content-security-policy: default-src 'none'; script-src 'self'"));
        assert!(!answer.contains(" style=\"") && !answer.contains(" onclick="), "{answer}");
        // Every script of a document is in a file.
        let is_document = content_type.contains("html");
        for script in answer.split("<script").skip(1).filter(|_| is_document) {
            assert!(script.contains("src=\"/admin/admin.js\"></script>"), "{script}");
        }
    }
    let token = AccessToken::new("0123456789abcdef").expect("a token");
    let running = start(Some(token)).await;
    let link =
        exchange(running.address, "GET /?token=0123456789abcdef", "Host: localhost\r\n").await;
    let cookie = link.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next());
    let cookie = cookie.expect("a cookie");
    // The script of this answer, which leads to the page.
    let script = link.split("<script src=\"").nth(1).and_then(|rest| rest.split('"').next());
    let script = script.expect("a script");
    let fields = format!("Host: localhost\r\nCookie: {cookie}\r\n");
    let answer = exchange(running.address, &format!("GET {script}"), &fields).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{script}: {answer}");
}

#[tokio::test]
async fn another_process_asks_for_the_route() {
    let running = start(None).await;
    let address: AdminAddress = running.address.to_string().parse().expect("an address");
    let route = address.route(None).await.expect("an answer");
    assert_eq!(route.stages.len(), 1);
    assert_eq!(route.stages[0].name, "<a>\u{1b}");
    let token = AccessToken::new("0123456789abcdef").expect("a token");
    let running = start(Some(token)).await;
    let address: AdminAddress = running.address.to_string().parse().expect("an address");
    let refused = address.route(None).await.expect_err("it requires a token").to_string();
    assert!(refused.contains("name its file with --token-file"), "{refused}");
    assert!(address.route(Some("0123456789abcdef")).await.is_ok());
    drop(running);
    let nobody: AdminAddress = "127.0.0.1:1".parse().expect("an address");
    let refused = nobody.route(None).await.expect_err("nobody listens").to_string();
    assert!(refused.starts_with("tcp://127.0.0.1:1: it cannot be reached: "), "{refused}");
}

#[tokio::test]
async fn idle_connections_make_room() {
    let running = start(None).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(running.address).await.expect("it accepts");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("sent");
        let mut first = [0; 12];
        let read = timeout(PATIENCE, stream.read_exact(&mut first));
        read.await.expect("in time").expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
        idle.push(stream);
    }
    let mut closed = 0;
    for stream in &mut idle {
        let mut rest = Vec::new();
        // Those that are still open have nothing more to read.
        let ended = timeout(Duration::from_millis(20), stream.read_to_end(&mut rest)).await;
        closed += usize::from(ended.is_ok());
    }
    assert!(closed >= 60, "{closed} of 100 connections were closed");
}
