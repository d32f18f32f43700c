//! Misbehaving key servers: what clients with tokens of their issuer receive, and that other
//! requests are not affected.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use tokio::io::AsyncWriteExt;
use weir_testkit::messages::heard;

use crate::backends::{Backend, answer_with, read_request};
use crate::gate::{Gate, PATIENCE, status};

/// A configuration with an issuer whose keys come from this server, a route for it, and a route
/// without tokens.
fn config(keys: &Backend, backend: &Backend) -> String {
    format!(
        "[issuers.app]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
         algorithms = [\"ES256\"]\njwks_url = \"http://{}/keys\"\n\
         [backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n\
         [[routes]]\npath = \"/api\"\nissuer = \"app\"\nbackend = \"one\"\n",
        keys.address, backend.address
    )
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A new key as a key set, and a valid token.
fn issue() -> (String, String) {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    let document = document.expect("a key");
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
    let pair = pair.expect("a key");
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let set = format!(
        r#"{{"keys":[{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}]}}"#,
        encode(x),
        encode(y)
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let claims =
        format!(r#"{{"iss":"https://login.example","aud":"api","sub":"u","exp":{}}}"#, now + 300);
    let signed = format!("{}.{}", encode(r#"{"alg":"ES256"}"#), encode(claims));
    let signature = pair.sign(&random, signed.as_bytes()).expect("a signature");
    (set, format!("{signed}.{}", encode(signature)))
}

/// A server that sends these bytes to each request and closes.
async fn sending(bytes: Vec<u8>) -> Backend {
    Backend::start(move |mut stream, _| {
        let bytes = bytes.clone();
        async move {
            if read_request(&mut stream).await.is_some() {
                // The gateway may have closed the connection early.
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn bad_key_servers_are_named_and_asked_once() {
    let (set, token) = issue();
    let good = sending(answer_with(&set).into_bytes()).await;
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/keys\r\nContent-Length: 0\r\n\r\n",
        good.address
    );
    let huge = answer_with(&format!("{{\"keys\":[],\"padding\":\"{}\"}}", "x".repeat(1 << 20)));
    for (case, bytes) in [
        ("huge", huge),
        ("empty", answer_with("")),
        ("no keys", answer_with("{\"keys\":[]}")),
        ("a list", answer_with("[]")),
        ("not JSON", answer_with("<html>keys</html>")),
        ("deep JSON", answer_with(&"[".repeat(100_000))),
        ("a secret", answer_with("{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}]}")),
        ("redirecting", redirect),
        ("failing", "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned()),
        ("not HTTP", "keys\r\n\r\n".to_owned()),
        ("cut off", format!("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{set}")),
        ("closing", String::new()),
    ] {
        let (keys, backend) =
            (sending(bytes.into_bytes()).await, Backend::answering(|_| answer_with("ok")).await);
        let gate = Gate::start(&config(&keys, &backend)).await;
        for _ in 0..3 {
            let answer = gate.get_as(&token, "/api").await;
            assert_eq!(status(&answer), "503", "{case}: {answer}");
            assert!(!answer.contains("keys"), "{case}: the client is told too much: {answer}");
        }
        assert_eq!(status(&gate.get("/").await), "200", "{case}");
        let rows = gate.rows(4).await;
        let outcomes: Vec<&str> = rows.iter().map(|row| row["outcome"].as_str()).collect();
        let expected = ["keys_unavailable", "keys_unavailable", "keys_unavailable", "answered"];
        assert_eq!(outcomes, expected, "{case}");
        assert_eq!(keys.connections(), 1, "{case}: the next attempt comes later");
    }
    assert_eq!(good.connections(), 0, "redirects are not followed");
}

#[tokio::test]
async fn keys_are_fetched_at_the_start() {
    let failing = sending(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let config = config(&failing, &backend).replace("app", "early");
    let gate = Gate::start(&config).await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let heard = loop {
        match heard("the issuer `early`").first() {
            Some(message) => break message.fields.clone(),
            None => assert!(tokio::time::Instant::now() < deadline, "no message came"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let url = format!("http://{}/keys", failing.address);
    assert_eq!(heard["url"], url);
    assert_eq!(heard["error"], format!("{url}: the status is 404 Not Found instead of 200"));
    assert_eq!(status(&gate.get("/").await), "200", "other routes work");
    // The same settings keep their keys, and are not fetched again.
    gate.reload(&config);
    assert_eq!(status(&gate.get("/").await), "200");
    assert_eq!(failing.connections(), 1);
}

#[tokio::test]
async fn a_slow_key_server_holds_up_nobody_else() {
    let (set, token) = issue();
    let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let waiting = permits.clone();
    let keys = Backend::start(move |mut stream, _| {
        let (set, permits) = (answer_with(&set), waiting.clone());
        async move {
            if read_request(&mut stream).await.is_some() {
                let _permit = permits.acquire().await.expect("it stays open");
                let _ = stream.write_all(set.as_bytes()).await;
            }
        }
    })
    .await;
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = std::sync::Arc::new(Gate::start(&config(&keys, &backend)).await);
    let clients: Vec<_> = (0..5)
        .map(|_| {
            let (gate, token) = (gate.clone(), token.clone());
            tokio::spawn(async move { gate.get_as(&token, "/api").await })
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(status(&gate.get("/").await), "200", "an open route needs no keys");
    }
    assert!(clients.iter().all(|client| !client.is_finished()), "they wait for the keys");
    permits.add_permits(1);
    for client in clients {
        let answer =
            tokio::time::timeout(PATIENCE, client).await.expect("in time").expect("no panic");
        assert_eq!(status(&answer), "200", "{answer}");
    }
    assert_eq!(keys.connections(), 1, "all wait for one answer");
}
