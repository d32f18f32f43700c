//! Faults that were reported of other gateways this year, tried here. `docs/proxied-cases.md` lists
//! them with their reports.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::ServerName;

use crate::backends::{Backend, answer_with, config, nobody, read_request};
use crate::gate::{Gate, PATIENCE, body, status};
use crate::http2::{connector, data};
use crate::tokens::ISSUER;

/// An open route, and a guarded one beside it, to a backend that answers with what it received.
async fn open_beside_guarded(more: &str) -> (Gate, Backend) {
    let backend = Backend::answering(answer_with).await;
    let config = format!(
        "{more}{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\npaths = \"strict\"\n\
         [[routes]]\npath = \"/public\"\nbackend = \"one\"\n\
         [[routes]]\npath = \"/admin\"\nissuer = \"app\"\nbackend = \"one\"\n",
        backend.address
    );
    (Gate::start(&config).await, backend)
}

fn request(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n{fields}\r\n")
}

#[tokio::test]
async fn no_field_of_a_client_changes_the_path_that_is_guarded() {
    for trusted in ["", "trusted_networks = [\"127.0.0.1\"]\n"] {
        let (gate, _backend) = open_beside_guarded(trusted).await;
        for name in [
            "X-Forwarded-Uri",
            "X-Forwarded-Prefix",
            "X-Original-URL",
            "X-Original-URI",
            "X-Rewrite-URL",
            "X-Envoy-Original-Path",
        ] {
            let answer = gate.exchange(&request("/admin", &format!("{name}: /public\r\n"))).await;
            assert_eq!(status(&answer), "401", "{trusted} {name}: {answer}");
            let answer = gate.exchange(&request("/public", &format!("{name}: /admin\r\n"))).await;
            assert_eq!(status(&answer), "200", "{name}");
            let seen = body(&answer).to_ascii_lowercase();
            assert!(!seen.contains(&format!("{}: /admin", name.to_ascii_lowercase())), "{seen}");
        }
    }
}

#[tokio::test]
async fn a_fragment_widens_no_open_route() {
    let (gate, _backend) = open_beside_guarded("").await;
    for (target, refused) in [
        ("/admin#/public", ["400", "401"]),
        ("/admin%23/public", ["404", "404"]),
        ("/admin/x#/../public", ["400", "401"]),
        ("/public#/../admin", ["400", "200"]),
    ] {
        let answer = gate.exchange(&request(target, "")).await;
        assert!(refused.contains(&status(&answer)), "{target}: {answer}");
        // What passes is the open path itself, without the fragment.
        assert!(!body(&answer).contains("admin"), "{target}: {answer}");
    }
}

#[tokio::test]
async fn no_open_prefix_leads_to_a_guarded_path() {
    let (gate, _backend) = open_beside_guarded("").await;
    for target in [
        "/public/../admin",
        "/public/%2e%2e/admin",
        "/public/.%2e/admin",
        "/public%2e/admin/secret",
        "/public/%2e/../admin",
        "/public/..%2fadmin",
        "/public%2f..%2fadmin",
        "/public/%5c../admin",
        "/public/..%00/admin",
    ] {
        let answer = gate.exchange(&request(target, "")).await;
        assert!(["400", "404"].contains(&status(&answer)), "{target}: {answer}");
    }
}

