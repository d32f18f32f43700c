//! What routes change on the way: the path, header fields, and the share of a backend.

use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_gateway::Config;

use crate::backends::{Backend, answer_with, nobody};
use crate::gate::{Gate, body, status};
use crate::tokens::{ISSUER, token};

async fn send(gate: &Gate, target: &str, fields: &str) -> String {
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: gate\r\n{fields}Connection: close\r\n\r\n");
    gate.exchange(&request).await
}

#[tokio::test]
async fn a_backend_has_a_path_of_its_own() {
    let backend = Backend::answering(answer_with).await;
    let gate = Gate::start(&format!(
        "[backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n\
         [[routes]]\npath = \"/shop\"\nbackend = \"one\"\nbackend_path = \"/\"\n\
         [[routes]]\npath = \"/new\"\nbackend = \"one\"\nbackend_path = \"/v2/api\"\n",
        backend.address
    ))
    .await;
    let cases = [
        ("/shop", "/"),
        ("/shop?a=1", "/?a=1"),
        ("/shop/cart/1?x=/shop", "/cart/1?x=/shop"),
        ("/shop/c%61rt", "/c%61rt"),
        ("http://gate/shop/x", "/x"),
        ("/new/orders", "/v2/api/orders"),
        ("/new", "/v2/api"),
        ("/shops", "/shops"),
    ];
    for (target, expected) in cases {
        let answer = send(&gate, target, "").await;
        let line = body(&answer).lines().next().unwrap_or_default();
        assert_eq!(line, format!("GET {expected} HTTP/1.1"), "{target}: {answer}");
    }
    // Another way of reading a path must not avoid the change.
    for target in ["/shop;x/cart", "/%73hop/cart", "/shop/../new", "/shop//cart", "/shop%2fcart"] {
        assert_eq!(status(&send(&gate, target, "").await), "400", "{target}");
    }
    let rows = gate.rows(cases.len()).await;
    assert_eq!((rows[2]["path"].as_str(), rows[2]["route"].as_str()), ("/shop/cart/1", "/shop"));
}

#[tokio::test]
async fn redirects_of_the_backend_lead_to_the_route() {
    let backend = Backend::answering(|_| {
        "HTTP/1.1 302 Found\r\nLocation: /login?next=1\r\nContent-Length: 0\r\n\r\n".to_owned()
    })
    .await;
    let gate = Gate::start(&format!(
        "[backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/shop\"\nbackend = \"one\"\nbackend_path = \"/\"\n",
        backend.address
    ))
    .await;
    let answer = send(&gate, "/shop/cart", "").await;
    assert!(answer.contains("\r\nlocation: /shop/login?next=1\r\n"), "{answer}");
}

