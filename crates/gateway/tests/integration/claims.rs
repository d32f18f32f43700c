//! What a route requires of a token, and what its backend learns of it.

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, token};

/// A guarded route with more keys, to a backend that answers with what it received.
async fn gate(keys: &str) -> (Gate, Backend) {
    let backend = Backend::answering(answer_with).await;
    let config = format!("{ISSUER}{}issuer = \"app\"\n{keys}\n", backend.config());
    (Gate::start(&config).await, backend)
}

#[tokio::test]
async fn a_backend_learns_claims_and_only_from_the_gateway() {
    let keys = "forward_claims = { X-Person = \"sub\", X-Tenant = \"realm_access.tenant\", \
                X-Roles = \"roles\", X-Missing = \"missing\" }\nforward_token = false";
    let (gate, _backend) = gate(keys).await;
    let token = token(r#""sub":"ada","realm_access":{"tenant":"a"},"roles":["r1","r2"]"#);
    let answer = gate
        .exchange(&format!(
            "GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             X-Person: root\r\nX-Person: root\r\nX-Missing: root\r\nX_Tenant: root\r\n\r\n"
        ))
        .await;
    let seen = body(&answer).to_ascii_lowercase();
    for expected in ["\r\nx-person: ada\r\n", "\r\nx-tenant: a\r\n", "\r\nx-roles: r1,r2\r\n"] {
        assert!(seen.contains(expected), "{expected}: {seen}");
    }
    assert!(!seen.contains("root") && !seen.contains("authorization"), "{seen}");
}

/// A field that states a claim on one route is removed on every route.
#[tokio::test]
async fn an_open_route_forges_no_claim() {
    let backend = Backend::answering(answer_with).await;
    let config = format!(
        "{ISSUER}{}[[routes]]\npath = \"/in\"\nissuer = \"app\"\nbackend = \"one\"\n\
         forward_claims = {{ X-Person = \"sub\" }}\n",
        backend.config()
    );
    let gate = Gate::start(&config).await;
    let request = "GET / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nX-Person: root\r\n\r\n";
    let answer = gate.exchange(request).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(!answer.contains("root"), "{answer}");
}

#[tokio::test]
async fn a_claim_that_is_no_field_is_refused() {
    let (gate, _backend) = gate("forward_claims = { X-Person = \"name\" }").await;
    let long = format!(r#""sub":"u","name":"{}""#, "x".repeat(5_000));
    for (claims, expected) in [
        (r#""sub":"u","name":"José""#, "200"),
        (r#""sub":"u","name":{"first":"a"}"#, "200"),
        (r#""sub":"u""#, "200"),
        (r#""sub":"u","name":"a\r\nX-Admin: 1""#, "403"),
        (r#""sub":"u","name":"a\u0000b""#, "403"),
        (r#""sub":"u","name":" admin""#, "403"),
        (r#""sub":"u","name":"admin ""#, "403"),
        (&long, "403"),
    ] {
        let answer = gate.get_as(&token(claims), "/").await;
        assert_eq!(status(&answer), expected, "{claims}: {answer}");
    }
    let rows = gate.rows(8).await;
    assert_eq!(rows.iter().filter(|row| row["outcome"] == "unusable_claim").count(), 5);
}

#[tokio::test]
async fn a_route_requires_rights() {
    let keys = "require = { scope = [\"orders:read\", \"orders:write\"], \"realm_access.roles\" = \"clerk\" }";
    let (gate, _backend) = gate(keys).await;
    for (claims, expected) in [
        (
            r#""sub":"u","scope":"orders:write orders:read x","realm_access":{"roles":["clerk"]}"#,
            "200",
        ),
        (r#""sub":"u","scope":"orders:read","realm_access":{"roles":["clerk"]}"#, "403"),
        (
            r#""sub":"u","scope":"orders:read orders:write","realm_access":{"roles":["guest"]}"#,
            "403",
        ),
        (r#""sub":"u","scope":"orders:read orders:write""#, "403"),
        (r#""sub":"u""#, "403"),
    ] {
        let answer = gate.get_as(&token(claims), "/").await;
        assert_eq!(status(&answer), expected, "{claims}: {answer}");
        let is_told = answer.contains("error=\"insufficient_scope\"");
        assert_eq!(is_told, expected == "403", "{answer}");
    }
    assert_eq!(gate.rows(5).await[1]["outcome"], "insufficient_scope");
}
