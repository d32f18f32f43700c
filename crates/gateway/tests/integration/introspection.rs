//! Tokens that only their issuer can read: the gateway asks it (RFC 7662).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use weir_gateway::Config;
use weir_testkit::messages::heard;

use crate::backends::{Backend, answer_with, read_request};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, token};

/// An issuer that is asked, and the number of its answers.
async fn issuer(answer: fn(&str) -> String) -> (Backend, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let issuer = Backend::start(move |mut stream, _| {
        let count = count.clone();
        async move {
            if let Some(request) = read_request(&mut stream).await {
                count.fetch_add(1, Ordering::SeqCst);
                // Long enough for other requests to arrive meanwhile.
                tokio::time::sleep(std::time::Duration::from_millis(30)).await;
                // The gateway may have closed the connection early.
                let _ = stream.write_all(answer(&request).as_bytes()).await;
            }
        }
    })
    .await;
    (issuer, asked)
}

async fn gate(issuer: &Backend, more: &str) -> (Gate, Backend) {
    let backend = Backend::answering(answer_with).await;
    let config = format!(
        "{ISSUER}[issuers.opaque]\nissuer = \"https://opaque.example\"\n\
         introspection_url = \"http://{}/introspect\"\ncredential_file = \"client\"\n{more}\n\
         [backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = \"opaque\"\n\
         forward_claims = {{ X-User = \"sub\", X-Issuer = \"iss\" }}\nforward_token = false\n\
         [[routes]]\npath = \"/both\"\nbackend = \"one\"\nissuer = [\"app\", \"opaque\"]\n\
         [[routes]]\npath = \"/app\"\nbackend = \"one\"\nissuer = \"app\"\n",
        issuer.address, backend.address
    );
    (Gate::start(&config).await, backend)
}

