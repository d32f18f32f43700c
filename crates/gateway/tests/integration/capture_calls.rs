//! Captures of the gateway's own requests: they show the steps, but no tokens and credentials.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weir_observe::capture::{Capture, CaptureOutcome};

use crate::backends::{Backend, answer_with, nobody};
use crate::gate::{Gate, PATIENCE, status};
use crate::tokens::{ISSUER, token};

/// The content of the file `credential`.
const CREDENTIAL: &str = include_str!("../data/gate/credential");

/// Captures what the gateway sends to a server while it answers a request. The address of the
/// server distinguishes its calls from those of other tests.
async fn call(gate: &Gate, server: SocketAddr, token: &str) -> (Capture, String) {
    let pending = gate.handle.capture_call(Some(&server.to_string())).expect("a place");
    let (outcome, answer) = tokio::join!(pending.wait(PATIENCE), gate.get_as(token, "/"));
    match outcome {
        CaptureOutcome::Found(capture) => (*capture, answer),
        CaptureOutcome::Nothing { ended, .. } => panic!("none of {ended} calls: {answer}"),
    }
}

fn steps(capture: &Capture) -> Vec<&'static str> {
    capture.steps.iter().map(|step| step.name).collect()
}

fn text<'a>(capture: &'a Capture, title: &str) -> &'a str {
    let found = capture.texts.iter().find(|(named, _)| *named == title);
    found.map_or_else(|| panic!("no {title} in {capture:?}"), |(_, text)| text)
}

/// A gateway whose only route needs a session.
async fn with_session(backend: &Backend, login: &str) -> Gate {
    let session = format!("session = {{ {login}, credential_file = \"credential\" }}\n");
    Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nbackend = \"one\"\n{session}",
        backend.address
    ))
    .await
}

fn assert_tells_nothing(capture: &Capture, token: &str) {
    let all = format!("{capture:?}");
    let credential = CREDENTIAL.trim_end();
    let encoded = STANDARD.encode(credential);
    for secret in [token, credential, &encoded, "qZ7session"] {
        assert!(!all.contains(secret), "{secret} is shown: {all}");
    }
}

#[tokio::test]
async fn a_log_in_is_seen_without_its_credential() {
    let backend = Backend::answering(|request| match request.starts_with("POST /session ") {
        true => answer_with(r#"{"access_token":"qZ7session","expires_in":60}"#),
        false => answer_with("ok"),
    })
    .await;
    let gate = with_session(&backend, "login = \"/session\"").await;
    let token = token(r#""sub":"u""#);
    let (seen, answer) = call(&gate, backend.address, &token).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(seen.name, format!("log-in: POST /session at {} of one", backend.address));
    let expected =
        ["server connection", "request body", "request sent", "answer head", "answer body"];
    assert_eq!(steps(&seen), expected, "{seen:?}");
    let sent = text(&seen, "gateway to server");
    assert!(sent.starts_with("POST /session HTTP/1.1\n"), "{sent}");
    assert!(sent.contains("authorization: Bearer ("), "{sent}");
    assert!(text(&seen, "server to gateway").starts_with("HTTP/1.1 200 OK\n"), "{seen:?}");
    assert_tells_nothing(&seen, &token);
}

#[tokio::test]
async fn an_exchange_of_tokens_is_seen_without_them() {
    let service = Backend::answering(|_| {
        answer_with(
            r#"{"access_token":"qZ7session","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","expires_in":60}"#,
        )
    })
    .await;
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let exchange = format!("exchange = \"http://{}/token\"", service.address);
    let gate = with_session(&backend, &exchange).await;
    let token = token(r#""sub":"u""#);
    let (seen, answer) = call(&gate, service.address, &token).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(seen.name, format!("token exchange: POST http://{}/token", service.address));
    let expected = ["server connection", "request body", "answer head", "answer body"];
    assert_eq!(steps(&seen), expected, "{seen:?}");
    assert!(text(&seen, "gateway to server").contains("authorization: Basic ("), "{seen:?}");
    assert_tells_nothing(&seen, &token);
}

#[tokio::test]
async fn a_look_up_that_fails_says_why() {
    let gone = nobody();
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nclaim = \"tenant\"\nlookup = {{ url = \"http://{gone}/of?tenant={{claim}}\" }}\n",
        backend.address
    ))
    .await;
    let (seen, answer) = call(&gate, gone, &token(r#""tenant":"secret-tenant""#)).await;
    assert_eq!(status(&answer), "502", "{answer}");
    assert_eq!(seen.name, format!("lookup: GET http://{gone}/of?tenant=(13 bytes not shown)"));
    assert_eq!(steps(&seen), ["failed"], "{seen:?}");
    assert!(seen.steps[0].detail.starts_with("no connection: "), "{seen:?}");
}

#[tokio::test]
async fn a_key_set_is_seen_as_sizes() {
    let keys = Backend::answering(|_| answer_with(r#"{"keys":[]}"#)).await;
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!(
        "[issuers.app]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
         algorithms = [\"ES256\"]\njwks_url = \"http://{}/keys\"\n\
         [backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/\"\nissuer = \"app\"\nbackend = \"one\"\n",
        keys.address, backend.address
    ))
    .await;
    // The algorithm is one of the issuer's, so that the keys are needed.
    let token =
        format!("eyJhbGciOiJFUzI1NiJ9.{}", token(r#""sub":"u""#).split_once('.').expect("dots").1);
    let (seen, answer) = call(&gate, keys.address, &token).await;
    assert_eq!(status(&answer), "503", "{answer}");
    assert_eq!(seen.name, format!("key set: GET http://{}/keys", keys.address));
    assert_eq!(steps(&seen), ["server connection", "answer head", "answer body"], "{seen:?}");
    assert_eq!(seen.totals[2].bytes, Some(r#"{"keys":[]}"#.len() as u64));
    assert_tells_nothing(&seen, &token);
}