#[tokio::test]
async fn header_fields_are_set_and_removed() {
    let backend = Backend::answering(|request| {
        let answer = answer_with(request);
        answer.replacen("\r\n", "\r\nServer: old/1\r\nX-Frame-Options: ALLOW\r\n", 1)
    })
    .await;
    let gate = Gate::start(&format!(
        "{ISSUER}[backends.one]\ninstances = [\"http://{}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\nissuer = \"app\"\n\
         forward_claims = {{ X-User = \"sub\" }}\n\
         request_fields = {{ set = {{ X-Env = \"prod\" }}, remove = [\"X-Debug\"] }}\n\
         answer_fields = {{ set = {{ X-Frame-Options = \"DENY\" }}, remove = [\"Server\"] }}\n",
        backend.address
    ))
    .await;
    let user = format!("Authorization: Bearer {}\r\n", token(r#""sub":"ada""#));
    let fields = format!("{user}X-Env: test\r\nX-Env: dev\r\nX-Debug: 1\r\nX-Other: 1\r\n");
    let answer = send(&gate, "/", &fields).await;
    let seen = body(&answer).to_lowercase();
    assert_eq!(seen.matches("x-env:").count(), 1, "{seen}");
    for part in ["x-env: prod\r\n", "x-other: 1\r\n", "x-user: ada\r\n"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!seen.contains("x-debug"), "{seen}");
    let (head, _) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.contains("x-frame-options: DENY") && !head.contains("ALLOW"), "{head}");
    assert!(!head.to_lowercase().contains("server:"), "{head}");
    // Refusals of the gateway too.
    let refused = send(&gate, "/", "").await;
    assert!(refused.contains("x-frame-options: DENY"), "{refused}");
    assert!(refused.contains("www-authenticate"), "{refused}");
}

#[tokio::test]
async fn trailer_fields_do_not_get_past_the_changes() {
    let backend = Backend::start(|mut stream, _| async move {
        let mut request = String::new();
        while !request.ends_with("x-other: 1\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => request.push(char::from(byte)),
                Err(_) => return,
            }
        }
        let (_, trailers) = request.split_once("\r\n0\r\n").expect("trailers");
        let is_clean = trailers == "x-other: 1\r\n\r\n";
        let answer = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: server, x-sum, x-set\r\n\r\n\
             5\r\n{is_clean:<5}\r\n0\r\nServer: old\r\nX-Sum: 1\r\nX-Set: mine\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.expect("it reads");
    })
    .await;
    let gate = Gate::start(&format!(
        "[backends.one]\ninstances = [\"http://{}\"]\n[[routes]]\npath = \"/\"\nbackend = \"one\"\n\
         request_fields = {{ set = {{ X-Env = \"prod\" }}, remove = [\"X-Debug\"] }}\n\
         answer_fields = {{ set = {{ X-Set = \"1\" }}, remove = [\"Server\"] }}\n",
        backend.address
    ))
    .await;
    let answer = gate
        .exchange(
            "POST / HTTP/1.1\r\nHost: gate\r\nTE: trailers\r\nConnection: close\r\n\
             Trailer: x-debug, x-env, x-other\r\nTransfer-Encoding: chunked\r\n\r\n\
             1\r\na\r\n0\r\nX-Debug: 1\r\nX-Env: test\r\nX-Other: 1\r\n\r\n",
        )
        .await
        .to_lowercase();
    assert!(answer.contains("\r\n5\r\ntrue "), "{answer}");
    let (_, trailers) = answer.rsplit_once("\r\n0\r\n").expect("trailers");
    assert_eq!(trailers, "x-sum: 1\r\n\r\n", "{answer}");
}

