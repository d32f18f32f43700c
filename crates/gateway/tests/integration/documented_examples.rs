//! The complete examples of the documents, run as they are written but for their addresses.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, PublicKeyComponents};
use ring::signature::RSA_PKCS1_SHA256;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, PATIENCE, body, status};
use crate::route_servers::nginx_with;
use crate::tokens::token;

/// The first block of this language after a heading of a document.
fn block(document: &str, heading: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).expect("the heading");
    let (_, rest) = rest.split_once(&format!("```{language}\n")).expect("a block");
    rest.split("```").next().expect("its text").to_owned()
}

/// A configuration without its `listen`, for which the test has an address of its own.
fn configuration(document: &str, heading: &str) -> String {
    let text = block(document, heading, "toml");
    assert!(text.contains("listen = [\"8080\"]\n"), "{text}");
    text.replace("listen = [\"8080\"]\n", "")
}

fn pair() -> KeyPair {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rsa.pem");
    let pem = std::fs::read(path).expect("a key");
    let key = PrivatePkcs8KeyDer::from_pem_slice(&pem).expect("a key");
    KeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("an RSA key")
}

/// The key set in the form of Keycloak: a key for signatures and one for encryption.
fn key_set() -> String {
    let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair().public());
    let key = |kid: &str, algorithm: &str, usage: &str| {
        json!({
            "kid": kid, "kty": "RSA", "alg": algorithm, "use": usage,
            "x5c": ["MIICmzCCAYMCBgGb"], "x5t": "abc", "x5t#S256": "def",
            "n": URL_SAFE_NO_PAD.encode(&n), "e": URL_SAFE_NO_PAD.encode(&e),
        })
    };
    json!({ "keys": [key("for-encryption", "RSA-OAEP", "enc"), key("for-signatures", "RS256", "sig")] })
        .to_string()
}

