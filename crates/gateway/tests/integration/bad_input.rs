//! Invalid requests, which the gateway must survive and name in the records.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, PATIENCE, status};
use crate::tokens::{ISSUER, token};

#[tokio::test]
async fn a_token_in_two_places_is_refused() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nbackend = \"one\"\n",
        backend.address
    ))
    .await;
    let token = token(r#""sub":"u""#);
    let field = format!("Authorization: Bearer {token}\r\n");
    for (target, fields, outcome) in [
        (format!("/?access_token={token}"), field.clone(), "several_tokens"),
        (format!("/?a=b&access_token={token}"), field.clone(), "several_tokens"),
        ("/?access_token=".to_owned(), field.clone(), "several_tokens"),
        ("/".to_owned(), format!("{field}{field}"), "several_tokens"),
        ("/".to_owned(), format!("{field}Authorization: Basic eDp5\r\n"), "several_tokens"),
    ] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        assert_eq!(status(&gate.exchange(&request).await), "401", "{target}");
        let rows = gate.rows(1).await;
        assert_eq!(rows[rows.len() - 1]["outcome"], outcome, "{target}");
        let is_hidden = rows.iter().all(|row| row.values().all(|value| !value.contains(&token)));
        assert!(is_hidden, "{target}: the token is in a record");
    }
    assert_eq!(backend.connections(), 0, "nothing came through");
}

/// Sends a request with a separate token for each of these users, on one connection.
async fn ask_as(gate: &Gate, users: std::ops::Range<usize>) {
    let mut stream = TcpStream::connect(gate.address).await.expect("it accepts");
    for user in users {
        let token = token(&format!(r#""sub":"user-{user}","tenant":"a""#));
        let request =
            format!("GET / HTTP/1.1\r\nHost: gate\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\nok") {
            answer.push(stream.read_u8().await.expect("an answer"));
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{user}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_users_are_told_apart() {
    const USERS: usize = 10_000;
    const CLIENTS: usize = 8;
    let backend = Backend::answering(|request| match request.starts_with("POST /session ") {
        true => answer_with(r#"{"access_token":"session","expires_in":60}"#),
        false => answer_with("ok"),
    })
    .await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nclaim = \"tenant\"\nbackends = {{ a = \"one\" }}\n\
         session = {{ login = \"/session\", credential_file = \"credential\" }}\n",
        backend.address
    ))
    .await;
    let gate = Arc::new(gate);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (gate, share) = (gate.clone(), USERS / CLIENTS);
            tokio::spawn(async move { ask_as(&gate, number * share..(number + 1) * share).await })
        })
        .collect();
    for client in clients {
        tokio::time::timeout(PATIENCE * 6, client).await.expect("in time").expect("no panic");
    }
    let rows = gate.rows(USERS).await;
    let mut users: Vec<&str> = rows.iter().map(|row| row["user"].as_str()).collect();
    users.sort_unstable();
    users.dedup();
    assert_eq!((rows.len(), users.len()), (USERS, USERS));
    let is_named = rows.iter().all(|row| {
        row["outcome"] == "answered"
            && row["token_cache"] == "miss"
            && row["session_cache"] == "miss"
    });
    assert!(is_named, "each user is new once");
}
