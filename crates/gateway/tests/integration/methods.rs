//! Routes of one path that methods and header fields tell apart, and that none of them opens a way
//! round another.

use std::path::Path;

use weir_gateway::Config;
use weir_net::percent_decode;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};
use crate::spellings::spellings;
use crate::tokens::{ISSUER, token};

/// Everybody may read, and users may write. `/` is open to all methods.
const ROUTES: &str = "[[routes]]\npath = \"/\"\nbackend = \"one\"\n\
                      [[routes]]\npath = \"/items\"\nbackend = \"one\"\nmethods = [\"GET\"]\n\
                      [[routes]]\npath = \"/items\"\nbackend = \"one\"\nissuer = \"app\"\n\
                      methods = [\"POST\", \"PUT\"]\ncors = { origins = [\"https://app.example\"] }\n";

async fn gate(routes: &str, paths: &str) -> (Gate, [Backend; 2]) {
    let backends =
        [Backend::answering(answer_with).await, Backend::answering(|_| answer_with("two")).await];
    let [one, two] = [&backends[0], &backends[1]].map(|backend| backend.address);
    let config = format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{one}\"]\npaths = \"{paths}\"\n\
         [backends.two]\ninstances = [\"http://{two}\"]\n{routes}"
    );
    (Gate::start(&config).await, backends)
}

async fn send(gate: &Gate, method: &str, path: &str, fields: &str) -> String {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: gate\r\n{fields}Connection: close\r\n\r\n");
    gate.exchange(&request).await
}