/// Answers by the name of the token.
fn by_name(request: &str) -> String {
    let (head, form) = request.split_once("\r\n\r\n").expect("a form");
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /introspect http/1.1\r\n"), "{request}");
    assert!(
        head.contains("authorization: basic z2f0zwtlzxblcjphihnly3jldcbvzibvdxjz"),
        "{request}"
    );
    let name =
        form.strip_prefix("token=").and_then(|it| it.strip_suffix("&token_type_hint=access_token"));
    let answer = match name.expect("the form of RFC 7662") {
        "good" => r#"{"active":true,"sub":"ada","aud":["api"],"scope":"read"}"#,
        "plus%2B%2F" => r#"{"active":true,"sub":"plus","iss":"https://opaque.example"}"#,
        "gone" => r#"{"active":false}"#,
        "expired" => r#"{"active":true,"sub":"ada","exp":1000000000}"#,
        "late" => r#"{"active":true,"sub":"ada","exp":4000000000}"#,
        "other-issuer" => r#"{"active":true,"sub":"ada","iss":"https://evil.example"}"#,
        "number" => r#"{"active":true,"sub":7}"#,
        "text" => r#"{"active":"true","sub":"ada"}"#,
        "absent" => r#"{"sub":"ada"}"#,
        "twice" => r#"{"active":false,"active":true,"sub":"ada"}"#,
        "list" => r#"[{"active":true}]"#,
        "html" => "<html>",
        "failing" => return "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "denied" => return "HTTP/1.1 401 Denied\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "huge" => {
            return answer_with(&format!(r#"{{"active":true,"x":"{}"}}"#, "x".repeat(1 << 20)));
        }
        "closing" => return String::new(),
        _ => r#"{"active":false}"#,
    };
    answer_with(answer)
}

#[tokio::test]
async fn the_answer_of_the_issuer_decides() {
    let (issuer, asked) = issuer(by_name).await;
    let (gate, _backend) = gate(&issuer, "").await;
    let cases = [
        ("good", "200", "answered"),
        ("plus+/", "200", "answered"),
        ("late", "200", "answered"),
        ("gone", "401", "not_active"),
        ("expired", "401", "expired"),
        ("other-issuer", "401", "wrong_issuer"),
        ("number", "401", "invalid_name"),
        ("a.b.c", "401", "not_active"),
        ("text", "503", "not_introspected"),
        ("absent", "503", "not_introspected"),
        ("twice", "503", "not_introspected"),
        ("list", "503", "not_introspected"),
        ("html", "503", "not_introspected"),
        ("failing", "503", "not_introspected"),
        ("denied", "503", "not_introspected"),
        ("huge", "503", "not_introspected"),
        ("closing", "503", "not_introspected"),
    ];
    for (token, expected, _) in &cases {
        let answer = gate.get_as(token, "/").await;
        assert_eq!(status(&answer), *expected, "{token}: {answer}");
        assert_eq!(answer.contains("\r\nretry-after: 10\r\n"), *expected == "503", "{answer}");
        assert_eq!(answer.contains("www-authenticate: Bearer"), *expected == "401", "{answer}");
    }
    let rows = gate.rows(cases.len()).await;
    for ((token, _, outcome), row) in cases.iter().zip(&rows) {
        assert_eq!(row["outcome"], *outcome, "{token}");
    }
    // Accepted and refused tokens are remembered. After a failure the issuer gets a second of rest.
    assert_eq!(asked.load(Ordering::SeqCst), cases.len());
    for token in ["good", "gone", "expired", "number", "plus+/"] {
        gate.get_as(token, "/").await;
    }
    assert_eq!(asked.load(Ordering::SeqCst), cases.len());
    let answer = gate.get_as("good", "/").await;
    let seen = body(&answer);
    assert!(seen.contains("x-user: ada\r\n"), "{seen}");
    assert!(seen.contains("x-issuer: https://opaque.example\r\n"), "{seen}");
    assert!(!seen.to_lowercase().contains("authorization"), "{seen}");
    let messages = heard("the issuer `opaque` cannot be asked about a token");
    let url = format!("http://{}/introspect", issuer.address);
    let denied = messages.iter().filter(|it| it.fields["url"] == url);
    assert!(denied.clone().any(|it| it.fields["error"].contains("check the credential")));
    assert!(denied.into_iter().all(|it| !format!("{it:?}").contains("secret of ours")));
}

#[tokio::test]
async fn requests_with_one_token_ask_once() {
    let (issuer, asked) = issuer(by_name).await;
    let (gate, _backend) = gate(&issuer, "").await;
    let gate = Arc::new(gate);
    for (token, expected) in [("good", "200"), ("gone", "401")] {
        let before = asked.load(Ordering::SeqCst);
        let clients: Vec<_> = (0..20)
            .map(|_| {
                let gate = gate.clone();
                tokio::spawn(async move { gate.get_as(token, "/").await })
            })
            .collect();
        for client in clients {
            assert_eq!(status(&client.await.expect("no panic")), expected, "{token}");
        }
        assert_eq!(asked.load(Ordering::SeqCst), before + 1, "{token}");
    }
}

#[tokio::test]
async fn an_answer_has_to_name_the_audience_if_there_is_one() {
    let (issuer, _asked) = issuer(by_name).await;
    let (gate, _backend) = gate(&issuer, "audience = \"api\"").await;
    assert_eq!(status(&gate.get_as("good", "/").await), "200");
    assert_eq!(status(&gate.get_as("late", "/").await), "401");
    let rows = gate.rows(2).await;
    let outcomes: Vec<&str> = rows.iter().map(|row| row["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["answered", "missing_audience"]);
}

#[tokio::test]
async fn tokens_of_other_issuers_are_not_shown_to_it() {
    let (issuer, asked) = issuer(by_name).await;
    let (gate, _backend) = gate(&issuer, "").await;
    let signed = token(r#""sub":"u""#);
    // It is signed by another issuer of the configuration, whether or not the route accepts it.
    for (path, expected) in [("/both", "200"), ("/app", "200"), ("/", "401")] {
        assert_eq!(status(&gate.get_as(&signed, path).await), expected, "{path}");
    }
    let forged = format!("{signed}x");
    assert_eq!(status(&gate.get_as(&forged, "/both").await), "401");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(status(&gate.get_as("good", "/both").await), "200");
    assert_eq!(status(&gate.get_as("good", "/app").await), "401");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn an_issuer_that_is_asked_needs_a_credential() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let url = "introspection_url = \"https://opaque.example/introspect\"\n";
    for (keys, expected) in [
        (format!("{url}credential_file = \"client\""), ""),
        (format!("{url}credential_file = \"client\"\nintrospection_cache = \"5s\""), ""),
        (url.to_owned(), "needs exactly one of `credential_file` and `credential_env`"),
        (format!("{url}credential_file = \"secret\""), "the credential is not ID:SECRET"),
        (format!("{url}credential_file = \"client\"\njwks_file = \"x\""), "2 are set"),
        (
            format!("{url}credential_file = \"client\"\nalgorithms = [\"RS256\"]"),
            "`algorithms` has no effect with `introspection_url`",
        ),
        (
            format!("{url}credential_file = \"client\"\nintrospection_cache = \"61s\""),
            "introspection_cache: write whole seconds, from \"1s\" to \"60s\"",
        ),
        (
            format!("{url}credential_file = \"client\"\nkey_pause = \"10s\""),
            "key_pause: this has no effect without `jwks_url`",
        ),
        (
            "introspection_url = \"http://opaque.example/x\"\ncredential_file = \"client\""
                .to_owned(),
            "https",
        ),
    ] {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n[issuers.opaque]\nissuer = \"https://opaque.example\"\n\
             {keys}\n[backends.one]\ninstances = [\"http://127.0.0.1:1\"]\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = \"opaque\"\n"
        );
        let found = match Config::parse(&text, &folder) {
            Ok(_) => String::new(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect(),
        };
        assert_eq!(found.is_empty(), expected.is_empty(), "{keys}: {found}");
        assert!(found.contains(expected), "{keys}: {found}");
    }
}
