//! Invalid requests, which the gateway must survive and name in the records.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

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

/// Sends a request, and reads the head of the answer.
async fn answered(gate: &Gate, request: &str) -> String {
    let mut stream = TcpStream::connect(gate.address).await.expect("it accepts");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer
            .push(timeout(PATIENCE, stream.read_u8()).await.expect("in time").expect("an answer"));
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// A route that accepts tokens in all places is given one of another user in each.
#[tokio::test]
async fn tokens_in_three_places_that_disagree_are_refused() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!(
        "{ISSUER}{}issuer = \"app\"\n\
         token = {{ websocket_protocol = true, cookie = \"sid\", query = true }}\n",
        backend.config()
    ))
    .await;
    let [field, query, protocol, cookie] =
        ["ada", "bob", "cyd", "dan"].map(|user| token(&format!(r#""sub":"{user}""#)));
    let field = format!("Authorization: Bearer {field}\r\n");
    let query = format!("/?access_token={query}");
    let protocol = format!(
        "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: bearer, {protocol}\r\n"
    );
    let cookie = format!("Cookie: sid={cookie}\r\nOrigin: http://gate\r\n");
    for (row, (target, fields)) in [
        (&*query, vec![&*field, &protocol]),
        (&query, vec![&field, &cookie]),
        (&query, vec![&protocol, &cookie]),
        ("/", vec![&field, &protocol, &cookie]),
        (&query, vec![&field, &protocol, &cookie]),
    ]
    .into_iter()
    .enumerate()
    {
        let fields = fields.concat();
        let request = format!("GET {target} HTTP/1.1\r\nHost: gate\r\n{fields}\r\n");
        let answer = answered(&gate, &request).await;
        assert_eq!(status(&answer), "401", "{request}: {answer}");
        let rows = gate.rows(row + 1).await;
        assert_eq!(rows[row]["outcome"], "several_tokens", "{request}");
        assert!(!rows[row].contains_key("user"), "{request}: nobody is believed");
    }
    assert_eq!(backend.connections(), 0, "nothing came through");
}

/// Neither a table nor a name with the claim in it leads anywhere else.
#[tokio::test]
async fn a_claim_of_any_shape_reaches_no_other_backend() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let table = "backends = { a = \"one\", 7 = \"one\", \"../a\" = \"one\" }";
    let named = "backends = \"http://{claim}.invalid:9000\"\npaths = \"strict\"";
    let long = format!("\"{}\"", "a".repeat(20_000));
    for (claim, in_table, in_name) in [
        ("\"a\"", "200", "502"),
        ("\"A\"", "403", "502"),
        ("7", "200", "502"),
        ("7.0", "403", "403"),
        ("7e0", "403", "403"),
        ("-7", "403", "403"),
        ("1e400", "401", "401"),
        ("true", "403", "403"),
        ("[\"a\"]", "403", "403"),
        ("{\"a\":1}", "403", "403"),
        ("\"../a\"", "200", "403"),
        ("\"a/../a\"", "403", "403"),
        ("\"a/\"", "403", "403"),
        ("\"a%2Fb\"", "403", "403"),
        ("\"..\"", "403", "403"),
        ("\"a.b\"", "403", "403"),
        ("\"a:80\"", "403", "403"),
        ("\"a@b\"", "403", "403"),
        ("\"a\\u0000\"", "403", "403"),
        ("\"\"", "403", "403"),
        (&long, "401", "401"),
    ] {
        for (target, expected) in [(table, in_table), (named, in_name)] {
            let gate = Gate::start(&format!(
                "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
                 issuer = \"app\"\nclaim = \"tenant\"\n{target}\n",
                backend.address
            ))
            .await;
            let answer = gate.get_as(&token(&format!(r#""sub":"u","tenant":{claim}"#)), "/").await;
            let shown = &claim[..claim.len().min(40)];
            assert_eq!(status(&answer), expected, "{shown}, {target}: {answer}");
            gate.stop().await;
        }
    }
}

/// A token of 100 kB does not fit the head of a request, and is no reason to keep the connection.
#[tokio::test]
async fn a_claim_of_100_kb_is_refused_with_its_head() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!("{ISSUER}{}issuer = \"app\"\n", backend.config())).await;
    let claim = token(&format!(r#""sub":"u","name":"{}""#, "x".repeat(100_000)));
    assert_eq!(status(&gate.get_as(&claim, "/").await), "431");
    assert_eq!(gate.rows(1).await[0]["outcome"], "head_too_large");
    assert_eq!(backend.connections(), 0, "nothing came through");
}

/// It would take a minute.
#[tokio::test]
async fn a_client_that_goes_on_with_its_body_after_a_refusal_is_cut_off() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!("{ISSUER}{}issuer = \"app\"\n", backend.config())).await;
    let stream = TcpStream::connect(gate.address).await.expect("it accepts");
    let (mut reading, mut writing) = stream.into_split();
    let head = "POST / HTTP/1.1\r\nHost: gate\r\nContent-Length: 600\r\n\r\n";
    writing.write_all(head.as_bytes()).await.expect("it reads");
    let begun = Instant::now();
    let sending = tokio::spawn(async move {
        let mut sent = 0;
        while sent < 600 && writing.write_all(b"x").await.is_ok() {
            sent += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        sent
    });
    let mut answer = Vec::new();
    // A reset ends it too.
    let _ = timeout(PATIENCE, reading.read_to_end(&mut answer)).await.expect("it ends");
    let answer = String::from_utf8_lossy(&answer);
    assert_eq!(status(&answer), "401", "{answer}");
    let sent = timeout(PATIENCE, sending).await.expect("it ends").expect("no panic");
    assert!(sent < 600, "the body did not come to its end");
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    assert_eq!(gate.rows(1).await[0]["outcome"], "no_token");
    assert_eq!(status(&gate.get("/").await), "401", "others are answered");
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
