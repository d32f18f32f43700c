//! Routes with several issuers, which the claim `iss` tells apart.

use std::path::Path;

use weir_gateway::Config;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, SECRET, signed, token};

/// The content of the file `other-secret`, without its line end.
const OTHER_SECRET: &[u8] = b"another secret that only the other issuer and we share";

const OTHER: &str = "[issuers.other]\nissuer = \"https://other.example\"\naudience = \"api\"\n\
                     algorithms = [\"HS256\"]\nsecret_file = \"other-secret\"\n";

async fn gate() -> (Gate, Backend) {
    let backend = Backend::answering(answer_with).await;
    let config = format!(
        "{ISSUER}{OTHER}[backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = [\"app\", \"other\"]\n\
         forward_claims = {{ X-Issuer = \"iss\" }}\n\
         [[routes]]\npath = \"/one\"\nbackend = \"one\"\nissuer = \"app\"\n",
        backend.address
    );
    (Gate::start(&config).await, backend)
}

fn other(claims: &str) -> String {
    signed(&format!(r#""iss":"https://other.example",{claims}"#), OTHER_SECRET)
}

#[tokio::test]
async fn each_token_is_verified_by_its_issuer() {
    let (gate, _backend) = gate().await;
    let tokens = [token(r#""sub":"u""#), other(r#""sub":"u""#)];
    for round in ["miss", "hit"] {
        for (token, issuer) in tokens.iter().zip(["https://login.example", "https://other.example"])
        {
            let answer = gate.get_as(token, "/").await;
            assert_eq!(status(&answer), "200", "{answer}");
            assert!(body(&answer).contains(&format!("x-issuer: {issuer}\r\n")), "{answer}");
        }
        let rows = gate.rows(if round == "miss" { 2 } else { 4 }).await;
        for row in rows.iter().rev().take(2) {
            assert_eq!((row["user"].as_str(), row["token_cache"].as_str()), ("u", round));
        }
    }
    let counts = gate.handle.counts();
    for (name, counters) in &counts.issuers {
        assert_eq!(
            (counters.accepted, counters.verified, counters.cache.misses),
            (2, 1, 1),
            "{name}"
        );
    }
    // A route with one of them refuses the other.
    assert_eq!(status(&gate.get_as(&tokens[1], "/one").await), "401");
}

#[tokio::test]
async fn what_a_token_says_of_itself_only_chooses() {
    let (gate, _backend) = gate().await;
    let claims = |issuer: &str| format!(r#""iss":{issuer},"sub":"u""#);
    let good = other(r#""sub":"u""#);
    let parts: Vec<&str> = good.split('.').collect();
    let long = format!("\"{}\"", "x".repeat(100_000 / 8));
    let cases = [
        (signed(&claims("\"https://other.example\""), SECRET), "invalid_signature"),
        (signed(&claims("\"https://login.example\""), OTHER_SECRET), "invalid_signature"),
        (signed(&claims("\"https://evil.example\""), SECRET), "wrong_issuer"),
        (signed(&claims("\"https://login.example/\""), SECRET), "wrong_issuer"),
        (signed(&claims("[\"https://login.example\"]"), SECRET), "invalid_name"),
        (signed(&claims("7"), SECRET), "invalid_name"),
        (signed(&claims("null"), SECRET), "invalid_name"),
        (signed(&claims(&long), SECRET), "wrong_issuer"),
        (signed(r#""sub":"u""#, SECRET), "missing_issuer"),
        (signed(&claims("\"https://login.example\",\"iss\":\"x\""), SECRET), "duplicate_name"),
        (format!("{}.{}", parts[0], parts[2]), "not_compact"),
        (format!("{}.e30x.{}", parts[0], parts[2]), "invalid_claims"),
        (format!("{}.e30x1.{}", parts[0], parts[2]), "invalid_encoding"),
    ];
    for (token, _) in &cases {
        let answer = gate.get_as(token, "/").await;
        assert_eq!(status(&answer), "401", "{answer}");
        let accepted = "error=\"invalid_token\", error_description=\"the issuer must be one of: \
                        https://login.example, https://other.example\"";
        assert!(answer.contains(accepted), "{answer}");
    }
    let rows = gate.rows(cases.len()).await;
    for ((_, expected), row) in cases.iter().zip(&rows) {
        assert_eq!(row["outcome"], *expected);
    }
    let none = gate.get("/").await;
    assert!(status(&none) == "401" && !none.contains("issuer must be"), "{none}");
    let single = gate.get_as(&cases[2].0, "/one").await;
    assert!(status(&single) == "401" && !single.contains("issuer must be"), "{single}");
}

/// A backend whose sessions belong to an issuer and a subject, and that says whose a request is.
fn session_of(request: &str) -> String {
    if !request.starts_with("POST /session ") {
        let session = request.to_ascii_lowercase();
        let session = session.lines().find_map(|line| line.strip_prefix("authorization: bearer "));
        return answer_with(session.unwrap_or("no session"));
    }
    let (_, user) = request.split_once("\r\n\r\n").expect("a body");
    let user: serde_json::Value = serde_json::from_str(user).expect("JSON");
    let [issuer, subject] = ["issuer", "subject"].map(|name| user[name].as_str().expect("a text"));
    let issuer = issuer.trim_start_matches("https://");
    answer_with(&format!(r#"{{"access_token":"{issuer}/{subject}","expires_in":60}}"#))
}

/// Two issuers may give the same subject to different people.
#[tokio::test]
async fn a_session_belongs_to_the_issuer_and_the_subject() {
    let backend = Backend::answering(session_of).await;
    let gate = Gate::start(&format!(
        "{ISSUER}{OTHER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
         backend = \"one\"\nissuer = [\"app\", \"other\"]\n\
         session = {{ login = \"/session\", credential_file = \"credential\" }}\n",
        backend.address
    ))
    .await;
    let users = [
        (token(r#""sub":"u""#), "login.example/u"),
        (other(r#""sub":"u""#), "other.example/u"),
        (token(r#""sub":"v""#), "login.example/v"),
        (other(r#""sub":"v""#), "other.example/v"),
    ];
    for _ in 0..3 {
        for (token, expected) in &users {
            assert_eq!(body(&gate.get_as(token, "/").await), *expected);
        }
    }
    let rows = gate.rows(12).await;
    let caches: Vec<&str> = rows.iter().map(|row| &*row["session_cache"]).collect();
    assert_eq!(caches, [&["miss"; 4][..], &["hit"; 8]].concat());
    // A token of neither begins no session.
    let strange = signed(r#""iss":"https://evil.example","sub":"u""#, SECRET);
    assert_eq!(status(&gate.get_as(&strange, "/").await), "401");
    assert!(!gate.rows(13).await[12].contains_key("session_cache"));
}

#[test]
fn issuers_of_a_route_differ() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let same = OTHER.replace("https://other.example", "https://login.example");
    for (second, issuer, expected) in [
        (OTHER, "[\"app\", \"other\"]", ""),
        (OTHER, "[\"other\"]", ""),
        (OTHER, "[]", "issuer: the list is empty, which would open the route to everybody"),
        (OTHER, "[\"app\", \"app\"]", "issuer: `app` is named twice"),
        (OTHER, "[\"app\", \"othr\"]", "there is no issuer `othr`; did you mean `other`?"),
        (OTHER, "[\"app\", 7]", "this is a number; write a text in quotes"),
        (&same, "[\"app\", \"other\"]", "tokens of `app` and `other` have the same `iss`"),
        (&same, "\"other\"", ""),
    ] {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n{ISSUER}{second}[backends.one]\n\
             instances = [\"http://127.0.0.1:1\"]\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = {issuer}\n"
        );
        let found = match Config::parse(&text, &folder) {
            Ok(_) => String::new(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect(),
        };
        assert_eq!(found.is_empty(), expected.is_empty(), "{issuer}: {found}");
        assert!(found.contains(expected), "{issuer}: {found}");
    }
}
