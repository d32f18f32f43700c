//! Tokens control access, and select the backend.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};

/// The content of the file `secret`, without its line end.
pub(crate) const SECRET: &[u8] = b"a secret that the issuer and the gateway share";

/// An issuer of tokens with that secret.
pub(crate) const ISSUER: &str = "[issuers.app]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
                                 algorithms = [\"HS256\"]\nsecret_file = \"secret\"\n";

/// Creates a token with these claims besides `iss`, `aud` and `exp`.
pub(crate) fn token(claims: &str) -> String {
    signed(&format!(r#""iss":"https://login.example",{claims}"#), SECRET)
}

/// Creates a token with these claims besides `aud` and `exp`, signed with a secret.
pub(crate) fn signed(claims: &str, secret: &[u8]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let claims = format!(r#"{{"aud":"api","exp":{},{claims}}}"#, now + 300);
    let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
    let signed = format!("{}.{}", encode(br#"{"alg":"HS256"}"#), encode(claims.as_bytes()));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", encode(signature.as_ref()))
}

/// Two backends that answer with their names, chosen by the claim `tenant`.
async fn by_tenant() -> (Gate, [Backend; 2]) {
    let backends = [
        Backend::answering(|_| answer_with("one")).await,
        Backend::answering(|_| answer_with("two")).await,
    ];
    let [one, two] = [&backends[0], &backends[1]].map(|backend| backend.address);
    let config = format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{one}\"]\n[backends.two]\n\
         instances = [\"http://{two}\"]\n[[routes]]\npath = \"/\"\nissuer = \"app\"\n\
         claim = \"tenant\"\nbackends = {{ a = \"one\", b = \"two\", 7 = \"two\" }}\n"
    );
    (Gate::start(&config).await, backends)
}

#[tokio::test]
async fn a_claim_decides_the_backend() {
    let (gate, _backends) = by_tenant().await;
    for (claims, expected_status, expected_body) in [
        (r#""sub":"u1","tenant":"a""#, "200", "one"),
        (r#""sub":"u2","tenant":"b""#, "200", "two"),
        (r#""sub":"u3","tenant":7"#, "200", "two"),
        (r#""sub":"u4","tenant":"c""#, "403", "there is no service for you here\n"),
        (r#""sub":"u5","tenant":["a"]"#, "403", "there is no service for you here\n"),
        (r#""sub":"u6","tenant":{"a":"b"}"#, "403", "there is no service for you here\n"),
        (r#""sub":"u7","tenant":null"#, "403", "there is no service for you here\n"),
        (r#""sub":"u8""#, "403", "there is no service for you here\n"),
    ] {
        let answer = gate.get_as(&token(claims), "/").await;
        assert_eq!((status(&answer), body(&answer)), (expected_status, expected_body), "{claims}");
    }
    let rows = gate.rows(8).await;
    let field = |row: usize, name: &str| rows[row].get(name).map(String::as_str);
    assert_eq!(
        (field(0, "user"), field(0, "claim"), field(0, "backend")),
        (Some("u1"), Some("a"), Some("one"))
    );
    assert_eq!((field(3, "claim"), field(3, "outcome")), (Some("c"), Some("no_backend")));
}

#[tokio::test]
async fn a_refusal_tells_the_client_nothing_and_the_record_everything() {
    let (gate, backends) = by_tenant().await;
    let good = token(r#""sub":"u","tenant":"a""#);
    let (head, tail) = good.split_at(good.len() - 10);
    let forged = format!("{head}{}{}", if tail.starts_with('A') { 'B' } else { 'A' }, &tail[1..]);
    let plain = "GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n";
    let cases = [
        (String::new(), "Bearer realm=\"weir\"", "no_token"),
        ("Authorization: Basic eDp5\r\n".to_owned(), "Bearer realm=\"weir\"", "other_scheme"),
        (format!("Authorization: Bearer {good}.x\r\n"), "error=\"invalid_token\"", "not_compact"),
        (
            format!("Authorization: Bearer {good}\r\nAuthorization: Bearer {good}\r\n"),
            "error=\"invalid_token\"",
            "several_tokens",
        ),
        (
            format!("Authorization: Bearer {forged}\r\n"),
            "error=\"invalid_token\"",
            "invalid_signature",
        ),
    ];
    for (index, (fields, challenge, outcome)) in cases.into_iter().enumerate() {
        let answer = gate.exchange(&format!("{plain}{fields}\r\n")).await;
        assert_eq!(status(&answer), "401", "{answer}");
        assert!(answer.contains(challenge), "{answer}");
        assert_eq!(body(&answer), "a valid token is needed here\n");
        assert_eq!(gate.rows(index + 1).await[index]["outcome"], outcome);
    }
    let rows = gate.rows(5).await;
    assert!(backends.iter().all(|backend| backend.connections() == 0), "nothing came through");
    assert!(rows.iter().all(|row| row.values().all(|value| !value.contains(&good))));
}

#[tokio::test]
async fn verified_tokens_are_remembered() {
    let (gate, _backends) = by_tenant().await;
    let token = token(r#""sub":"u","tenant":"a""#);
    for _ in 0..3 {
        assert_eq!(status(&gate.get_as(&token, "/").await), "200");
    }
    let rows = gate.rows(3).await;
    let caches: Vec<&str> = rows.iter().map(|row| row["token_cache"].as_str()).collect();
    assert_eq!(caches, ["miss", "hit", "hit"]);
}

#[tokio::test]
async fn the_realm_of_challenges_can_be_chosen() {
    let backend = Backend::answering(|_| answer_with("one")).await;
    let address = backend.address;
    let gate = Gate::start(&format!(
        "realm = \"the shop\"\n{ISSUER}[backends.one]\ninstances = [\"http://{address}\"]\n\
         [[routes]]\npath = \"/\"\nissuer = \"app\"\nbackend = \"one\"\n"
    ))
    .await;
    let answer = gate.get("/").await;
    assert!(answer.contains("\r\nwww-authenticate: Bearer realm=\"the shop\"\r\n"), "{answer}");
    let answer = gate.get_as("a.b.c", "/").await;
    assert!(answer.contains("realm=\"the shop\", error=\"invalid_token\"\r\n"), "{answer}");
}
