//! The variables of limits' keys, compared with those of a running nginx, value for value.
//!
//! Differences are listed with their reasons, and in docs/gateway.md.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hyper::{Request, Response, StatusCode};
use weir_net::{Body, Client, IncomingBody, Server, text_response};
use weir_rules::{Events, Line, RuleFiles, parse_rules};

use super::Arrival;
use super::arrival::{ExtraField, fields};
use crate::header_fields::sender::Sender;
use crate::header_fields::trusted_networks::TrustedNetworks;
use crate::request::target::RequestTarget;

const VARIABLES: [&str; 21] = [
    "host",
    "http_host",
    "uri",
    "document_uri",
    "request_uri",
    "args",
    "query_string",
    "is_args",
    "arg_a",
    "arg_b",
    "request_method",
    "server_protocol",
    "http_x_key",
    "http_user_agent",
    "http_referer",
    "http_cookie",
    "cookie_id",
    "cookie_a",
    "http_content_type",
    "remote_addr",
    "binary_remote_addr",
];

/// Separates the values of an answer.
const SEPARATOR: &str = "<<&>>";

/// The targets of requests; the ordinary ones first.
const TARGETS: [&str; 56] = [
    "/",
    "/a/b?a=1&b=2",
    "/?a=",
    "/?a",
    "/?",
    "/?a=1&a=2",
    "/?A=1",
    "/?b=2&A=3&a=4",
    "/?aa=1&a=2",
    "/?a%3D1",
    "/?%61=1",
    "/?a=%20x+y",
    "/?a=1;b=2",
    "/?a=1&&b=2",
    "/?a==1",
    "/?&a=1",
    "/?a=1?b=2",
    "/?a=/../x",
    "/?a=\"<>",
    "/?query=up{job=\"x\"}",
    "/?a=|\\^`{}[]~",
    "/?a=caf\u{e9}",
    "/?a=1#b",
    "/#a",
    "/a#b?a=1",
    "/%61",
    "/a%20b",
    "/caf%C3%A9",
    "/caf\u{e9}",
    "/a;b=1?a=2",
    "/a,b:c@d!$&'()*+=~",
    "/a%3Fb?a=1",
    "/a%23b?a=1",
    "/a//b",
    "/a/./b",
    "/a/../b",
    "/..",
    "/%2e%2e/a",
    "/a%2fb",
    "//a",
    "/a///",
    "/a//?b=//%2F",
    "/%2F",
    "/a%2F%2fb",
    "/a/%2F/b",
    "/a%2F;x",
    "/a;x%2Fy",
    "/group%2Fname/%61//b",
    "/a%00",
    "/a%0Ab",
    "/%zz",
    "/%",
    "http://other.example/x?a=1",
    "http://Other.Example:81?a=1",
    "HTTP://other.example/",
    "http://other.example",
];

/// Values of `Host`.
const HOSTS: [&str; 18] = [
    "Shop.Example",
    "shop.example.",
    "shop.example:80",
    "shop.example.:8080",
    "shop.example:",
    "shop.example:99999",
    "10.0.0.1",
    "[::1]",
    "[2001:DB8::1]:80",
    "a_b.example",
    "-",
    "shop..example",
    ".",
    "",
    "a b",
    "a/b",
    "user@shop.example",
    "shop.example..",
];

/// Header fields besides `Host`.
const FIELDS: [&str; 26] = [
    "X-Key: one",
    "x-key:two",
    "X-KEY:  spaces around  ",
    "X-Key:",
    "X-Key: -",
    "X-Key: a\tb",
    "X-Key: caf\u{e9}",
    "X-Key: one\r\nX-Key: two",
    "X-Key: one\r\nX-Key:",
    "X_Key: underscore",
    "User-Agent: curl\r\nReferer: http://a.example/?x",
    "User-Agent: one\r\nUser-Agent: two",
    "User-Agent: -",
    "Content-Type: text/plain",
    "Cookie: id=1",
    "Cookie: a=1; id=2",
    "Cookie: a=1;id=2",
    "Cookie: id=1; id=2",
    "Cookie: ID=1; id=2",
    "Cookie: a=1\r\nCookie: id=2",
    "Cookie: id=\"quoted\"",
    "Cookie: id=x=y; a",
    "Cookie: id = spaced; a= 1",
    "Cookie: xid=1; id=2",
    "Cookie: id",
    "Cookie: a=1, id=2",
];

