//! Configurations with mistakes, all of which are named.

use std::path::Path;

use weir_gateway::Config;

fn problems(text: &str) -> Vec<String> {
    match Config::parse(text, Path::new("/nowhere")) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

const MINIMUM: &str = "listen = [\"127.0.0.1:0\"]\n[backends.one]\n\
                       instances = [\"http://127.0.0.1:1\"]\n[[routes]]\npath = \"/\"\n";

#[test]
fn every_mistake_is_named_with_its_line() {
    let text = r#"lisen = ["127.0.0.1:8080"]
[issuers.app]
issuer = 7
audiance = "api"
algorithms = []
secret_file = "nothing"
jwks_file = "x"
[backends.one]
instances = ["127.0.0.1:9001"]
helth = "/x"
[[routes]]
path = "api"
issuer = "ap"
claim = "tenant"
backends = { a = "on" }
[[limits]]
mode = "enforced"
"#;
    let found = problems(text);
    for (line, part) in [
        (1, "`listen` is missing"),
        (1, "lisen: this key is not known; did you mean `listen`?"),
        (2, "issuers.app: `audience` is missing"),
        (2, "2 are given"),
        (3, "issuers.app.issuer: this is a number; write a text in quotes"),
        (4, "issuers.app.audiance: this key is not known; did you mean `audience`?"),
        (5, "issuers.app.algorithms: the list is empty"),
        (6, "issuers.app.secret_file: /nowhere/nothing cannot be read"),
        (9, "`127.0.0.1:9001` is not the address of a server"),
        (10, "backends.one.helth: this key is not known; did you mean `health`?"),
        (12, "routes[1].path: this is not a path"),
        (13, "there is no issuer `ap`; did you mean `app`?"),
        (15, "routes[1].backends.a: there is no backend `on`; did you mean `one`?"),
        (16, "`rule_file` is missing"),
        (17, "`enforced` is not a mode"),
    ] {
        let is_there =
            |it: &&String| it.starts_with(&format!("line {line}: ")) && it.contains(part);
        assert!(found.iter().any(|it| is_there(&it)), "line {line}: {part}\n{}", found.join("\n"));
    }
    assert_eq!(found.len(), 15, "{}", found.join("\n"));
}

#[test]
fn routes_need_one_target() {
    for (route, expected) in [
        ("backend = \"one\"", ""),
        ("backend = \"one\"\nbackends = { a = \"one\" }", "exactly one"),
        ("", "exactly one"),
        ("backends = { a = \"one\" }", "`claim` is missing"),
        ("backends = { a = \"one\" }\nclaim = \"tenant\"", "`claim` needs `issuer`"),
        ("backend = \"one\"\nclaim = \"tenant\"", "has no effect"),
        ("lookup = { url = \"x\" }\nclaim = \"tenant\"", "write a URL with {claim}"),
        ("backend = \"one\"\nsession = { login = \"/in\" }", "`session` needs `issuer`"),
    ] {
        let found = problems(&format!("{MINIMUM}{route}\n")).join("\n");
        match expected {
            "" => assert_eq!(found, "", "{route}"),
            part => assert!(found.contains(part), "{route}: {found}"),
        }
    }
}

#[test]
fn trusted_networks_are_networks() {
    for (text, expected) in [
        ("\"10.0.0.0/8\"", ""),
        ("[\"10.0.0.0/8\", \"2001:db8::/32\", \"192.0.2.1\", \"unix:\"]", ""),
        ("[\"10.0.0.0/33\"]", "`10.0.0.0/33` is not a network; write ADDRESS/PREFIX"),
        ("[\"10.0.0\"]", "`10.0.0` is not a network"),
        ("[\"proxy.example\"]", "`proxy.example` is not a network"),
        ("[7]", "this is a number"),
    ] {
        let route = "backend = \"one\"\n";
        let found = problems(&format!("trusted_networks = {text}\n{MINIMUM}{route}")).join("\n");
        assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found}");
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn proxied_addresses_need_trusted_networks() {
    let rest = MINIMUM.split_once('\n').map_or("", |(_, rest)| rest);
    for (listen, trusted, is_good) in [
        ("proxy+tcp://127.0.0.1:0", "", false),
        ("proxy+tcp://127.0.0.1:0", "trusted_networks = [\"10.0.0.0/8\"]\n", true),
        ("proxy+unix:/run/gate.sock", "", true),
        ("proxy+systemd:http", "", true),
    ] {
        let text = format!("listen = [\"{listen}\"]\n{trusted}{rest}backend = \"one\"\n");
        let found = problems(&text).join("\n");
        assert_eq!(found.is_empty(), is_good, "{listen}: {found}");
        assert!(is_good || found.contains("`proxy+` needs trusted_networks"), "{found}");
    }
}

#[test]
fn names_of_requests_are_recorded_by_choice() {
    for (keys, expected) in [
        ("request_id = true\nrecord = [\"request_id\"]", ""),
        ("trace_context = \"restart\"\nrecord = \"trace_id\"", ""),
        ("record = [\"request_id\"]", "this needs request_id = true"),
        ("record = [\"trace_id\"]", "this needs trace_context"),
        ("record = [\"body\"]", "`body` is not recorded by choice"),
        ("trace_context = \"begin\"", "`begin` is not known here"),
        ("request_id = \"yes\"", "write true or false"),
    ] {
        let found = problems(&format!("{keys}\n{MINIMUM}backend = \"one\"\n")).join("\n");
        assert_eq!(found.is_empty(), expected.is_empty(), "{keys}: {found}");
        assert!(found.contains(expected), "{keys}: {found}");
    }
}

#[test]
fn realms_are_plain() {
    for (realm, is_good) in [
        ("\"the shop, 2nd floor\"", true),
        ("'a\"b'", false),
        ("\"a\\\\b\"", false),
        ("\"\u{e9}\"", false),
    ] {
        let found = problems(&format!("realm = {realm}\n{MINIMUM}backend = \"one\"\n"));
        assert_eq!(found.is_empty(), is_good, "{realm}: {found:?}");
    }
}

#[test]
fn broken_toml_is_named_with_its_line() {
    let found = problems("listen = [\"127.0.0.1:0\"]\n[backends\n").join("\n");
    assert!(found.contains("line 2: this is not valid TOML"), "{found}");
}