#[tokio::test]
async fn only_a_websocket_becomes_a_tunnel() {
    for (protocol, passes) in [
        ("h2c", false),
        ("TLS/1.0", false),
        ("HTTP/2.0", false),
        ("websocket, h2c", false),
        ("spdy/3", false),
        ("websocket", true),
    ] {
        let backend = Backend::start(move |mut stream, _| async move {
            let Some(asked) = read_request(&mut stream).await else { return };
            let asked = asked.to_ascii_lowercase();
            let answer = match asked.contains("\r\nupgrade: ") {
                // A server that would switch to anything.
                true => format!(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: {protocol}\r\n\r\n"
                ),
                false => answer_with("no upgrade").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
            };
            let _ = stream.write_all(answer.as_bytes()).await;
        })
        .await;
        let gate = Gate::start(&backend.config()).await;
        let fields = format!(
            "GET / HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade, HTTP2-Settings\r\n\
             Upgrade: {protocol}\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        );
        let mut stream = TcpStream::connect(gate.address).await.expect("it accepts");
        stream.write_all(fields.as_bytes()).await.expect("it reads");
        let head = read_request(&mut stream).await.expect("an answer");
        assert_eq!(status(&head) == "101", passes, "{protocol}: {head}");
        assert!(passes || !head.to_ascii_lowercase().contains("upgrade: "), "{protocol}: {head}");
    }
}

#[tokio::test]
async fn the_left_most_forwarded_address_is_not_believed() {
    let backend = Backend::answering(answer_with).await;
    let config =
        format!("trusted_networks = [\"127.0.0.1\", \"10.0.0.0/8\"]\n{}", backend.config());
    let gate = Gate::start(&config).await;
    for (field, client) in [
        ("203.0.113.9, 192.0.2.7", "192.0.2.7"),
        ("10.9.9.9, 192.0.2.7, 10.0.0.1", "192.0.2.7"),
        ("127.0.0.1, 192.0.2.7", "192.0.2.7"),
    ] {
        let answer = gate.exchange(&request("/", &format!("X-Forwarded-For: {field}\r\n"))).await;
        assert_eq!(status(&answer), "200");
        let seen = body(&answer).to_ascii_lowercase();
        let passed = seen.lines().find(|line| line.starts_with("x-forwarded-for: "));
        let passed = passed.expect("a field").trim_start_matches("x-forwarded-for: ");
        assert!(passed.starts_with(client), "{field}: {passed}");
    }
    let rows = gate.rows(3).await;
    assert!(rows.iter().all(|row| row["client"] == "192.0.2.7"), "{rows:?}");
}

#[tokio::test]
async fn no_client_says_who_it_is() {
    let (gate, _backend) = open_beside_guarded("").await;
    let forged: String =
        ["X-Forwarded-User", "X_Forwarded_User", "X-Auth-Request-Email", "Remote-User"]
            .iter()
            .map(|name| format!("{name}: root\r\n"))
            .collect();
    let answer = gate.exchange(&request("/public", &forged)).await;
    assert_eq!(status(&answer), "200");
    assert!(!body(&answer).contains("root"), "{answer}");
}

#[tokio::test]
async fn fields_of_a_connection_of_http1_do_not_reach_http2() {
    let backend = Backend::answering(|_| {
        "HTTP/1.1 200 OK\r\nConnection: Upgrade, Keep-Alive\r\nUpgrade: h2,h2c\r\n\
         Keep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok"
            .to_owned()
    })
    .await;
    let tls = format!(
        "tls = {{ certificate = \"{}\", key = \"{}\" }}\n",
        data("cert.pem").display(),
        data("key.pem").display()
    );
    let gate = Gate::start_at("tls://127.0.0.1:0", &format!("{tls}{}", backend.config())).await;
    let stream = TcpStream::connect(gate.address).await.expect("it accepts");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = connector(b"h2").connect(name, stream).await.expect("a handshake");
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("a handshake");
    tokio::spawn(connection);
    for _ in 0..3 {
        let request = Request::get("https://localhost/").body(Empty::<Bytes>::new());
        let answer = sender.send_request(request.expect("a request")).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        for name in ["connection", "upgrade", "keep-alive"] {
            assert!(!answer.headers().contains_key(name), "{answer:?}");
        }
        let body = answer.into_body().collect().await.expect("a whole answer").to_bytes();
        assert_eq!(body, "ok");
    }
}

#[tokio::test]
async fn empty_answers_over_http2_keep_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let service =
                service_fn(|_| async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) });
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
        }
    });
    let config = format!(
        "[backends.one]\ninstances = [\"http://127.0.0.1:{port}\"]\nhttp2 = true\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
    );
    let gate = Gate::start(&config).await;
    for _ in 0..10 {
        let answer = gate.get("/").await;
        assert_eq!((status(&answer), body(&answer)), ("200", ""), "{answer}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

/// A backend with a server that does not listen, and one that answers with what it received.
#[tokio::test]
async fn a_body_that_was_not_sent_goes_to_another_server() {
    let backend = Backend::answering(answer_with).await;
    let gate = Gate::start(&config(&[nobody(), backend.address], "")).await;
    for number in 0..20 {
        let answer = gate
            .exchange(&format!(
                "POST /{number} HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\
                 Content-Length: 5\r\n\r\nhello"
            ))
            .await;
        assert_eq!(status(&answer), "200", "{answer}");
        assert!(body(&answer).contains("hello"), "{answer}");
    }
}

/// A server of WebSockets that sends back each byte, and ends after a `.`.
async fn echoing() -> Backend {
    Backend::start(|mut stream, _| async move {
        if read_request(&mut stream).await.is_none() {
            return;
        }
        let switch =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
        let mut sent = stream.write_all(switch.as_bytes()).await;
        while sent.is_ok()
            && let Ok(byte) = stream.read_u8().await
            && byte != b'.'
        {
            sent = stream.write_all(&[byte]).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_reload_keeps_tunnels_and_the_end_of_a_server_ends_them() {
    let (backend, other) = (echoing().await, Backend::answering(answer_with).await);
    let gate = Gate::start(&backend.config()).await;
    let mut stream = TcpStream::connect(gate.address).await.expect("it accepts");
    let handshake =
        "GET / HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    stream.write_all(handshake.as_bytes()).await.expect("it reads");
    let head = read_request(&mut stream).await.expect("an answer");
    assert_eq!(status(&head), "101", "{head}");
    let talk = async {
        for config in [&backend, &other, &backend].map(Backend::config) {
            gate.reload(&config);
            stream.write_all(b"x").await.expect("it reads");
            assert_eq!(stream.read_u8().await.expect("an answer"), b'x');
        }
        stream.write_all(b".").await.expect("it reads");
        assert_eq!(stream.read(&mut [0]).await.expect("an end"), 0);
    };
    tokio::time::timeout(PATIENCE, talk).await.expect("in time");
}
