//! Browsers as clients: calls of pages of other origins, and tokens where pages can put them.

use tokio::io::AsyncWriteExt;

use crate::backends::{Backend, answer_with, read_request};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, token};

const APP: &str = "https://app.example";

/// A guarded route with more keys, to a backend that answers with what it received.
async fn gate(keys: &str) -> (Gate, Backend) {
    let backend = Backend::answering(answer_with).await;
    let config = format!("{ISSUER}{}issuer = \"app\"\n{keys}\n", backend.config());
    (Gate::start(&config).await, backend)
}

fn request(method: &str, target: &str, fields: &[&str]) -> String {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n{fields}\r\n")
}

/// A field of an answer.
fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    let pairs = head.lines().filter_map(|line| line.split_once(": "));
    pairs.into_iter().find_map(|(own, value)| own.eq_ignore_ascii_case(name).then_some(value))
}

#[tokio::test]
async fn a_page_of_another_origin_can_call_a_guarded_route() {
    let cors = "cors = { origins = [\"https://app.example\"], fields = [\"authorization\"], credentials = true }";
    let (gate, _backend) = gate(cors).await;
    let preflight = |origin: &str| {
        let origin = format!("Origin: {origin}");
        request("OPTIONS", "/x", &[&origin, "Access-Control-Request-Method: PUT"])
    };
    let answer = gate.exchange(&preflight(APP)).await;
    assert_eq!((status(&answer), body(&answer)), ("204", ""), "{answer}");
    assert_eq!(field(&answer, "access-control-allow-origin"), Some(APP));
    assert_eq!(field(&answer, "access-control-allow-headers"), Some("authorization"));
    assert_eq!(field(&answer, "access-control-allow-credentials"), Some("true"));
    assert_eq!(field(&answer, "access-control-max-age"), Some("600"));
    let varies = "origin, access-control-request-method, access-control-request-headers";
    assert_eq!(field(&answer, "vary"), Some(varies));
    let methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
    assert_eq!(field(&answer, "access-control-allow-methods"), Some(methods));
    let answer = gate.exchange(&preflight("https://evil.example")).await;
    assert_eq!(status(&answer), "403", "{answer}");
    assert_eq!(field(&answer, "access-control-allow-origin"), None);
    // The page can read a refusal and an answer.
    let origin = format!("Origin: {APP}");
    let bearer = format!("Authorization: Bearer {}", token(r#""sub":"u""#));
    for (fields, expected) in [(&[&*origin][..], "401"), (&[&*origin, &*bearer], "200")] {
        let answer = gate.exchange(&request("GET", "/x", fields)).await;
        assert_eq!(status(&answer), expected, "{answer}");
        assert_eq!(field(&answer, "access-control-allow-origin"), Some(APP), "{answer}");
        assert_eq!(field(&answer, "vary"), Some("origin"), "{answer}");
    }
    let rows = gate.rows(4).await;
    let outcomes: Vec<&str> = rows.iter().map(|row| &*row["outcome"]).collect();
    assert_eq!(outcomes, ["preflight", "other_origin", "no_token", "answered"]);
}

#[tokio::test]
async fn the_gateway_speaks_for_the_backend_about_origins() {
    let backend = Backend::answering(|_| {
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r\n\r\n".to_owned()
    })
    .await;
    let open = backend.config();
    let gate = Gate::start(&format!("{open}cors = {{ origins = [\"{APP}\"] }}\n")).await;
    let answer = gate.exchange(&request("GET", "/", &["Origin: https://evil.example"])).await;
    assert_eq!(field(&answer, "access-control-allow-origin"), None, "{answer}");
    let gate = Gate::start(&open).await;
    let answer = gate.exchange(&request("GET", "/", &["Origin: https://evil.example"])).await;
    assert_eq!(field(&answer, "access-control-allow-origin"), Some("*"), "{answer}");
}

#[tokio::test]
async fn a_token_is_accepted_where_the_route_says() {
    let token = token(r#""sub":"u""#);
    let in_query = format!("/x?a=1&access_token={token}");
    let (cookie, bearer) =
        (format!("Cookie: a=1; sid={token}"), format!("Authorization: Bearer {token}"));
    for (keys, target, fields, expected) in [
        ("", &*in_query, &[][..], "401"),
        ("token = { query = true }", &in_query, &[], "200"),
        ("token = { query = true }", "/x", &[&*bearer], "200"),
        ("token = { query = true }", &in_query, &[&*bearer], "401"),
        ("token = { query = true }", "/x?access_token=a&access_token=b", &[], "401"),
        ("token = { cookie = \"sid\" }", "/x", &[&*cookie], "200"),
        ("", "/x", &[&*cookie], "401"),
        ("token = { cookie = \"sid\" }", "/x", &[&*cookie, &*bearer], "200"),
        ("token = { cookie = \"sid\" }", "/x", &["Cookie: sid=a; sid=b"], "401"),
        ("token = { cookie = \"sid\", query = true }", &in_query, &[&*cookie], "200"),
    ] {
        let (gate, _backend) = gate(keys).await;
        let answer = gate.exchange(&request("GET", target, fields)).await;
        assert_eq!(status(&answer), expected, "{keys} {target} {fields:?}: {answer}");
        if expected == "200" && !fields.contains(&&*bearer) {
            // Neither the backend nor the record has it.
            assert!(!answer.contains(&token), "{answer}");
            assert!(!answer.to_ascii_lowercase().contains("authorization"), "{answer}");
        }
        let row = gate.rows(1).await.remove(0);
        assert!(!row.values().any(|value| value.contains(&token)), "{row:?}");
    }
}

#[tokio::test]
async fn a_cookie_counts_only_for_pages_of_its_own_origin() {
    let keys = format!("token = {{ cookie = \"sid\" }}\ncors = {{ origins = [\"{APP}\"] }}");
    let (gate, _backend) = gate(&keys).await;
    let cookie = format!("Cookie: sid={}", token(r#""sub":"u""#));
    for (method, origin, expected) in [
        ("GET", None, "200"),
        ("POST", None, "403"),
        ("POST", Some("http://gate"), "200"),
        ("POST", Some("https://gate"), "200"),
        ("POST", Some(APP), "200"),
        ("POST", Some("https://evil.example"), "403"),
        ("POST", Some("null"), "403"),
        ("GET", Some("https://gate.evil.example"), "403"),
    ] {
        let origin = origin.map(|origin| format!("Origin: {origin}"));
        let mut fields = vec![&*cookie];
        fields.extend(origin.as_deref());
        let answer = gate.exchange(&request(method, "/", &fields)).await;
        assert_eq!(status(&answer), expected, "{method} {origin:?}: {answer}");
    }
    let (gate, _backend) =
        self::gate("token = { cookie = \"sid\" }\ncors = { origins = \"*\" }").await;
    let fields = [&*cookie, "Origin: https://evil.example"];
    assert_eq!(status(&gate.exchange(&request("POST", "/", &fields)).await), "403");
}

#[tokio::test]
async fn a_page_opens_a_websocket_with_a_token() {
    let backend = Backend::start(|mut stream, _| async move {
        let Some(request) = read_request(&mut stream).await else { return };
        assert!(!request.to_ascii_lowercase().contains("bearer"), "{request}");
        let chosen = match request.to_ascii_lowercase().contains("sec-websocket-protocol: chat") {
            true => "Sec-WebSocket-Protocol: chat\r\n",
            false => "",
        };
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n{chosen}\r\nhi"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    })
    .await;
    let keys = "issuer = \"app\"\ntoken = { websocket_protocol = true }\n";
    let gate = Gate::start(&format!("{ISSUER}{}{keys}", backend.config())).await;
    let token = token(r#""sub":"u""#);
    for (protocols, expected, chosen) in [
        (format!("bearer, {token}"), "101", Some("bearer")),
        (format!("chat, bearer, {token}"), "101", Some("chat")),
        ("chat".to_owned(), "401", None),
        ("bearer, x".to_owned(), "401", None),
    ] {
        let fields = format!("Sec-WebSocket-Protocol: {protocols}");
        let upgrade = format!(
            "GET / HTTP/1.1\r\nHost: gate\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{fields}\r\n\r\n"
        );
        let answer = gate.exchange(&upgrade).await;
        assert_eq!(status(&answer), expected, "{protocols}: {answer}");
        assert_eq!(field(&answer, "sec-websocket-protocol"), chosen, "{protocols}: {answer}");
    }
}
