//! The durations in records: each phase of a request is slow in turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::backends::{Backend, answer_with, config, read_request};
use crate::gate::{Gate, PATIENCE, Row, status};
use crate::tokens::{ISSUER, token};

/// The duration of each phase. All differ, so that a value in the wrong field is noticed.
const LOOKUP: Duration = Duration::from_millis(100);
const CONNECT: Duration = Duration::from_millis(200);
const HEAD: Duration = Duration::from_millis(400);
const BODY: Duration = Duration::from_millis(1000);

/// Returns a duration of a record, if it has one.
fn time(row: &Row, name: &str) -> Option<Duration> {
    let (seconds, fraction) = match row.get(name)?.split_once('.') {
        Some((seconds, fraction)) => (seconds, fraction),
        None => (row[name].as_str(), ""),
    };
    let nanoseconds: u32 = format!("{fraction:0<9}").parse().expect("nine decimals");
    Some(Duration::new(seconds.parse().expect("seconds"), nanoseconds))
}

/// Asserts that the request's duration is the sum of its phases, to the nanosecond.
fn check_sums(row: &Row) {
    let time = |name| time(row, name).unwrap_or_else(|| panic!("{name}: {row:?}"));
    let upstream = time("upstream_header_time") + time("body_time");
    assert_eq!(time("upstream_time"), upstream, "{row:?}");
    assert_eq!(time("request_time"), time("wait_time") + upstream, "{row:?}");
}

/// A self-signed certificate for 127.0.0.1, which is its own authority.
pub(crate) struct Certificate {
    pub(crate) file: PathBuf,
    pub(crate) acceptor: TlsAcceptor,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let text = STANDARD.encode(certificate.der());
        let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-authority-{}-{number}.pem", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, pem).expect("written");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .expect("a configuration");
        Self { file, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // The folder is for temporary files.
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Answers requests, with a delay before the head and before the second byte of the body. The
/// second delay begins when the client has received the first byte.
async fn answer_slowly(mut stream: impl AsyncRead + AsyncWrite + Unpin, arrived: &Notify) {
    while read_request(&mut stream).await.is_some() {
        tokio::time::sleep(HEAD).await;
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na";
        let _ = stream.write_all(head).await;
        let _ = stream.flush().await;
        arrived.notified().await;
        tokio::time::sleep(BODY).await;
        let _ = stream.write_all(b"b").await;
        let _ = stream.flush().await;
    }
}

#[tokio::test]
async fn each_time_is_that_of_its_step() {
    let service = Backend::start(|mut stream, _| async move {
        while read_request(&mut stream).await.is_some() {
            tokio::time::sleep(LOOKUP).await;
            let _ = stream.write_all(answer_with(r#"{"backend":"one"}"#).as_bytes()).await;
        }
    })
    .await;
    let certificate = Certificate::new();
    let arrived = Arc::new(Notify::new());
    let (acceptor, notified) = (certificate.acceptor.clone(), arrived.clone());
    let backend = Backend::start(move |stream, _| {
        let (acceptor, notified) = (acceptor.clone(), notified.clone());
        async move {
            tokio::time::sleep(CONNECT).await;
            if let Ok(stream) = acceptor.accept(stream).await {
                answer_slowly(stream, &notified).await;
            }
        }
    })
    .await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"https://{}\"]\nca_file = {:?}\n[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nclaim = \"tenant\"\nlookup = {{ url = \"http://{}/of?={{claim}}\" }}\n",
        backend.address, certificate.file, service.address
    ))
    .await;
    let first_byte = (&b"\r\n\r\na"[..], &*arrived);
    for claims in [r#""tenant":"a""#, r#""tenant":"b""#] {
        let answer = gate.get_in_parts(&token(claims), "/", first_byte).await;
        assert_eq!(status(&answer), "200", "{answer}");
    }
    let rows = gate.rows(2).await;
    for (row, connect) in rows.iter().zip([CONNECT, Duration::ZERO]) {
        let took = |name| time(row, name).unwrap_or_else(|| panic!("{name}: {row:?}"));
        assert!(took("wait_time") >= LOOKUP, "{row:?}");
        assert!(took("upstream_header_time") >= connect + HEAD, "{row:?}");
        assert!(took("body_time") >= BODY, "{row:?}");
        check_sums(row);
    }
    let connect = time(&rows[0], "upstream_connect_time").expect("a new connection");
    assert!(connect >= CONNECT, "{connect:?}");
    assert_eq!(time(&rows[1], "upstream_connect_time"), None, "the connection was there");
}

#[tokio::test]
async fn waiting_for_a_connection_is_waiting() {
    let (arrived, released) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (seen, release) = (arrived.clone(), released.clone());
    let backend = Backend::start(move |mut stream, _| {
        let (seen, release) = (seen.clone(), release.clone());
        async move {
            while read_request(&mut stream).await.is_some() {
                seen.add_permits(1);
                release.acquire().await.expect("it is open").forget();
                let _ = stream.write_all(answer_with("ok").as_bytes()).await;
            }
        }
    })
    .await;
    let gate = Arc::new(Gate::start(&config(&[backend.address], "connections = 1")).await);
    let get = |path: &'static str| {
        let gate = gate.clone();
        tokio::spawn(async move { gate.get(path).await })
    };
    let first = get("/first");
    arrived.acquire().await.expect("it is open").forget();
    let second = get("/second");
    // The second request waits for the connection of the first.
    let requests = || gate.handle.counts().backends.remove(0).servers.remove(0).requests;
    let start = Instant::now();
    while requests() < 2 {
        assert!(start.elapsed() < PATIENCE, "the second request has not come");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(HEAD).await;
    released.add_permits(2);
    for client in [first, second] {
        let answer = tokio::time::timeout(PATIENCE, client).await.expect("in time");
        assert_eq!(status(&answer.expect("no panic")), "200");
    }
    let rows = gate.rows(2).await;
    let took = |path: &str, name: &str| {
        let row = rows.iter().find(|row| row["path"] == path).expect("a record");
        check_sums(row);
        time(row, name).unwrap_or_else(|| panic!("{name}: {row:?}"))
    };
    assert!(took("/first", "upstream_header_time") >= HEAD);
    assert!(took("/second", "wait_time") >= HEAD / 2, "it waited for the first");
}

#[tokio::test]
async fn a_request_without_a_backend_only_waits() {
    let gate = Gate::start(&config(&["127.0.0.1:1".parse().expect("an address")], "")).await;
    assert_eq!(
        status(&gate.exchange("TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await),
        "405"
    );
    let row = gate.rows(1).await.remove(0);
    assert_eq!(time(&row, "wait_time"), time(&row, "request_time"), "{row:?}");
    for name in ["upstream_time", "upstream_connect_time", "upstream_header_time", "body_time"] {
        assert_eq!(time(&row, name), None, "{name}");
    }
}
