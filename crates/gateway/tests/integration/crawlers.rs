//! Crawlers that sign their requests (Web Bot Auth).

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};
use weir_gateway::Config;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, Row, body, status};

/// The seed of the key that the directory has.
const KNOWN: [u8; 32] = [7; 32];

fn x(seed: [u8; 32]) -> String {
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a key");
    URL_SAFE_NO_PAD.encode(pair.public_key())
}

fn thumbprint(x: &str) -> String {
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(digest(&SHA256, members.as_bytes()))
}

/// A server of the keys of an agent. The keys have no `kid`: their thumbprints are their names.
async fn directory() -> Backend {
    Backend::answering(|request| {
        assert!(request.starts_with("GET /.well-known/http-message-signatures-directory HTTP"));
        answer_with(&format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{}"}}]}}"#, x(KNOWN)))
    })
    .await
}

/// A request for a path, signed for this host with the key of a seed.
fn signed(agent: &str, seed: [u8; 32], host: &str, path: &str) -> String {
    signed_over(agent, seed, host, path, &[])
}

/// Such a request whose signature covers these header fields, too.
fn signed_over(
    agent: &str,
    seed: [u8; 32],
    host: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> String {
    let names: String = fields.iter().map(|(name, _)| format!(" \"{name}\"")).collect();
    let lines: String =
        fields.iter().map(|(name, value)| format!("\"{name}\": {value}\n")).collect();
    let sent: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let parameters = format!(
        "(\"@authority\" \"signature-agent\"{names});created={now};expires={};keyid=\"{}\";\
         alg=\"ed25519\";tag=\"web-bot-auth\"",
        now + 300,
        thumbprint(&x(seed))
    );
    let base = format!(
        "\"@authority\": {host}\n\"signature-agent\": \"{agent}\"\n{lines}\"@signature-params\": {parameters}"
    );
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a key");
    let signature = STANDARD.encode(pair.sign(base.as_bytes()));
    format!(
        "GET {path} HTTP/1.1\r\nHost: gate\r\nSignature-Agent: \"{agent}\"\r\n\
         Signature-Input: sig={parameters}\r\nSignature: sig=:{signature}:\r\n\
         {sent}X-Crawler: forged\r\nConnection: close\r\n\r\n"
    )
}

fn crawlers(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.get("crawler_verified").map_or("", String::as_str)).collect()
}

fn told(answer: &str) -> Option<&str> {
    body(answer).lines().find_map(|line| line.strip_prefix("x-crawler: "))
}

#[tokio::test]
async fn verified_crawlers_are_recorded_and_told() {
    let (directory, backend) = (directory().await, Backend::answering(answer_with).await);
    let host = directory.address.to_string();
    let agent = format!("http://{host}");
    let config = format!(
        "{}[crawlers]\nhosts = [\"gate\"]\nagents = [\"{agent}\"]\nforward_field = \"X-Crawler\"\n",
        backend.config()
    );
    let gate = Gate::start(&config).await;
    // No request waits for the keys, so the first ones may come before them.
    let mut count = 0;
    loop {
        let answer = gate.exchange(&signed(&agent, KNOWN, "gate", "/")).await;
        assert_eq!(status(&answer), "200");
        count += 1;
        if told(&answer) == Some(&*host) {
            break;
        }
        assert_eq!(told(&answer), None, "never what the client says: {answer}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let wrong = [
        signed(&agent, [8; 32], "gate", "/"),
        signed(&agent, KNOWN, "other", "/"),
        signed(&agent, KNOWN, "other", "/").replace("Host: gate", "Host: other"),
        signed("http://127.0.0.1:1", KNOWN, "gate", "/"),
        signed(&agent, KNOWN, "gate", "/").replace("alg=", "nonce=\"x\";alg="),
        "GET / HTTP/1.1\r\nHost: gate\r\nX-Crawler: forged\r\nConnection: close\r\n\r\n".to_owned(),
    ];
    for request in &wrong {
        let answer = gate.exchange(request).await;
        assert_eq!((status(&answer), told(&answer)), ("200", None), "{request}");
    }
    // A reload keeps the keys.
    gate.reload(&config.replace("X-Crawler", "X-CRAWLER"));
    let answer = gate.exchange(&signed(&agent, KNOWN, "gate", "/")).await;
    assert_eq!(told(&answer), Some(&*host));
    let rows = gate.rows(count + wrong.len() + 1).await;
    let found = crawlers(&rows[count - 1..]);
    assert_eq!(found, [&*host, "", "", "", "", "", "", &*host]);
    // The unknown key has caused no further fetch within ten seconds.
    assert_eq!(directory.connections(), 1);
}

/// The gateway replaces these fields.
#[tokio::test]
async fn a_signature_is_over_what_was_sent() {
    let (directory, backend) = (directory().await, Backend::answering(answer_with).await);
    let host = directory.address.to_string();
    let agent = format!("http://{host}");
    let config = format!(
        "request_id = true\ntrace_context = \"restart\"\n{}[crawlers]\nhosts = [\"gate\"]\nagents = [\"{agent}\"]\n\
         forward_field = \"X-Crawler\"\n",
        backend.config()
    );
    let gate = Gate::start(&config).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let fields = [("x-request-id", "of-the-client"), ("traceparent", trace)];
    // No request waits for the keys, so the first ones may come before them.
    for _ in 0..1_000 {
        let answer = gate.exchange(&signed_over(&agent, KNOWN, "gate", "/", &fields)).await;
        assert!(!body(&answer).contains("of-the-client"), "it is replaced: {answer}");
        if told(&answer) == Some(&*host) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the signature is never verified");
}

#[tokio::test]
async fn a_directory_that_does_not_answer_delays_nobody() {
    let backend = Backend::answering(answer_with).await;
    // It accepts connections, and says nothing.
    let silent = Backend::start(|stream, _| async move {
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let agent = format!("http://{}", silent.address);
    let config =
        format!("{}[crawlers]\nhosts = [\"gate\"]\nagents = [\"{agent}\"]\n", backend.config());
    let gate = Gate::start(&config).await;
    let asked = tokio::time::Instant::now();
    let answer = gate.exchange(&signed(&agent, KNOWN, "gate", "/")).await;
    assert_eq!(status(&answer), "200");
    // A fetch takes up to ten seconds.
    assert!(asked.elapsed() < std::time::Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(crawlers(&gate.rows(1).await), [""]);
}

#[test]
fn mistakes_have_their_place() {
    for (crawlers, expected) in [
        ("agents = [\"http://127.0.0.1:1\"]\nforward_field = \"X-Crawler\"", ""),
        ("", "`agents` is missing"),
        ("agents = [\"http://127.0.0.1:1\"]\nhosts = []", "`hosts` is missing"),
        ("agents = [\"http://127.0.0.1:1\"]\nhosts = [\"a/b\"]", "`a/b` is not a host"),
        (
            "agents = [\"http://127.0.0.1:1\"]\nforward_field = \"X-Crawler\"",
            "`x-crawler` is in `crawlers` too; leave one out",
        ),
        ("agents = []", "name at least one agent"),
        ("agents = [\"crawler.example\"]", "`crawler.example` is not the address of a server"),
        ("agents = [\"http://crawler.example\"]", "https"),
        ("agents = [\"http://127.0.0.1:1\", \"http://127.0.0.1:1\"]", "is named twice"),
        (
            "agents = [\"http://127.0.0.1:1\"]\nforward_field = \"Host\"",
            "`Host` is not a header field",
        ),
        ("agents = [\"http://127.0.0.1:1\"]\nforward = \"X\"", "forward"),
        ("agents = [\"http://127.0.0.1:1\"]\nca_file = \"/nowhere.pem\"", "/nowhere.pem"),
    ] {
        let hosts = if crawlers.contains("hosts") { "" } else { "hosts = [\"gate\"]\n" };
        let is_set = expected.contains("too; leave one out");
        let of_route =
            if is_set { "request_fields = { set = { X-Crawler = \"x\" } }\n" } else { "" };
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n[backends.one]\ninstances = [\"http://127.0.0.1:1\"]\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\n{of_route}[crawlers]\n{hosts}{crawlers}\n"
        );
        let found = match Config::parse(&text, Path::new("/")) {
            Ok(_) => String::new(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect(),
        };
        assert_eq!(found.is_empty(), expected.is_empty(), "{crawlers}: {found}");
        assert!(found.contains(expected), "{crawlers}: {found}");
    }
}
