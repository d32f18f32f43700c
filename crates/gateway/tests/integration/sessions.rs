//! Sessions with a backend, in which the gateway logs in on behalf of the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::backends::{Backend, answer_with, read_request};
use crate::gate::{Gate, PATIENCE, status};
use crate::tokens::{ISSUER, token};

fn config(backend: &Backend) -> String {
    format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\nissuer = \"app\"\n\
         claim = \"tenant\"\nbackends = {{ a = \"one\" }}\n\
         session = {{ login = \"/session\", credential_file = \"credential\" }}\n",
        backend.address
    )
}

/// The counts of a backend with log-ins.
#[derive(Debug, Default)]
struct Counts {
    logins: AtomicUsize,
    /// The number of the session that the backend accepts.
    known: AtomicUsize,
}

/// A backend that creates sessions, and accepts only the last one.
async fn backend(counts: &Arc<Counts>) -> Backend {
    let counts = counts.clone();
    Backend::start(move |mut stream, _| {
        let counts = counts.clone();
        async move {
            while let Some(request) = read_request(&mut stream).await {
                let answer = answer(&request, &counts).await;
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

async fn answer(request: &str, counts: &Counts) -> String {
    let lower = request.to_ascii_lowercase();
    if request.starts_with("POST /session ") {
        assert!(lower.contains("authorization: bearer credential-of-the-gateway\r\n"), "{request}");
        assert!(
            request.ends_with(r#"{"issuer":"https://login.example","subject":"u"}"#),
            "{request}"
        );
        // Long enough for other requests to arrive meanwhile.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let number = counts.logins.fetch_add(1, Ordering::SeqCst) + 1;
        counts.known.store(number, Ordering::SeqCst);
        return answer_with(&format!(r#"{{"access_token":"session-{number}","expires_in":60}}"#));
    }
    let known =
        format!("authorization: bearer session-{}\r\n", counts.known.load(Ordering::SeqCst));
    match lower.contains(&known) {
        true => answer_with("welcome"),
        false => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned(),
    }
}

#[tokio::test]
async fn many_requests_of_a_user_need_one_log_in() {
    let counts = Arc::new(Counts::default());
    let backend = backend(&counts).await;
    let gate = Arc::new(Gate::start(&config(&backend)).await);
    let token = token(r#""sub":"u","tenant":"a""#);
    let clients: Vec<_> = (0..10)
        .map(|_| {
            let (gate, token) = (gate.clone(), token.clone());
            tokio::spawn(async move { gate.get_as(&token, "/").await })
        })
        .collect();
    for client in clients {
        let answer =
            tokio::time::timeout(PATIENCE, client).await.expect("in time").expect("no panic");
        assert_eq!(status(&answer), "200", "{answer}");
    }
    assert_eq!(counts.logins.load(Ordering::SeqCst), 1);
    let rows = gate.rows(10).await;
    let hits = rows.iter().filter(|row| row["session_cache"] == "hit").count();
    assert_eq!(hits, 9, "{rows:?}");
}

#[tokio::test]
async fn a_session_that_the_backend_forgot_is_begun_again() {
    let counts = Arc::new(Counts::default());
    let backend = backend(&counts).await;
    let gate = Gate::start(&config(&backend)).await;
    let token = token(r#""sub":"u","tenant":"a""#);
    assert_eq!(status(&gate.get_as(&token, "/").await), "200");
    counts.known.store(99, Ordering::SeqCst);
    assert_eq!(status(&gate.get_as(&token, "/").await), "200");
    assert_eq!(counts.logins.load(Ordering::SeqCst), 2);
    assert_eq!(gate.rows(2).await[1]["session_cache"], "renewed");
}

#[tokio::test]
async fn a_backend_that_refuses_the_log_in_is_not_asked_at_once_again() {
    let backend =
        Backend::answering(|_| "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_owned())
            .await;
    let gate = Gate::start(&config(&backend)).await;
    let token = token(r#""sub":"u","tenant":"a""#);
    for _ in 0..5 {
        assert_eq!(status(&gate.get_as(&token, "/").await), "502");
    }
    let rows = gate.rows(5).await;
    assert!(rows.iter().all(|row| row["outcome"] == "no_session"), "{rows:?}");
    assert!(backend.connections() <= 2, "{}", backend.connections());
}

/// A body cannot be sent twice, so such a request fails; but only the first.
#[tokio::test]
async fn a_forgotten_session_costs_a_user_one_request_with_a_body() {
    let counts = Arc::new(Counts::default());
    let backend = backend(&counts).await;
    let gate = Gate::start(&config(&backend)).await;
    let token = token(r#""sub":"u","tenant":"a""#);
    let post = format!(
        "POST / HTTP/1.1\r\nHost: gate\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Length: 2\r\n\r\nhi"
    );
    assert_eq!(status(&gate.exchange(&post).await), "200");
    counts.known.store(99, Ordering::SeqCst);
    assert_eq!(status(&gate.exchange(&post).await), "401");
    for _ in 0..3 {
        assert_eq!(status(&gate.exchange(&post).await), "200");
    }
    assert_eq!(counts.logins.load(Ordering::SeqCst), 2);
}
