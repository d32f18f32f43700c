//! Limits that depend on the token of a request, those that do not, and those of a route.

use std::path::Path;

use weir_gateway::Config;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, status};
use crate::tokens::{ISSUER, token};

async fn gate(limits: &[&str], routes: &str) -> (Gate, Backend) {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let limits = limits.iter().map(|it| format!("[[limits]]\n{it}\nmode = \"enforce\"\n"));
    let config = format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n{}{routes}",
        backend.address,
        limits.collect::<String>()
    );
    (Gate::start(&config).await, backend)
}

const GUARDED: &str = "[[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = \"app\"\n";

#[tokio::test]
async fn a_claim_is_the_key() {
    for (file, cases) in [
        (
            "plans.conf",
            &[
                (r#""sub":"u","plan":"free""#, "200"),
                (r#""sub":"u","plan":"free""#, "429"),
                (r#""sub":"v","plan":"free""#, "200"),
                (r#""sub":"u","plan":"gold""#, "200"),
                (r#""sub":"u","plan":"gold""#, "200"),
                (r#""sub":"u""#, "200"),
                (r#""sub":"u","plan":["free"]"#, "200"),
                (r#""sub":"v","plan":"free""#, "429"),
            ][..],
        ),
        (
            "tenants.conf",
            &[
                (r#""realm_access":{"tenant":"a"}"#, "200"),
                (r#""realm_access":{"tenant":"a"},"sub":"v""#, "429"),
                (r#""realm_access":{"tenant":7}"#, "200"),
                (r#""realm_access":{"tenant":7},"sub":"v""#, "429"),
                (r#""realm_access.tenant":"b""#, "200"),
                (r#""realm_access":{"tenant":"b"}"#, "429"),
                (r#""realm_access":{"tenant":1.5}"#, "200"),
                (r#""realm_access":{"tenant":1.5}"#, "429"),
                (r#""realm_access":{"tenant":true}"#, "200"),
                (r#""realm_access":{"tenant":true}"#, "429"),
                (r#""realm_access":{"tenant":["a"]}"#, "200"),
                (r#""realm_access":{"tenant":["a"]}"#, "200"),
                (r#""realm_access":{"tenant":"../a"}"#, "200"),
                (r#""realm_access":"a""#, "200"),
            ],
        ),
    ] {
        let (gate, _backend) = gate(&[&format!("rule_file = \"{file}\"")], GUARDED).await;
        for (index, (claims, expected)) in cases.iter().enumerate() {
            let answer = gate.get_as(&token(claims), "/").await;
            assert_eq!(status(&answer), *expected, "{file} {index} {claims}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_limit_by_address_comes_before_the_token() {
    let limits = ["rule_file = \"clients.conf\"", "rule_file = \"plans.conf\""];
    let (gate, _backend) = gate(&limits, GUARDED).await;
    for expected in ["401", "429", "429"] {
        assert_eq!(status(&gate.get_as("a.b.c", "/").await), expected);
    }
    let good = token(r#""sub":"u","plan":"free""#);
    assert_eq!(status(&gate.get_as(&good, "/").await), "429");
    let (name, counters) = gate.handle.counts().issuers.into_iter().next().expect("an issuer");
    let refused: u64 = counters.refused.iter().sum();
    assert_eq!((name.as_str(), refused, counters.verified), ("app", 1, 0), "only one was verified");
    let rows = gate.rows(4).await;
    assert_eq!((rows[3]["outcome"].as_str(), rows[3]["limit"].as_str()), ("limited", "clients"));
}

#[tokio::test]
async fn a_route_has_limits_of_its_own() {
    let routes = "[[routes]]\npath = \"/a\"\nbackend = \"one\"\nlimits = [\"slow\"]\n\
                  [[routes]]\npath = \"/b\"\nbackend = \"one\"\nlimits = \"slow\"\n\
                  [[routes]]\npath = \"/c\"\nbackend = \"one\"\n\
                  [[routes]]\npath = \"/c/d\"\nbackend = \"one\"\nlimits = \"slow\"\n";
    let (gate, _backend) = gate(&["name = \"slow\"\nrule_file = \"clients.conf\""], routes).await;
    for (path, expected) in [
        ("/c", "200"),
        ("/c", "200"),
        ("/nothing", "404"),
        ("/a", "200"),
        ("/a/x", "429"),
        // Routes with the same limit share its counts.
        ("/b", "429"),
        ("/c", "200"),
        ("/nothing", "404"),
        // Some servers take it for `/c/d`, which has a limit.
        ("/c/d;x", "400"),
        ("/c;x/d", "404"),
        ("/c/e;x", "200"),
    ] {
        assert_eq!(status(&gate.get(path).await), expected, "{path}");
    }
}

#[test]
fn limits_of_routes_exist() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let named = "[[limits]]\nname = \"slow\"\nrule_file = \"clients.conf\"\n";
    for (limits, route, expected) in [
        (named, "limits = [\"slow\"]", ""),
        (named, "limits = [\"slw\"]", "there is no limit `slw`; did you mean `slow`?"),
        ("", "limits = [\"slow\"]", "write [[limits]] with name = \"slow\""),
        (named, "limits = [\"slow\", \"slow\"]", "`slow` is named twice"),
        (named, "limits = [7]", "this is a number"),
        (named, "", "no route names this limit, so it counts nothing"),
    ] {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n{ISSUER}{limits}[backends.one]\n\
             instances = [\"http://127.0.0.1:1\"]\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = \"app\"\n{route}\n"
        );
        let found = match Config::parse(&text, &folder) {
            Ok(config) => config.warnings,
            Err(problems) => problems,
        };
        let found: String = found.iter().map(|it| format!("{it}\n")).collect();
        assert_eq!(found.is_empty(), expected.is_empty(), "{route}: {found}");
        assert!(found.contains(expected), "{route}: {found}");
    }
}
