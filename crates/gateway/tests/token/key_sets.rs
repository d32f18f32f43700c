//! Key sets at URLs and in files: when they are read, and what happens if they are unusable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use weir_gateway::fetch::FetchLimits;
use weir_gateway::token::{
    Algorithm, KeySource, KeyStatus, RefreshRules, TokenRefusal, TokenVerifier, VerifiedBy,
};

use crate::file::TestFile;
use crate::issuers::{CLAIMS, NOW, key_set, settings};
use crate::server::{Behaviour, TestServer, answer};
use crate::signer::{SECRET, encode, public_members, token};

const ALGORITHMS: [Algorithm; 2] = [Algorithm::Es256, Algorithm::EdDsa];

/// How long a test waits for a background task.
const DEADLINE: Duration = Duration::from_secs(60);

const RULES: RefreshRules = RefreshRules { refresh_after_s: 100, stale_for_s: 1_000, pause_s: 10 };

/// A verifier with keys at a URL.
fn verifier(url: String) -> TokenVerifier {
    let mut settings = settings(&ALGORITHMS, KeySource::KeySetUrl(url));
    settings.refresh = RULES;
    settings.fetch = FetchLimits { body_bytes_max: 10_000, timeout: Duration::from_secs(2) };
    TokenVerifier::new(settings).unwrap()
}

/// Creates a token that names a key and is signed with it.
fn named(id: &str, key: &str) -> String {
    numbered(id, key, 0)
}

