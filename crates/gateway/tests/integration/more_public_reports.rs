//! More faults that were reported of other gateways, tried here: bodies that are absent or have no
//! length, interim answers, fields of a connection, and the words of tokens. `docs/proxied-cases.md`
//! lists them with their reports.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::backends::{Backend, answer_with, read_request};
use crate::gate::{Gate, PATIENCE, body, status};
use crate::tokens::{ISSUER, token};

/// Sends requests on one connection, the last of which closes it, and returns all answers.
async fn exchange_all(gate: &Gate, requests: &str) -> String {
    let mut stream = TcpStream::connect(gate.address).await.expect("it accepts");
    stream.write_all(requests.as_bytes()).await.expect("it reads");
    let mut answers = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut answers)).await;
    read.expect("the answers end").expect("they are whole");
    answers
}

/// A gateway that waited for the body of such an answer would hang, or lose the next one.
#[tokio::test]
async fn an_answer_without_a_body_may_state_a_length() {
    let backend = Backend::answering(|request| {
        let line = request.lines().next().unwrap_or_default();
        let head = match line.split(' ').nth(1) {
            Some("/file") => "200 OK\r\nContent-Length: 1000000",
            Some("/401") => "401 Unauthorized\r\nContent-Length: 157",
            Some("/chunked") => "200 OK\r\nTransfer-Encoding: chunked",
            Some("/304") => "304 Not Modified\r\nContent-Length: 77",
            _ => return answer_with("after it"),
        };
        format!("HTTP/1.1 {head}\r\n\r\n")
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    for (method, path, expected) in [
        ("HEAD", "/file", ("200", Some("1000000"))),
        ("HEAD", "/401", ("401", Some("157"))),
        ("HEAD", "/chunked", ("200", None)),
        ("GET", "/304", ("304", Some("77"))),
    ] {
        let first = format!("{method} {path} HTTP/1.1\r\nHost: gate\r\n\r\n");
        let last = "GET /x HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n";
        let answers = exchange_all(&gate, &format!("{first}{first}{last}")).await;
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 3, "{method} {path}: {answers}");
        let head = answers.split("\r\n\r\n").next().unwrap_or_default().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        // The length of a 304 may be left out (RFC 9110 section 8.6).
        let is_expected = length == expected.1 || (path == "/304" && length.is_none());
        assert!(status(&answers) == expected.0 && is_expected, "{method} {path}: {answers}");
        assert!(answers.ends_with("after it"), "{method} {path}: {answers}");
    }
    assert_eq!(backend.connections(), 1, "its connection is used again");
}

#[tokio::test]
async fn an_interim_answer_with_a_length_has_no_body() {
    for (length, expected) in [("0", "200"), ("42", "200"), ("\0", "502")] {
        let backend = Backend::start(move |mut stream, _| async move {
            while read_request(&mut stream).await.is_some() {
                let interim =
                    format!("HTTP/1.1 103 Early Hints\r\nContent-Length: {length}\r\n\r\n");
                let answer = interim + &answer_with("the answer");
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        })
        .await;
        let gate = Gate::start(&backend.config()).await;
        for _ in 0..2 {
            let answers = exchange_all(&gate, &request("GET", "")).await;
            let heads: Vec<&str> = answers.split("\r\n\r\n").collect();
            let last = heads.iter().rev().find(|head| head.starts_with("HTTP/1.1 "));
            assert_eq!(last.map(|head| status(head)), Some(expected), "{length:?}: {answers}");
            let has_body = answers.ends_with("\r\n\r\nthe answer");
            assert_eq!(has_body, expected == "200", "{length:?}: {answers}");
        }
    }
}

#[tokio::test]
async fn an_answer_until_the_end_of_its_connection_is_whole() {
    for version in ["1.0", "1.1"] {
        let backend = Backend::start(move |mut stream, _| async move {
            let _request = read_request(&mut stream).await;
            let answer = format!("HTTP/{version} 200 OK\r\n\r\nuntil the end");
            let _ = stream.write_all(answer.as_bytes()).await;
        })
        .await;
        let gate = Gate::start(&backend.config()).await;
        for client in ["1.0", "1.1"] {
            let asked = request("GET", "").replace("HTTP/1.1", &format!("HTTP/{client}"));
            let answer = exchange_all(&gate, &asked).await;
            assert!(status(&answer) == "200" && answer.contains("until the end"), "{answer}");
            let is_chunked = answer.to_ascii_lowercase().contains("transfer-encoding: chunked");
            assert_eq!(
                is_chunked && answer.ends_with("\r\n0\r\n\r\n"),
                client == "1.1",
                "{answer}"
            );
        }
    }
}

fn request(method: &str, fields: &str) -> String {
    format!("{method} / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n{fields}\r\n")
}

/// `Connection` names fields that end at the gateway, not those that the gateway states.
#[tokio::test]
async fn no_client_names_what_the_gateway_states_as_a_field_of_its_connection() {
    let backend = Backend::answering(answer_with).await;
    let keys = "issuer = \"app\"\nforward_claims = { X-User = \"sub\" }\n";
    let gate = Gate::start(&format!("{ISSUER}{}{keys}", backend.config())).await;
    let token = token(r#""sub":"ada""#);
    for name in ["X-Forwarded-For", "X-Forwarded-Proto", "X-User", "Host", "Authorization"] {
        let fields = format!(
            "Connection: {name}\r\nX-User: root\r\nX-Forwarded-For: 192.0.2.1\r\n\
             Authorization: Bearer {token}\r\n"
        );
        let answer = gate.exchange(&request("GET", &fields)).await;
        assert_eq!(status(&answer), "200", "{name}: {answer}");
        let seen = body(&answer).to_ascii_lowercase();
        let address = format!("x-forwarded-for: {}", gate.address.ip());
        for stated in ["x-user: ada", "x-forwarded-proto: http", "host: gate", &address] {
            assert!(seen.contains(stated), "{name}: {stated} is missing in {seen}");
        }
        assert!(!seen.contains("root") && !seen.contains("192.0.2.1"), "{name}: {seen}");
    }
}

#[tokio::test]
async fn the_scheme_of_a_token_has_no_case() {
    let backend = Backend::answering(answer_with).await;
    let gate = Gate::start(&format!("{ISSUER}{}issuer = \"app\"\n", backend.config())).await;
    let token = token(r#""sub":"u""#);
    for (scheme, expected) in
        [("bearer", "200"), ("BEARER", "200"), ("Bearer ", "200"), ("Token", "401"), ("", "401")]
    {
        let fields = format!("Authorization: {scheme} {token}\r\n");
        let answer = gate.exchange(&request("GET", &fields)).await;
        assert_eq!(status(&answer), expected, "{scheme}: {answer}");
    }
}

#[tokio::test]
async fn a_right_is_a_text_a_list_or_words_in_a_claim_of_any_name() {
    let backend = Backend::answering(answer_with).await;
    for (claim, granted, refused) in [
        (
            "scope",
            &[
                r#""scope":"orders refunds""#,
                r#""scope":["orders","refunds"]"#,
                r#""scope":"orders""#,
            ][..],
            &[r#""scope":"orders2 refunds""#, r#""scope":"ORDERS""#, r#""scope":null"#][..],
        ),
        (
            "resource_access.front-dev.roles",
            &[
                r#""resource_access":{"front-dev":{"roles":["orders"]}}"#,
                r#""resource_access":{"front-dev":{"roles":"orders"}}"#,
            ],
            &[r#""resource_access":{"front-dev":"orders"}"#, r#""roles":["orders"]"#],
        ),
        (
            "https://partners.example/roles",
            &[r#""https://partners.example/roles":["orders"]"#],
            &[r#""https://partners":{"example/roles":["refunds"]}"#],
        ),
    ] {
        let keys = format!("issuer = \"app\"\nrequire = {{ \"{claim}\" = [\"orders\"] }}\n");
        let gate = Gate::start(&format!("{ISSUER}{}{keys}", backend.config())).await;
        for (claims, expected) in [(granted, "200"), (refused, "403")] {
            for claims in claims {
                let answer = gate.get_as(&token(&format!(r#""sub":"u",{claims}"#)), "/").await;
                assert_eq!(status(&answer), expected, "{claim}, {claims}: {answer}");
            }
        }
    }
}