#[tokio::test]
async fn a_canary_gets_its_share() {
    let backends = [
        Backend::answering(|_| answer_with("old")).await,
        Backend::answering(|_| answer_with("new")).await,
    ];
    let config = |new: &str| {
        format!(
            "{ISSUER}[backends.old]\ninstances = [\"http://{}\"]\n[backends.new]\n\
             instances = [\"http://{new}\"]\n[[routes]]\npath = \"/\"\n\
             backends = [{{ name = \"old\", weight = 3 }}, {{ name = \"new\", weight = 1 }}]\n\
             [[routes]]\npath = \"/user\"\nissuer = \"app\"\n\
             backends = [{{ name = \"old\", weight = 1 }}, {{ name = \"new\", weight = 1 }}]\n",
            backends[0].address
        )
    };
    let gate = Gate::start(&config(&backends[1].address.to_string())).await;
    let mut new = 0;
    for _ in 0..400 {
        new += usize::from(body(&send(&gate, "/", "").await) == "new");
    }
    // A hundred is expected; these are seven standard deviations.
    assert!((40..160).contains(&new), "{new} of 400");
    let rows = gate.rows(400).await;
    assert_eq!(rows.iter().filter(|row| row["backend"] == "new").count(), new);
    let mut seen = Vec::new();
    for user in 0..20 {
        let token = token(&format!(r#""sub":"user-{user}""#));
        let first = body(&gate.get_as(&token, "/user").await).to_owned();
        assert_eq!(body(&gate.get_as(&token, "/user").await), first, "{user}");
        seen.push(first);
    }
    assert!(["old", "new"].iter().all(|name| seen.iter().any(|it| it == name)), "{seen:?}");
    // If the new version has no server left, the old one answers.
    gate.reload(&config(&nobody().to_string()));
    let mut last = Vec::new();
    for _ in 0..60 {
        last.push(status(&send(&gate, "/", "").await).to_owned());
    }
    assert!(last[40..].iter().all(|status| status == "200"), "{last:?}");
}

#[test]
fn changes_are_checked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let check = |routes: &str| {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n{ISSUER}\
             [backends.one]\ninstances = [\"http://127.0.0.1:1\"]\npaths = \"strict\"\n\
             [backends.two]\ninstances = [\"http://127.0.0.1:2\"]\npaths = \"strict\"\n\
             [[routes]]\npath = \"/admin\"\nbackend = \"one\"\nissuer = \"app\"\n\
             [[routes]]\npath = \"/rest\"\nbackend = \"two\"\n{routes}\n"
        );
        match Config::parse(&text, &folder) {
            Ok(config) => config.warnings.iter().map(|it| format!("warning: {it}\n")).collect(),
            Err(problems) => problems.iter().map(|it| format!("{it}\n")).collect::<String>(),
        }
    };
    let route = "[[routes]]\npath = \"/a\"\nbackend = \"one\"\n";
    let weighted = "[[routes]]\npath = \"/a\"\nbackends = ";
    for (routes, expected) in [
        (format!("{route}backend_path = \"/b\""), ""),
        (format!("{route}backend_path = \"b\""), "backend_path: this is not a path"),
        (format!("{route}backend_path = \"/b/../c\""), "this is not a path"),
        (format!("{route}backend_path = \"/%62\""), "this is not a path"),
        (format!("{route}backend_path = \"/b?c\""), "this is not a path"),
        (
            format!("{route}backend_path = \"/\""),
            "routes[3] answers `/a/admin` without a token, which the backend gets as a path at or below `/admin`",
        ),
        (format!("{route}backend_path = \"/admin\""), "routes[3] answers `/a` without a token"),
        (
            format!("{route}backend_path = \"/admin/x\""),
            "routes[3] answers `/a` without a token, which the backend gets as a path at or below `/admin`",
        ),
        (format!("{route}backend_path = \"/\"\nissuer = \"app\""), ""),
        // The longer path decides, and leads to the same place.
        (
            format!(
                "{route}backend_path = \"/\"\nissuer = \"app\"\n[[routes]]\npath = \"/a/free\"\n\
                 backend = \"one\"\nbackend_path = \"/free\""
            ),
            "",
        ),
        (
            format!("{route}request_fields = {{ set = {{ Host = \"x\" }} }}"),
            "`Host` is not a header",
        ),
        (
            format!("{route}request_fields = {{ set = {{ X-A = \"a\\n\" }} }}"),
            "cannot have this value",
        ),
        (
            format!("{route}request_fields = {{ remove = [\"Content-Length\"] }}"),
            "`Content-Length`",
        ),
        (format!("{route}answer_fields = {{ set = {{ Connection = \"x\" }} }}"), "`Connection`"),
        (
            format!("{route}answer_fields = {{ remove = [\"WWW-Authenticate\"] }}"),
            "`WWW-Authenticate`",
        ),
        (format!("{route}answer_fields = {{ set = {{ RateLimit = \"x\" }} }}"), "`RateLimit`"),
        (format!("{route}answer_fields = {{ sets = {{}} }}"), "did you mean `set`?"),
        (
            format!(
                "{route}issuer = \"app\"\nforward_claims = {{ X-A = \"sub\" }}\n\
                 request_fields = {{ set = {{ X-A = \"a\" }} }}"
            ),
            "`x-a` is in `forward_claims` too",
        ),
        (format!("{weighted}[{{ name = \"one\", weight = 1 }}]"), ""),
        (format!("{weighted}[{{ name = \"one\" }}]"), "`weight` is missing"),
        (format!("{weighted}[{{ name = \"on\", weight = 1 }}]"), "did you mean `one`?"),
        (format!("{weighted}[{{ name = \"one\", weight = 0 }}]"), "needs a weight above 0"),
        (format!("{weighted}[{{ name = \"one\", weight = -1 }}]"), "`-1` is not valid here"),
        (format!("{weighted}[{{ name = \"one\", weight = 9000000 }}]"), "write at most 1000000"),
        (format!("{weighted}[]"), "needs a weight above 0"),
        (format!("{weighted}[\"one\"]"), "backends"),
        (
            format!(
                "{weighted}[{{ name = \"one\", weight = 1 }}, {{ name = \"one\", weight = 2 }}]"
            ),
            "`one` is there twice",
        ),
        (
            format!("{weighted}[{{ name = \"one\", weight = 1 }}]\nclaim = \"a\""),
            "`claim` has no effect beside weights",
        ),
    ] {
        let found = check(&routes);
        assert_eq!(found.is_empty(), expected.is_empty(), "{routes}\n{found}");
        assert!(found.contains(expected), "{routes}\n{found}");
    }
}
