//! Answers before the end of a request's body, to clients of other implementations: none of their
//! requests is lost.

use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::backends::{Backend, answer_with, config, nobody};
use crate::gate::Gate;
use crate::tokens::ISSUER;

const COUNT: usize = 400;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/peers").join(name)
}

/// The number of requests of a client that got the expected status.
async fn answered(mut client: Command, gate: &Gate, status: &str) -> usize {
    client.args([&gate.address.port().to_string(), status, &COUNT.to_string()]);
    let output = tokio::task::spawn_blocking(move || client.output()).await.expect("no panic");
    let output = output.expect("the client runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    text.trim().parse().unwrap_or_else(|_| panic!("{text}{errors}"))
}

/// Gateways that answer early: no token, a dead backend, and a backend that answers early itself.
async fn gates() -> [(Gate, &'static str); 3] {
    let open = Backend::answering(|_| answer_with("ok")).await;
    let guarded = open.config().replace("backend = \"one\"", "backend = \"one\"\nissuer = \"app\"");
    let early = Backend::start(|mut stream, _| async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let refusal =
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(refusal.as_bytes()).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    [
        (Gate::start(&format!("{ISSUER}{guarded}")).await, "401"),
        (Gate::start(&config(&[nobody()], "")).await, "502"),
        (Gate::start(&early.await.config()).await, "413"),
    ]
}

async fn check(client: impl Fn() -> Command) {
    for (gate, status) in gates().await {
        assert_eq!(answered(client(), &gate, status).await, COUNT, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Node.js; cargo xtask test runs it"]
async fn no_request_of_node_is_lost() {
    check(|| {
        let mut node = Command::new("node");
        node.arg(source("early_answers.js"));
        node
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Python; cargo xtask test runs it"]
async fn no_request_of_python_is_lost() {
    check(|| {
        let mut python = Command::new("python3");
        python.arg(source("early_answers.py"));
        python
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go; cargo xtask test runs it"]
async fn no_request_of_go_is_lost() {
    let folder = std::env::var_os("PEERS_FOLDER").expect("PEERS_FOLDER is set");
    check(|| Command::new(Path::new(&folder).join("early_answers"))).await;
}
