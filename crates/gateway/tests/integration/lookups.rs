//! Lookup services that map a claim to a backend.

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, token};

#[tokio::test]
async fn a_service_is_asked_once_for_a_value() {
    let service = Backend::answering(|request| match request.split(' ').nth(1) {
        Some("/backend?of=a%2Fb") => answer_with(r#"{"backend":"one"}"#),
        Some("/backend?of=strange") => answer_with(r#"{"backend":"unknown"}"#),
        Some("/backend?of=broken") => "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
    })
    .await;
    let backend = Backend::answering(|_| answer_with("one")).await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\n\
         issuer = \"app\"\nclaim = \"tenant\"\nlookup = {{ url = \"http://{}/backend?of={{claim}}\" }}\n",
        backend.address, service.address
    ))
    .await;
    let cases = [
        (r#""tenant":"a/b""#, "200", "miss"),
        (r#""tenant":"a/b""#, "200", "hit"),
        (r#""tenant":"nobody""#, "403", "miss"),
        (r#""tenant":"nobody""#, "403", "hit"),
        (r#""tenant":"strange""#, "502", "miss"),
        (r#""tenant":"broken""#, "502", "miss"),
    ];
    for (index, (claims, expected_status, cache)) in cases.into_iter().enumerate() {
        let answer = gate.get_as(&token(claims), "/").await;
        assert_eq!(status(&answer), expected_status, "{claims}: {answer}");
        if expected_status == "200" {
            assert_eq!(body(&answer), "one");
        }
        assert_eq!(gate.rows(index + 1).await[index]["lookup_cache"], cache, "{claims}");
    }
    assert_eq!(service.connections(), 4, "each answer was remembered");
}