/// A server with the addresses of a realm of Keycloak.
fn keycloak(request: &str) -> String {
    let path = request.split(' ').nth(1).unwrap_or_default();
    match path {
        "/realms/shop/protocol/openid-connect/certs" => answer_with(&key_set()),
        "/realms/shop/.well-known/openid-configuration" => {
            let realm = "https://sso.example/realms/shop";
            let document = json!({
                "issuer": realm,
                "jwks_uri": format!("{realm}/protocol/openid-connect/certs"),
            });
            answer_with(&document.to_string())
        }
        _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// A token with these claims, signed as by Keycloak.
fn signed(claims: &Value) -> String {
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": "for-signatures" });
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(&header), encode(claims));
    let pair = pair();
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .expect("a signature");
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The claims of an access token of Keycloak.
fn claims_of_ada() -> Value {
    json!({
        "exp": seconds() + 300, "iat": seconds(), "auth_time": seconds(),
        "jti": "onrtac:8c0a7d4e", "iss": "https://sso.example/realms/shop",
        "aud": ["shop-api", "account"], "sub": "0b1a5f0e-9f6e-4a87-8a66-2f2d2a7f9f10",
        "typ": "Bearer", "azp": "shop-web", "sid": "f1b1", "acr": "1",
        "allowed-origins": ["https://shop.example"],
        "realm_access": { "roles": ["offline_access", "clerk"] },
        "resource_access": {
            "shop-api": { "roles": ["orders"] },
            "account": { "roles": ["manage-account"] },
        },
        "scope": "openid email profile", "email_verified": true, "preferred_username": "ada",
    })
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

#[tokio::test]
async fn a_shared_secret() {
    let backend = Backend::answering(answer_with).await;
    let text = configuration("gateway.md", "### A shared secret (HS256)");
    let gate = Gate::start(&text.replace("127.0.0.1:9001", &backend.address.to_string())).await;
    assert_eq!(status(&gate.get("/").await), "200");
    assert_eq!(status(&gate.get("/api/orders").await), "401");
    assert_eq!(status(&gate.get("/API/orders").await), "200", "another path, by paths = strict");
    let token = token(r#""sub":"ada""#);
    let answer = gate.get_as(&token, "/api/orders").await;
    assert_eq!(status(&answer), "200", "{answer}");
    let seen = body(&answer).to_ascii_lowercase();
    assert!(seen.contains("x-user: ada\r\n") && !seen.contains("authorization"), "{seen}");
    // The limit of the test data lets three requests with a key pass at once.
    let keyed = "GET / HTTP/1.1\r\nHost: gate\r\nX-Key: a\r\nConnection: close\r\n\r\n";
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(status(&gate.exchange(keyed).await).to_owned());
    }
    assert_eq!(statuses, ["200", "200", "200", "429"]);
}

#[tokio::test]
async fn keycloak_as_the_issuer() {
    let keys = Backend::answering(keycloak).await;
    let backend = Backend::answering(answer_with).await;
    let text = configuration("gateway.md", "### Keycloak");
    let text = text
        .replace(
            "jwks_url = \"https://sso.example",
            &format!("jwks_url = \"http://{}", keys.address),
        )
        .replace("127.0.0.1:9001", &backend.address.to_string());
    let gate = Gate::start(&text).await;
    let ada = claims_of_ada();
    let answer = gate.get_as(&signed(&ada), "/api/orders").await;
    assert_eq!(status(&answer), "200", "{answer}");
    let seen = body(&answer).to_ascii_lowercase();
    for expected in ["x-user: ada\r\n", "x-roles: offline_access,clerk\r\n"] {
        assert!(seen.contains(expected), "{expected}: {seen}");
    }
    assert!(!seen.contains("authorization"), "{seen}");
    let clerk = json!({ "roles": ["clerk"] });
    let admin = json!({ "roles": ["admin"] });
    let nobody = json!({ "shop-api": { "roles": ["read"] } });
    for (claims, path, expected) in [
        (ada.clone(), "/api/admin", "403"),
        (with(ada.clone(), "realm_access", admin), "/api/admin", "200"),
        (with(ada.clone(), "realm_access", clerk), "/api/orders", "200"),
        (with(ada.clone(), "azp", json!("other")), "/api/orders", "403"),
        (with(ada.clone(), "resource_access", nobody), "/api/orders", "403"),
        (with(ada.clone(), "aud", json!("account")), "/api/orders", "401"),
        (with(ada.clone(), "iss", json!("https://sso.example/realms/b")), "/api/orders", "401"),
        (with(ada, "exp", json!(seconds() - 300)), "/api/orders", "401"),
    ] {
        let answer = gate.get_as(&signed(&claims), path).await;
        assert_eq!(status(&answer), expected, "{path} {claims}: {answer}");
    }
    let preflight = "OPTIONS /api/orders HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\
                     Origin: https://shop.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n";
    assert_eq!(status(&gate.exchange(preflight).await), "204");
}

const DOCUMENT: &str = "from-other-gateways.md";

/// Methods without a token, the status that each gets of Weir, and that of nginx.
const METHODS: [(&str, &str, &str); 9] = [
    ("GET", "200", "200"),
    ("HEAD", "200", "200"),
    ("POST", "401", "403"),
    ("PUT", "401", "403"),
    ("PATCH", "405", "405"),
    ("DELETE", "405", "405"),
    ("OPTIONS", "405", "405"),
    ("PROPFIND", "405", "405"),
    ("get", "405", "400"),
];

fn with_method(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn methods_beside_other_gateways() {
    let web = Backend::answering(|_| answer_with("web")).await;
    let text = configuration(DOCUMENT, "## Weir");
    let (before, _limits) = text.split_once("[[limits]]").expect("the limits");
    let text = before.replace("[\"http://10.0.0.1:9001\", ", "[");
    let text = text.replace("http://10.0.0.2:9001", &format!("http://{}", web.address))
        + &block(DOCUMENT, "### Methods in Weir", "toml");
    let gate = Gate::start(&text).await;
    for path in ["/items", "/items/", "/items/7"] {
        for (method, expected, _) in METHODS {
            let answer = gate.exchange(&with_method(method, path)).await;
            assert_eq!(status(&answer), expected, "{method} {path}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nginx; cargo xtask test runs it"]
async fn methods_in_nginx() {
    let web = Backend::answering(|_| answer_with("web")).await;
    let block = block(DOCUMENT, "### Methods in nginx", "nginx");
    assert!(block.contains("auth_jwt \"api\";"), "{block}");
    let block = block.replace("auth_jwt \"api\";", "deny all;");
    let block = block.replace("server {\n", "server { listen unix:FOLDER/socket;\n");
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|name| format!("{name}_temp_path FOLDER/{name};\n")).concat();
    let nginx = nginx_with(&format!(
        "daemon off; master_process off; pid FOLDER/pid; error_log stderr; events {{}}\n\
         http {{ access_log off;\n{temporary}upstream web {{ server {}; }}\n{block}}}",
        web.address
    ))
    .await;
    let address = SocketAddr::from(([127, 0, 0, 1], nginx.port));
    for path in ["/items", "/items/", "/items/7"] {
        for (method, _, expected) in METHODS {
            let answer = exchange(address, &with_method(method, path)).await;
            assert_eq!(status(&answer), expected, "{method} {path}: {answer}");
        }
    }
}

/// Sends a request on a new connection, and returns all that comes. Waits until the server listens.
async fn exchange(address: SocketAddr, request: &str) -> String {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let mut stream = TcpStream::connect(address).await.expect("it accepts");
        let mut answer = String::new();
        let exchanged = async {
            stream.write_all(request.as_bytes()).await?;
            stream.read_to_string(&mut answer).await
        };
        // A server that does not listen yet closes the connection.
        if exchanged.await.is_ok() && !answer.is_empty() {
            return answer;
        }
        assert!(tokio::time::Instant::now() < deadline, "no answer to {request}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_set_up_of_other_gateways() {
    let keys = Backend::answering(|_| answer_with(&key_set())).await;
    let web = Backend::answering(|request| answer_with(&format!("web {request}"))).await;
    let reports = Backend::answering(|request| answer_with(&format!("reports {request}"))).await;
    let folder = std::env::temp_dir().join(format!("weir-documented-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let rules = folder.join("limits.conf");
    std::fs::write(&rules, block(DOCUMENT, "## Weir", "nginx")).expect("written");
    let address = |address: SocketAddr| format!("http://{address}");
    let text = configuration(DOCUMENT, "## Weir")
        .replace("https://login.example/keys", &format!("{}/keys", address(keys.address)))
        .replace("[\"http://10.0.0.1:9001\", ", "[")
        .replace("http://10.0.0.2:9001", &address(web.address))
        .replace("http://10.0.0.3:9002", &address(reports.address))
        .replace("limits.conf", &rules.display().to_string());
    let gate = Gate::start(&text).await;
    assert!(body(&gate.get("/").await).starts_with("web "));
    assert!(body(&gate.get("/apis").await).starts_with("web "));
    for path in ["/api", "/api/x", "/api/reports", "/api/reports/1"] {
        assert_eq!(status(&gate.get(path).await), "401", "{path}");
    }
    let token = signed(&json!({
        "iss": "https://login.example", "aud": "api", "sub": "ada", "exp": seconds() + 300,
    }));
    for (path, backend) in
        [("/api/x", "web"), ("/api/reports/1", "reports"), ("/api/reportsx", "web")]
    {
        let answer = gate.get_as(&token, path).await;
        let seen = body(&answer).to_ascii_lowercase();
        assert!(seen.starts_with(backend) && seen.contains("x-user: ada\r\n"), "{path}: {answer}");
    }
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /api/x HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: GET\r\n\r\n"
        )
    };
    assert_eq!(status(&gate.exchange(&preflight("https://app.example")).await), "204");
    assert_eq!(status(&gate.exchange(&preflight("https://evil.example")).await), "403");
    // 10 requests a second and 20 at once; more than that within a moment is refused.
    let mut refused = 0;
    for _ in 0..200 {
        refused += usize::from(status(&gate.get("/").await) == "429");
    }
    assert!(refused > 0, "200 requests in a row are more than the limit");
    std::fs::remove_dir_all(&folder).expect("removed");
}