#[tokio::test]
async fn each_method_has_its_route() {
    let (gate, _backends) = gate(ROUTES, "strict").await;
    let user = format!("Authorization: Bearer {}\r\n", token(r#""sub":"u""#));
    let asked = "Origin: https://app.example\r\nAccess-Control-Request-Method: ";
    let cases = [
        ("GET", String::new(), "200"),
        ("HEAD", String::new(), "200"),
        ("POST", String::new(), "401"),
        ("POST", user.clone(), "200"),
        ("PUT", user.clone(), "200"),
        ("PUT", String::new(), "401"),
        // They do not fall back to `/`.
        ("DELETE", user.clone(), "405"),
        ("OPTIONS", String::new(), "405"),
        ("get", String::new(), "405"),
        ("Post", String::new(), "405"),
        ("GET", "X-HTTP-Method-Override: PUT\r\n".to_owned(), "200"),
        ("OPTIONS", format!("{asked}PUT\r\n"), "204"),
        // The route of GET leaves the answer to the backend, and takes no OPTIONS.
        ("OPTIONS", format!("{asked}GET\r\n"), "405"),
        ("OPTIONS", format!("{asked}DELETE\r\n"), "405"),
        ("OPTIONS", "Origin: https://app.example\r\n".to_owned(), "405"),
    ];
    for (method, fields, expected) in &cases {
        let answer = send(&gate, method, "/items/7", fields).await;
        assert_eq!(status(&answer), *expected, "{method} {fields}: {answer}");
        assert!(!body(&answer).to_lowercase().contains("override"), "{answer}");
        let allow = answer.lines().find(|line| line.to_lowercase().starts_with("allow:"));
        let is_named = allow.is_some_and(|it| it.ends_with("GET, HEAD, POST, PUT"));
        assert_eq!(is_named, *expected == "405", "{method}: {answer}");
    }
    // Without a route for it, or with one that takes all methods that servers know.
    for (method, path) in [("TRACE", "/items"), ("get", "/"), ("get", "/nothing")] {
        let answer = send(&gate, method, path, "").await;
        let all = "allow: DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT\r\n";
        assert!(status(&answer) == "405" && answer.contains(all), "{method} {path}: {answer}");
    }
    let rows = gate.rows(cases.len()).await;
    let names = rows.iter().map(|row| row.get("route").map(String::as_str));
    let names: Vec<Option<&str>> = names.collect();
    assert_eq!(
        names[..3],
        [Some("GET,HEAD /items"), Some("GET,HEAD /items"), Some("POST,PUT /items")]
    );
    assert_eq!((names[6], rows[6]["outcome"].as_str()), (None, "method_not_allowed"));
}

#[tokio::test]
async fn a_header_field_chooses_the_route() {
    let routes = "[[routes]]\npath = \"/\"\nbackend = \"one\"\n\
                  [[routes]]\npath = \"/\"\nbackend = \"two\"\nfields = { X-Version = \"2\" }\n\
                  [[routes]]\npath = \"/only\"\nbackend = \"two\"\nfields = { X-Version = \"2\" }\n";
    let (gate, _backends) = gate(routes, "strict").await;
    for (path, fields, expected) in [
        ("/", "", "one"),
        ("/", "X-Version: 2\r\n", "two"),
        ("/", "x-version:2 \r\n", "two"),
        ("/", "X-Version: 2\r\nX-Version: 2\r\n", "one"),
        ("/", "X-Version: 1\r\nX-Version: 2\r\n", "one"),
        ("/", "X-Version: 22\r\n", "one"),
        ("/only", "X-Version: 2\r\n", "two"),
        ("/only", "X-Version: 1\r\n", "404"),
        ("/only/x", "", "404"),
    ] {
        let answer = send(&gate, "GET", path, fields).await;
        let found = match status(&answer) {
            "200" if body(&answer) == "two" => "two",
            "200" => "one",
            other => other,
        };
        assert_eq!(found, expected, "{path} {fields}: {answer}");
    }
}

#[tokio::test]
async fn a_preflight_announces_the_fields_of_the_request() {
    let cors = "cors = { origins = [\"https://app.example\"] }\n";
    let routes = format!(
        "[[routes]]\npath = \"/\"\nbackend = \"one\"\nfields = {{ X-Version = \"2\" }}\n{cors}\
         [[routes]]\npath = \"/both\"\nbackend = \"one\"\nfields = {{ X-Version = \"2\" }}\n{cors}\
         [[routes]]\npath = \"/both\"\nbackend = \"two\"\ncors = {{ origins = [\"https://b.example\"] }}\n",
    );
    let (gate, _backends) = gate(&routes, "strict").await;
    let asked = |origin: &str, fields: &str| {
        format!("Origin: {origin}\r\nAccess-Control-Request-Method: GET\r\n{fields}")
    };
    let announced = "Access-Control-Request-Headers: authorization, x-version\r\n";
    let (app, other) = ("https://app.example", "https://b.example");
    for (path, fields, expected) in [
        ("/", asked(app, announced), "204"),
        ("/", asked(app, ""), "404"),
        ("/both", asked(app, announced), "204"),
        ("/both", asked(other, ""), "204"),
        ("/both", asked(other, announced), "403"),
        ("/", String::new(), "404"),
    ] {
        let answer = send(&gate, "OPTIONS", path, &fields).await;
        assert_eq!(status(&answer), expected, "{path} {fields}: {answer}");
    }
    assert_eq!(status(&send(&gate, "GET", "/", "").await), "404");
}

/// Whether a server that decodes once, and ignores parameters, case, dots and spaces at the end and
/// streams, reads a path as the guarded one.
fn is_guarded(target: &str) -> bool {
    let target = target.strip_prefix("http://gate").unwrap_or(target);
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let read = |path: &str| {
        let first = path.split('/').nth(1).unwrap_or_default();
        let name = first.split([';', ':']).next().unwrap_or_default();
        name.trim_end_matches(['.', ' ']).eq_ignore_ascii_case("admin")
    };
    read(path) || read(&String::from_utf8_lossy(&percent_decode(path.as_bytes())))
}

#[tokio::test]
async fn no_spelling_and_method_passes_to_a_guarded_handler() {
    let admin = "[[routes]]\npath = \"/admin\"\nbackend = \"one\"\n";
    for (routes, open_methods) in [
        // Open and guarded methods of one path, beside an open route for the rest.
        (
            format!(
                "[[routes]]\npath = \"/\"\nbackend = \"one\"\n{admin}methods = [\"GET\"]\n\
                  {admin}methods = [\"POST\"]\nissuer = \"app\"\n"
            ),
            &["GET"][..],
        ),
        // One guarded method, and the rest of the path open.
        (
            format!(
                "[[routes]]\npath = \"/\"\nbackend = \"one\"\n{admin}\
                  {admin}methods = [\"POST\"]\nissuer = \"app\"\n"
            ),
            &["GET"],
        ),
        // A guarded path, and one that is open for one method.
        (
            format!(
                "[[routes]]\npath = \"/\"\nbackend = \"one\"\nmethods = [\"GET\"]\n\
                  {admin}issuer = \"app\"\n"
            ),
            &[],
        ),
    ] {
        let (gate, _backends) = gate(&routes, "windows").await;
        let mut open_count = 0;
        for target in spellings() {
            for method in ["GET", "POST", "post"] {
                let answer = send(&gate, method, &target, "").await;
                if status(&answer) != "200" {
                    continue;
                }
                open_count += 1;
                let (line, _) = body(&answer).split_once("\r\n").expect("the request");
                let seen: Vec<&str> = line.split(' ').collect();
                let is_open = !is_guarded(seen[1]) || open_methods.contains(&seen[0]);
                assert!(is_open, "{method} {target} came as {line}\n{routes}");
            }
        }
        assert!(open_count > 20, "only {open_count} requests passed\n{routes}");
    }
}

#[test]
fn routes_of_one_path_do_not_conflict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let check = |top: &str, first: &str, second: &str| {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n{top}{ISSUER}\
             [backends.one]\ninstances = [\"http://127.0.0.1:1\"]\npaths = \"strict\"\n\
             [backends.two]\ninstances = [\"http://127.0.0.1:2\"]\npaths = \"strict\"\n\
             [[routes]]\npath = \"/a\"\n{first}\n[[routes]]\npath = \"/a\"\n{second}\n\
             [[routes]]\npath = \"/\"\nbackend = \"two\"\n"
        );
        match Config::parse(&text, &folder) {
            Ok(config) => config.warnings.iter().map(|it| format!("warning: {it}\n")).collect(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect::<String>(),
        }
    };
    let one = "backend = \"one\"\n";
    let guarded = "backend = \"one\"\nissuer = \"app\"\n";
    for (first, second, expected) in [
        (format!("{one}methods = [\"GET\"]"), format!("{guarded}methods = [\"POST\"]"), ""),
        (format!("{guarded}methods = [\"POST\"]"), one.to_owned(), ""),
        (
            one.to_owned(),
            one.to_owned(),
            "has the same path and host, so this route gets no requests",
        ),
        (
            format!("{one}methods = [\"GET\"]"),
            format!("{guarded}methods = [\"HEAD\", \"POST\"]"),
            "has the same path and host, and HEAD too",
        ),
        (format!("{one}methods = []"), guarded.to_owned(), "methods: the list is empty"),
        (format!("{one}methods = [\"get\"]"), guarded.to_owned(), "write \"GET\""),
        (format!("{one}methods = [\"TRACE\"]"), guarded.to_owned(), "always refused"),
        (
            format!("{one}fields = {{ X-A = \"1\" }}"),
            guarded.to_owned(),
            "clients choose header fields, so everybody could take the easier one",
        ),
        (
            format!("{one}fields = {{ X-A = \"1\" }}"),
            format!("{guarded}fields = {{ X-B = \"1\" }}"),
            "clients choose header fields",
        ),
        (
            format!("{one}fields = {{ X-A = \"1\" }}\nmethods = [\"GET\"]"),
            format!("{guarded}methods = [\"POST\"]"),
            "",
        ),
        ("backend = \"two\"\nfields = { X-A = \"1\" }".to_owned(), guarded.to_owned(), ""),
        (format!("{guarded}fields = {{ X-A = \"1\" }}"), guarded.to_owned(), ""),
        (
            format!("{one}fields = {{ X-A = \"1\" }}"),
            format!("{one}fields = {{ x-a = \"1\" }}"),
            "has the same path and host",
        ),
        (
            format!("{one}fields = {{ Host = \"a\" }}"),
            one.to_owned(),
            "cannot depend on this field",
        ),
        (format!("{one}fields = {{ X-A = \" a\" }}"), one.to_owned(), "no request has this value"),
        (format!("{one}fields = {{}}"), one.to_owned(), "this names no field"),
        (
            format!("{guarded}methods = [\"DELETE\"]"),
            format!("{one}methods = [\"GET\", \"POST\"]"),
            "warning: line 14: routes[1].path: servers that read `_method` in a form",
        ),
    ] {
        let found = check("", &first, &second);
        assert_eq!(found.is_empty(), expected.is_empty(), "{first}\n{second}\n{found}");
        assert!(found.contains(expected), "{first}\n{second}\n{found}");
    }
    let kept = "keep_fields = [\"X-Method-Override\"]\n";
    let found = check(kept, &format!("{one}methods = [\"GET\"]"), guarded);
    assert!(found.contains("`keep_fields` lets `x-method-override` pass"), "{found}");
}

#[test]
fn a_configuration_that_asks_for_nothing_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    for (issuer, expected) in [
        ("issuer = \"app\"\n", &[][..]),
        ("", &["no route needs a token", "no route names this issuer"]),
    ] {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n{ISSUER}[backends.one]\n\
             instances = [\"http://127.0.0.1:1\"]\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\n{issuer}"
        );
        let config = Config::parse(&text, &folder).expect("no mistakes");
        let found: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        let is_found = found.iter().zip(expected).all(|(it, part)| it.contains(part));
        assert!(is_found && found.len() == expected.len(), "{found:?}");
    }
}