/// Addresses of clients behind a trusted proxy.
const ADDRESSES: [&str; 4] =
    ["203.0.113.9", "2001:db8::5", "2001:DB8:0:0::5", "::ffff:203.0.113.9"];

const METHODS: [&str; 3] = ["HEAD", "POST", "PROPFIND"];

/// A request, and a short description.
fn requests() -> Vec<(String, String)> {
    let request = |method: &str, target: &str, version: &str, host: &str, fields: &str| {
        let end = if fields.is_empty() { "" } else { "\r\n" };
        let text = format!(
            "{method} {target} {version}\r\nHost: {host}\r\n{fields}{end}Connection: close\r\n\r\n"
        );
        (format!("{method} {target} {version}, {host}, {fields:?}"), text)
    };
    let get =
        |target: &str, host: &str, fields: &str| request("GET", target, "HTTP/1.1", host, fields);
    let mut all: Vec<_> = TARGETS.iter().map(|target| get(target, "a.example", "")).collect();
    all.extend(HOSTS.iter().map(|host| get("/", host, "")));
    all.extend(FIELDS.iter().map(|fields| get("/", "a.example", fields)));
    for address in ADDRESSES {
        all.push(get("/", "a.example", &format!("X-Forwarded-For: {address}")));
    }
    all.extend(METHODS.iter().map(|it| request(it, "/", "HTTP/1.1", "a.example", "")));
    all.push(request("GET", "/?a=1", "HTTP/1.0", "a.example", ""));
    all
}

/// Why a value differs from that of nginx 1.22; `None` if it must be the same.
fn reason(variable: &str, request: &str) -> Option<&'static str> {
    let is_repeated = request.contains("X-Key: one\\r\\nX-Key:");
    let is_address = matches!(variable, "remote_addr" | "binary_remote_addr");
    match variable {
        _ if is_address && !request.contains("X-Forwarded-For") => {
            Some("nginx is asked over a Unix socket")
        }
        _ if is_address && request.contains("::ffff:") => {
            Some("one client has one key, over IPv4 and over a socket for both")
        }
        "host" if request.contains(", -, ") => Some("a dash, which would be an absent value"),
        "http_host" if request.contains("://") => Some("the host of the target replaces `Host`"),
        "request_uri" if request.contains('#') => Some("the fragment is removed"),
        "request_uri" | "args" | "query_string" | "arg_a" if request.contains('"') => {
            Some("quotes and angle brackets are percent-encoded")
        }
        "http_x_key" if is_repeated => Some("joined, as in nginx since 1.23"),
        "http_x_key" | "http_user_agent" | "http_host"
            if request.contains("-, ") || request.contains(": -") =>
        {
            Some("a dash is an absent value, as in logs")
        }
        _ => None,
    }
}

/// The key of a limit by one variable, for an arriving request.
fn key(variable: &str, arrival: &Arrival<'_>) -> String {
    let text = format!("limit_req_zone ${variable} zone=a:1m rate=1r/s; limit_req zone=a;");
    let rules = parse_rules(&text, "a", None, &RuleFiles::default()).expect("a rule");
    let mut names = rules[0].named_fields();
    names.retain(|name| ExtraField::is_name(name));
    let extra: Vec<_> = names.iter().filter_map(|name| ExtraField::new(name)).collect();
    let values = arrival.extra(&extra);
    let record = arrival.record(&values, 0);
    let mut observer = rules[0].bind(&fields(&names)).unwrap_or_else(|it| panic!("{it:?}"));
    let mut events = Events::default();
    observer.observe(&Line { number: 0, bytes: b"", record: Some(&record) }, &mut events);
    let Some(event) = events.iter().next() else { return String::new() };
    let key = event.texts.map(|text| String::from_utf8_lossy(text).into_owned()).next();
    key.unwrap_or_default()
}

