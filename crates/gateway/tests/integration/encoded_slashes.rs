//! Routes whose paths may have empty segments and encoded slashes.

use std::path::Path;

use weir_gateway::Config;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, token};

/// A configuration with the backends `one` and `two`, and these routes.
fn config(port: u16, routes: &[&str]) -> String {
    let instances = format!("instances = [\"http://127.0.0.1:{port}\"]\npaths = \"strict\"\n");
    let head = format!("{ISSUER}[backends.one]\n{instances}[backends.two]\n{instances}");
    let routes = routes.iter().map(|route| format!("[[routes]]\n{route}\n"));
    head + &routes.collect::<String>()
}

/// The mistakes that name `encoded_slashes`.
fn problems(routes: &[&str]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\n{}[[limits]]\nname = \"few\"\nrule_file = \"limits.conf\"\n",
        config(1, routes)
    );
    match Config::parse(&text, &folder) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn everything_below_such_a_route_has_to_be_alike() {
    const UPPER: &str = "path = \"/a\"\nencoded_slashes = \"pass\"\n";
    let open = "path = \"/a/b\"\nbackend = \"one\"\n";
    let guarded = "path = \"/a/b\"\nbackend = \"one\"\nissuer = \"app\"\n";
    for (upper, lower, expected) in [
        ("", open, ""),
        ("", guarded, "asks for other tokens"),
        ("issuer = \"app\"\n", open, "asks for other tokens"),
        ("issuer = \"app\"\n", guarded, ""),
        (
            "issuer = \"app\"\n",
            &guarded.replace("app\"", "app\"\nrequire = { a = [\"b\"] }"),
            "tokens",
        ),
        ("", "path = \"/a/b\"\nbackend = \"two\"\n", "has another backend"),
        ("", &format!("{open}limits = [\"few\"]\n"), "has other `limits`"),
        ("limits = [\"few\"]\n", open, "has other `limits`"),
        ("", &format!("{open}backend_path = \"/\"\n"), "changes requests in another way"),
        ("host = \"x.example\"\n", guarded, "asks for other tokens"),
        ("", &format!("{guarded}host = \"x.example\"\n"), "asks for other tokens"),
        ("host = \"y.example\"\n", &format!("{guarded}host = \"x.example\"\n"), ""),
        ("methods = [\"GET\"]\n", &format!("{guarded}methods = [\"PUT\"]\n"), "other tokens"),
        // These are not below it.
        ("", &guarded.replace("/a/b", "/ab"), ""),
        ("", &guarded.replace("/a/b", "/"), ""),
        ("methods = [\"GET\"]\n", &guarded.replace("/a/b", "/a"), ""),
    ] {
        let upper = format!("{UPPER}backend = \"one\"\n{upper}");
        let found = problems(&[&upper, lower]).join("\n");
        if expected.is_empty() {
            assert_eq!(found, "", "{upper}{lower}");
            continue;
        }
        let place =
            "line 15: routes[1].encoded_slashes: routes[2] (`/a/b`) lies below this route, and ";
        assert!(found.starts_with(place) && found.contains(expected), "{upper}{lower}: {found}");
    }
    let text = |value: &str| format!("path = \"/\"\nbackend = \"one\"\nencoded_slashes = {value}");
    for (value, expected) in [
        ("\"refuse\"", ""),
        ("\"decode\"", "`decode` is not one of \"refuse\", \"pass\""),
        ("true", "write a text in quotes"),
    ] {
        let found = problems(&[&text(value)]).join("\n");
        assert_eq!(found.is_empty(), expected.is_empty(), "{value}: {found}");
        assert!(found.contains(expected), "{value}: {found}");
    }
}

/// Without regard to case, a route can be below another one in spite of its spelling.
#[test]
fn case_does_not_hide_what_is_below() {
    let upper = "path = \"/A\"\nbackend = \"one\"\nencoded_slashes = \"pass\"";
    let lower = "path = \"/a/b\"\nbackend = \"one\"\nissuer = \"app\"";
    assert_eq!(problems(&[upper, lower]), [""; 0]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let text = config(1, &[upper, lower]).replace("strict", "ignore-case");
    let found = Config::parse(&format!("listen = [\"127.0.0.1:0\"]\n{text}"), &folder);
    let found = found.expect_err("a mistake")[0].to_string();
    assert!(found.contains("routes[1].encoded_slashes: routes[2] (`/a/b`) lies below"), "{found}");
}

#[tokio::test]
async fn such_paths_pass_byte_for_byte() {
    let backend = Backend::answering(answer_with).await;
    let routes = [
        "path = \"/\"\nbackend = \"one\"",
        "path = \"/api\"\nbackend = \"one\"\nissuer = \"app\"\nencoded_slashes = \"pass\"",
        "path = \"/shop\"\nbackend = \"one\"\nbackend_path = \"/\"\nencoded_slashes = \"pass\"",
        "path = \"/old\"\nbackend = \"one\"\nmethods = [\"PUT\"]\nencoded_slashes = \"pass\"",
    ];
    let gate = Gate::start(&config(backend.address.port(), &routes)).await;
    let authorization = format!("Authorization: Bearer {}\r\n", token(r#""sub":"u""#));
    let send = async |target: &str, fields: &str| {
        let head =
            format!("GET {target} HTTP/1.1\r\nHost: gate\r\n{fields}Connection: close\r\n\r\n");
        gate.exchange(&head).await
    };
    for (target, expected) in [
        ("/api/v4/projects/group%2Fname", ""),
        ("/api/@scope%2fname", ""),
        ("/api/queues/%2F/name", ""),
        ("/api/key//with///slashes//?a=//%2F", ""),
        ("/%61pi/%7Euser%2f", ""),
        ("/api/x;v=1%2F/y", ""),
        ("/shop//cart%2F1", "//cart%2F1"),
        ("/shop/", "/"),
        ("/shop/%2f", "/%2f"),
    ] {
        let expected = if expected.is_empty() { target } else { expected };
        let answer = send(target, &authorization).await;
        let line = body(&answer).lines().next().unwrap_or_default();
        assert_eq!(line, format!("GET {expected} HTTP/1.1"), "{target}: {answer}");
    }
    let passed = backend.connections();
    for (target, expected) in [
        // Without a token.
        ("/api/v4/projects/group%2Fname", "401"),
        ("/api//", "401"),
        // Of a route that does not let them pass.
        ("//api/x", "400"),
        ("/api%2Fx", "400"),
        ("/%2Fapi/x", "400"),
        ("/x//y", "400"),
        ("/shop%2Fx", "400"),
        // What is refused on every route.
        ("/api/%2F../x", "400"),
        ("/api/..%2Fx", "400"),
        ("/api//%2e%2e/x", "400"),
        ("/api/x%2F.", "400"),
        ("/api//..;/x", "400"),
        ("/api/%5c", "400"),
        ("/api//\\", "400"),
        ("/api/%2F%00", "400"),
        ("/api/%252F", "400"),
        ("/api/;x%2F", "400"),
        ("/old//x", "405"),
    ] {
        assert_eq!(status(&send(target, "").await), expected, "{target}");
    }
    assert_eq!(backend.connections(), passed);
    let rows = gate.rows(27).await;
    assert_eq!(rows[0]["path"], "/api/v4/projects/group%2Fname");
    assert_eq!(rows[0]["route"], "/api");
}