/// Creates one of many such tokens, which the cache does not contain.
fn numbered(id: &str, key: &str, number: usize) -> String {
    let algorithm = if key == "ed25519" { "EdDSA" } else { "ES256" };
    // A long lifetime, because these tests advance the time by days.
    let claims = CLAIMS.replace("1800000600", "1900000000");
    let header = format!(r#"{{"alg":"{algorithm}","kid":"{id}"}}"#);
    token(&header, &format!(r#"{claims},"number":{number}}}"#), key, algorithm)
}

/// Waits until the status is as expected.
async fn wait_for(verifier: &TokenVerifier, is_there: impl Fn(&KeyStatus) -> bool) {
    let start = Instant::now();
    while !is_there(&verifier.key_status()) {
        assert!(start.elapsed() < DEADLINE, "{:?}", verifier.key_status());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn keys_are_fetched_once_for_the_first_tokens() {
    let permits = Arc::new(Semaphore::new(0));
    let body = answer("200 OK", &key_set(&[("a", "p256")]));
    let server = TestServer::start(Behaviour::SendLater(body, Arc::clone(&permits))).await;
    let verifier = Arc::new(verifier(server.url()));
    let verifying: Vec<_> = (0..20)
        .map(|number| {
            let (verifier, token) = (Arc::clone(&verifier), numbered("a", "p256", number));
            tokio::spawn(async move { verifier.verify(&token, NOW).await.err() })
        })
        .collect();
    permits.add_permits(20);
    for outcome in verifying {
        assert_eq!(outcome.await.unwrap(), None);
    }
    assert_eq!(server.requests(), 1);
    let status = verifier.key_status();
    assert_eq!((status.keys, status.attempts, status.failures), (1, 1, 0));
    assert_eq!(status.read_at_unix_s, Some(NOW));
}

#[tokio::test]
async fn a_client_that_goes_does_not_end_the_fetch() {
    let permits = Arc::new(Semaphore::new(0));
    let body = answer("200 OK", &key_set(&[("a", "p256")]));
    let server = TestServer::start(Behaviour::SendLater(body, Arc::clone(&permits))).await;
    let verifier = Arc::new(verifier(server.url()));
    let gone = tokio::spawn({
        let verifier = Arc::clone(&verifier);
        async move { verifier.verify(&named("a", "p256"), NOW).await.err() }
    });
    let start = Instant::now();
    while server.requests() == 0 {
        assert!(start.elapsed() < DEADLINE);
        tokio::task::yield_now().await;
    }
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    permits.add_permits(1);
    assert_eq!(verifier.verify(&named("a", "p256"), NOW).await.err(), None);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn an_unknown_key_is_looked_for_once_in_a_while() {
    let server = TestServer::start(Behaviour::body(&key_set(&[("a", "p256")]))).await;
    let verifier = verifier(server.url());
    for (seconds, requests) in [(0, 1), (0, 1), (9, 1), (10, 2), (11, 2), (19, 2), (20, 3)] {
        for number in 0..5 {
            let invented = numbered(&format!("invented-{number}"), "p256", number);
            let found = verifier.verify(&invented, NOW + seconds).await.err();
            assert_eq!(found, Some(TokenRefusal::UnknownKey));
        }
        assert_eq!(server.requests(), requests, "{seconds}");
    }
}

#[tokio::test]
async fn a_new_key_is_found_and_a_withdrawn_one_forgotten() {
    let server = TestServer::start(Behaviour::body(&key_set(&[("old", "p256")]))).await;
    let verifier = verifier(server.url());
    let old = named("old", "p256");
    assert_eq!(verifier.verify(&old, NOW).await.err(), None);
    server.set(Behaviour::body(&key_set(&[("old", "p256"), ("new", "ed25519")])));
    assert_eq!(verifier.verify(&named("new", "ed25519"), NOW + 20).await.err(), None);
    assert_eq!(server.requests(), 2);
    // The cache was cleared, and the old key is still in use.
    let (_, origin) = verifier.verify_with_origin(&old, NOW + 20).await.unwrap();
    assert_eq!(origin, VerifiedBy::Signature);
    server.set(Behaviour::body(&key_set(&[("new", "ed25519")])));
    let unknown = named("other", "p256");
    assert_eq!(verifier.verify(&unknown, NOW + 40).await.err(), Some(TokenRefusal::UnknownKey));
    // It would stay in the cache for 40 s more.
    assert_eq!(verifier.verify(&old, NOW + 40).await.err(), Some(TokenRefusal::UnknownKey));
}

#[tokio::test]
async fn a_key_replaced_under_its_name_is_looked_for_once_in_a_while() {
    for (first, second) in [("p256", "other-p256"), ("p256", "ed25519"), ("ed25519", "p256")] {
        let server = TestServer::start(Behaviour::body(&key_set(&[("a", first)]))).await;
        let verifier = verifier(server.url());
        assert_eq!(verifier.verify(&named("a", first), NOW).await.err(), None);
        server.set(Behaviour::body(&key_set(&[("a", second)])));
        for (seconds, requests) in [(1, 1), (9, 1), (10, 2)] {
            let found = verifier.verify(&named("a", second), NOW + seconds).await.err();
            assert_eq!(found.is_none(), requests == 2, "{first} {second} {seconds}: {found:?}");
            assert_eq!(server.requests(), requests, "{first} {second} {seconds}");
        }
        // The old key no longer counts, and a flood of its tokens costs one request in a while.
        for number in 0..50 {
            let found = verifier.verify(&numbered("a", first, number), NOW + 20).await.err();
            let expected = [TokenRefusal::InvalidSignature, TokenRefusal::WrongKeyType];
            assert!(found.is_some_and(|it| expected.contains(&it)), "{first} {second}: {found:?}");
        }
        assert_eq!(server.requests(), 3, "{first} {second}");
    }
}

#[tokio::test]
async fn a_refresh_forgets_withdrawn_keys_without_tokens() {
    for (body, refusal) in [
        (key_set(&[("new", "ed25519")]), TokenRefusal::UnknownKey),
        (r#"{"keys":[]}"#.to_owned(), TokenRefusal::KeysUnavailable),
        (key_set(&[("other", "p384")]), TokenRefusal::KeysUnavailable),
    ] {
        let server = TestServer::start(Behaviour::body(&key_set(&[("old", "p256")]))).await;
        let verifier = verifier(server.url());
        assert_eq!(verifier.refresh(NOW).await, Some(Duration::from_secs(100)));
        let old = named("old", "p256");
        assert_eq!(verifier.verify(&old, NOW + 99).await.err(), None);
        server.set(Behaviour::body(&body));
        assert_eq!(verifier.refresh(NOW + 99).await, Some(Duration::from_secs(1)));
        assert_eq!(server.requests(), 1);
        verifier.refresh(NOW + 100).await;
        assert_eq!(server.requests(), 2);
        // It would stay in the cache for 59 s more.
        assert_eq!(verifier.verify(&old, NOW + 100).await.err(), Some(refusal), "{body}");
    }
    let file = TestFile::new("fresh", &key_set(&[("a", "p256")]));
    let settings = settings(&ALGORITHMS, KeySource::KeySetFile(file.path.clone()));
    assert_eq!(TokenVerifier::new(settings).unwrap().refresh(NOW).await, None);
}

#[tokio::test]
async fn a_refresh_that_fails_is_tried_again_and_keeps_the_keys() {
    let server = TestServer::start(Behaviour::body(&key_set(&[("a", "p256")]))).await;
    let verifier = verifier(server.url());
    verifier.refresh(NOW).await;
    server.set(Behaviour::Close);
    for seconds in [100, 160, 220] {
        let wait = verifier.refresh(NOW + seconds).await;
        assert_eq!(wait, Some(Duration::from_secs(60)), "{seconds}");
    }
    assert_eq!(server.requests(), 4);
    assert_eq!(verifier.verify(&named("a", "p256"), NOW + 220).await.err(), None);
}

#[tokio::test]
async fn old_keys_are_fetched_again_beside_the_requests() {
    let server = TestServer::start(Behaviour::body(&key_set(&[("a", "p256")]))).await;
    let verifier = verifier(server.url());
    verifier.prepare(NOW).await.unwrap();
    server.set(Behaviour::BeSilent);
    // The server does not answer, and the verification does not wait for it.
    let (_, origin) = verifier.verify_with_origin(&named("a", "p256"), NOW + 100).await.unwrap();
    assert_eq!(origin, VerifiedBy::Signature);
    wait_for(&verifier, |status| status.failures == 1).await;
    assert!(verifier.key_status().last_error.unwrap().contains("no complete answer in time"));
    server.set(Behaviour::body(&key_set(&[("a", "p256")])));
    assert_eq!(verifier.verify(&numbered("a", "p256", 2), NOW + 110).await.err(), None);
    wait_for(&verifier, |status| status.attempts == 3).await;
    let status = verifier.key_status();
    assert_eq!((status.read_at_unix_s, status.last_error), (Some(NOW + 110), None));
}

#[tokio::test]
async fn stale_keys_serve_through_an_outage_for_a_while() {
    let server = TestServer::start(Behaviour::body(&key_set(&[("a", "p256")]))).await;
    let verifier = verifier(server.url());
    verifier.prepare(NOW).await.unwrap();
    server.set(Behaviour::Close);
    for (number, seconds) in [100, 500, 999].into_iter().enumerate() {
        let token = numbered("a", "p256", number);
        assert_eq!(verifier.verify(&token, NOW + seconds).await.err(), None, "{seconds}");
        wait_for(&verifier, |status| status.failures == number as u64 + 1).await;
    }
    let late = numbered("a", "p256", 10);
    let found = verifier.verify(&late, NOW + 1_010).await.err();
    assert_eq!(found, Some(TokenRefusal::KeysUnavailable));
    server.set(Behaviour::body(&key_set(&[("a", "p256")])));
    // At first it is too early for another attempt, then not.
    let found = verifier.verify(&late, NOW + 1_011).await.err();
    assert_eq!(found, Some(TokenRefusal::KeysUnavailable));
    assert_eq!(verifier.verify(&late, NOW + 1_020).await.err(), None);
}

#[tokio::test]
async fn bad_servers_are_named_and_give_no_keys() {
    let redirect = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n".to_vec();
    let private = format!(r#"{{"keys":[{{"kid":"a","d":"AQ",{}}}]}}"#, public_members("p256"));
    let secret = format!(r#"{{"keys":[{{"kid":"a","kty":"oct","k":"{}"}}]}}"#, encode(SECRET));
    for (behaviour, part) in [
        (Behaviour::BeSilent, "in time"),
        (Behaviour::Close, "no valid answer"),
        (Behaviour::body(""), "is not JSON"),
        (Behaviour::body("<html></html>"), "is not JSON"),
        (Behaviour::body("{}"), "no list `keys`"),
        (Behaviour::body(r#"{"keys":[]}"#), "is empty"),
        (Behaviour::body(&key_set(&[("a", "p384")])), "not in the issuer's list"),
        (Behaviour::body(&private), "private part"),
        (Behaviour::body(&secret), "a secret does not belong"),
        (Behaviour::body(&" ".repeat(10_001)), "larger than 10000 bytes"),
        (Behaviour::SendForever(b"HTTP/1.1 200 OK\r\n\r\n", vec![b' '; 1_000]), "larger than"),
        (Behaviour::Send(redirect), "a redirect (302 Found), which is not followed"),
        (Behaviour::Send(answer("404 Not Found", "")), "404 Not Found instead of 200"),
        (Behaviour::Send(answer("500 Internal Server Error", "")), "500"),
        (Behaviour::Send(answer("204 No Content", "")), "204"),
    ] {
        let server = TestServer::start(behaviour).await;
        let verifier = verifier(server.url());
        let found = verifier.verify(&named("a", "p256"), NOW).await.err();
        assert_eq!(found, Some(TokenRefusal::KeysUnavailable), "{part}");
        let error = verifier.key_status().last_error.unwrap_or_default();
        // The query may contain a secret.
        let url = server.url();
        let (address, query) = url.split_once("x=").expect("a query");
        assert!(error.contains(part) && error.starts_with(address), "{error}");
        assert!(!error.contains(&format!("x={query}")), "{error}");
        assert_eq!(verifier.prepare(NOW + 1).await, Err(TokenRefusal::KeysUnavailable));
        assert_eq!(server.requests(), 1, "{part}");
    }
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_skipped_and_listed() {
    let [good, other] = ["p256", "p384"].map(public_members);
    let long = "x".repeat(1_000);
    let set =
        format!(r#"{{"keys":[{{"kid":"b",{other}}},{{"kid":"a",{good}}},{{"kid":"{long}"}}]}}"#);
    let server = TestServer::start(Behaviour::body(&set)).await;
    let verifier = verifier(server.url());
    assert_eq!(verifier.verify(&named("a", "p256"), NOW).await.err(), None);
    let status = verifier.key_status();
    let skipped: Vec<_> =
        status.skipped.iter().map(|key| (key.index, key.key_id.clone())).collect();
    let short = Some("x".repeat(64));
    assert_eq!((status.keys, skipped), (1, vec![(0, Some("b".to_owned())), (2, short)]));
}

#[tokio::test]
async fn a_token_without_a_name_tries_few_keys() {
    let keys = |count: usize| {
        let key = public_members("other-p256");
        let others = vec![format!("{{{key}}}"); count];
        format!(r#"{{"keys":[{},{{{}}}]}}"#, others.join(","), public_members("p256"))
    };
    let token = token(r#"{"alg":"ES256"}"#, &format!("{CLAIMS}}}"), "p256", "ES256");
    for (count, expected) in [(1, None), (3, None), (4, Some(TokenRefusal::AmbiguousKey))] {
        let server = TestServer::start(Behaviour::body(&keys(count))).await;
        assert_eq!(verifier(server.url()).verify(&token, NOW).await.err(), expected, "{count}");
    }
}

#[tokio::test]
async fn sets_have_a_hundred_keys_at_most() {
    let mut keys = vec![("other", "other-p256"); 100];
    keys.push(("last", "p256"));
    let file = TestFile::new("many", &key_set(&keys));
    let settings = settings(&ALGORITHMS, KeySource::KeySetFile(file.path.clone()));
    let verifier = TokenVerifier::new(settings).unwrap();
    let status = verifier.key_status();
    assert_eq!((status.keys, status.skipped.len()), (100, 1));
    let found = verifier.verify(&named("last", "p256"), NOW).await.err();
    assert_eq!(found, Some(TokenRefusal::UnknownKey));
}

#[tokio::test]
async fn a_file_is_read_again_when_it_changes() {
    let file = TestFile::new("rotated", &key_set(&[("old", "p256")]));
    let settings = settings(&ALGORITHMS, KeySource::KeySetFile(file.path.clone()));
    let verifier = TokenVerifier::new(settings).unwrap();
    let (old, new) = (named("old", "p256"), named("new", "ed25519"));
    assert_eq!(verifier.verify(&old, NOW).await.err(), None);
    assert_eq!(verifier.verify(&new, NOW).await.err(), Some(TokenRefusal::UnknownKey));
    file.write(&key_set(&[("new", "ed25519")]));
    // The file is checked once a second.
    assert_eq!(verifier.verify(&old, NOW).await.err(), None);
    assert_eq!(verifier.verify(&old, NOW + 1).await.err(), Some(TokenRefusal::UnknownKey));
    assert_eq!(verifier.verify(&new, NOW + 1).await.err(), None);
    file.write("{");
    assert_eq!(verifier.verify(&numbered("new", "ed25519", 1), NOW + 2).await.err(), None);
    assert!(verifier.key_status().last_error.unwrap().contains("is not JSON"));
    std::fs::remove_file(&file.path).unwrap();
    assert_eq!(verifier.verify(&numbered("new", "ed25519", 2), NOW + 3).await.err(), None);
    assert!(verifier.key_status().last_error.unwrap().contains("cannot be read"));
    file.write(&key_set(&[("old", "p256")]));
    assert_eq!(verifier.verify(&old, NOW + 4).await.err(), None);
    let status = verifier.key_status();
    assert_eq!((status.attempts, status.failures, status.last_error), (5, 2, None));
}