async fn answer(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let (mut parts, _body) = request.into_parts();
    if RequestTarget::read(&mut parts).is_err() {
        return text_response(StatusCode::BAD_REQUEST, "");
    }
    let trusted: TrustedNetworks =
        ["127.0.0.1"].iter().map(|it| it.parse().expect("an address")).collect();
    let loopback = Some(Ipv4Addr::LOCALHOST.into());
    let sender = Sender::resolve(loopback, &parts.headers, &trusted);
    let arrival = Arrival::new(&parts, sender.address, None);
    let values: Vec<String> = VARIABLES.iter().map(|variable| key(variable, &arrival)).collect();
    text_response(StatusCode::OK, values.join(SEPARATOR))
}

/// A running nginx, which answers with the values of the variables.
struct Nginx {
    process: Child,
    folder: PathBuf,
}

impl Nginx {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("weir-variables-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let here = folder.display();
        let values: Vec<String> = VARIABLES.iter().map(|name| format!("${{{name}}}")).collect();
        let values = values.join(SEPARATOR).replace("${binary_remote_addr}", "${remote_addr}");
        let text = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;\nevents {{}}\n\
             http {{ access_log off; client_body_temp_path {here}/1; proxy_temp_path {here}/2;\n\
             fastcgi_temp_path {here}/3; uwsgi_temp_path {here}/4; scgi_temp_path {here}/5;\n\
             default_type text/plain; set_real_ip_from unix:; real_ip_header X-Forwarded-For;\n\
             server {{ listen unix:{here}/socket; location / {{ return 200 \"{values}\"; }} }} }}"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, text).expect("a file");
        let mut command = Command::new("nginx");
        command.arg("-c").arg(file).stdin(Stdio::null()).stderr(Stdio::null());
        Self { process: command.spawn().expect("nginx starts"), folder }
    }

    fn exchange(&self, request: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match UnixStream::connect(self.folder.join("socket")) {
                Ok(stream) => return exchange(stream, request),
                Err(error) => assert!(Instant::now() < deadline, "nginx does not listen: {error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn exchange(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    // A reset ends the connection too.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The values in an answer; `None` for a refusal.
fn values(answer: &str) -> Option<Vec<String>> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_answered = head.split(' ').nth(1) == Some("200");
    is_answered.then(|| body.split(SEPARATOR).map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nginx; cargo xtask test runs it"]
async fn keys_have_the_values_of_nginx() {
    let server = Server::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
    let address = server.local_addr().expect("an address");
    tokio::spawn(server.serve(answer, std::future::pending()));
    let compared = tokio::task::spawn_blocking(move || {
        let nginx = Nginx::start();
        let requests = requests();
        assert!(requests.len() >= 60, "{}", requests.len());
        let (mut unexplained, mut reasons, mut compared) = (Vec::new(), BTreeSet::new(), 0);
        for (name, request) in requests {
            let own = exchange(TcpStream::connect(address).expect("it accepts"), &request);
            let (own, theirs) = (values(&own), values(&nginx.exchange(&request)));
            let (own, theirs) = match (own, theirs) {
                (Some(own), Some(theirs)) => (own, theirs),
                // What nginx refuses too, or what only the gateway refuses, needs no value.
                (None, _) => continue,
                (Some(own), None) => (own, vec!["refused".to_owned(); VARIABLES.len()]),
            };
            for ((variable, own), theirs) in VARIABLES.iter().zip(&own).zip(&theirs) {
                compared += 1;
                if own == theirs {
                    continue;
                }
                match reason(variable, &name) {
                    Some(reason) => {
                        reasons.insert(reason);
                    }
                    None => {
                        unexplained.push(format!("{name}: ${variable}: {own:?}, nginx {theirs:?}"));
                    }
                }
            }
        }
        assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
        assert_eq!(reasons.len(), 8, "each reason is still needed: {reasons:?}");
        compared
    });
    assert!(compared.await.expect("no difference") > 1_000);
}
