//! Configurations with mistakes, all of which are reported.

use std::path::Path;

use weir_gateway::{Config, ReservedAddress};

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
requires = { scope = ["orders"] }
[[limits]]
mode = "enforced"
"#;
    let found = problems(text);
    for (line, part) in [
        (1, "`listen` is missing"),
        (1, "lisen: this key is not known; did you mean `listen`?"),
        (2, "issuers.app: `audience` is missing"),
        (2, "2 are set"),
        (3, "issuers.app.issuer: this is a number; write a text in quotes"),
        (4, "issuers.app.audiance: this key is not known; did you mean `audience`?"),
        (5, "issuers.app.algorithms: the list is empty"),
        (6, "issuers.app.secret_file: /nowhere/nothing cannot be read"),
        (9, "`127.0.0.1:9001` is not the address of a server"),
        (10, "backends.one.helth: this key is not known; did you mean `health`?"),
        (12, "routes[1].path: this is not a path"),
        (13, "there is no issuer `ap`; did you mean `app`?"),
        (15, "routes[1].backends.a: there is no backend `on`; did you mean `one`?"),
        (16, "routes[1].requires: this key is not known; did you mean `require`?"),
        (17, "`rule_file` is missing"),
        (18, "`enforced` is not a mode"),
    ] {
        let is_there =
            |it: &&String| it.starts_with(&format!("line {line}: ")) && it.contains(part);
        assert!(found.iter().any(|it| is_there(&it)), "line {line}: {part}\n{}", found.join("\n"));
    }
    assert_eq!(found.len(), 16, "{}", found.join("\n"));
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
fn times_of_keys_have_bounds() {
    let [url, file] = ["jwks_url = \"https://login.example/keys\"", "jwks_file = \"x\""];
    for (keys, expected) in [
        (format!("{url}\nkey_refresh = \"10s\"\nkey_pause = \"1s\"\nkey_lifetime = \"30d\""), ""),
        (format!("{url}\nkey_refresh = \"9s\""), "key_refresh: write whole seconds, from \"10s\""),
        (format!("{url}\nkey_refresh = \"25h\""), "to \"86400s\""),
        (format!("{url}\nkey_refresh = \"10500ms\""), "write whole seconds"),
        (format!("{url}\nkey_refresh = \"2h\"\nkey_lifetime = \"1h\""), "from \"7200s\""),
        (format!("{url}\nkey_pause = \"0s\""), "key_pause: write whole seconds, from \"1s\""),
        (format!("{url}\nkey_pause = \"301s\""), "to \"300s\""),
        (format!("{url}\nkey_refresh = \"2h\"\nkey_pause = \"90m\""), "to \"3600s\""),
        (format!("{url}\nkey_pause = 10"), "this is a number; write a duration in quotes"),
        (format!("{file}\nkey_pause = \"10s\""), "has no effect without `jwks_url`"),
    ] {
        let issuer = "[issuers.app]\nissuer = \"a\"\naudience = \"b\"\nalgorithms = [\"ES256\"]\n";
        let found = problems(&format!("{MINIMUM}backend = \"one\"\n{issuer}{keys}\n"));
        let found = found.into_iter().filter(|it| !it.contains("cannot be read"));
        let found = found.collect::<Vec<_>>().join("\n");
        assert_eq!(found.is_empty(), expected.is_empty(), "{keys}: {found}");
        assert!(found.contains(expected), "{keys}: {found}");
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
        ("record = [\"body\"]", "`body` cannot be recorded"),
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

/// The folder of the test data.
fn data() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate")
}

/// The mistakes of a text whose paths start at the test data, or its warnings if there are no
/// mistakes. That all routes are open is left out.
fn found(text: &str) -> String {
    let mut said: Vec<String> = match Config::parse(text, &data()) {
        Ok(config) => config.warnings.iter().map(|it| format!("warning: {it}")).collect(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    said.retain(|it| !it.contains("no route needs a token"));
    said.join("\n")
}

#[test]
fn mistakes_that_a_start_would_meet_are_found_before() {
    let certificates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../net/tests/data");
    let path = |name: &str| certificates.join(name).display().to_string();
    let (certificate, key, other) = (path("cert.pem"), path("key.pem"), path("renewed-key.pem"));
    let rest = MINIMUM.split_once('\n').map_or("", |(_, rest)| rest);
    let tls = |certificate: &str, key: &str| {
        format!(
            "tls = {{ certificate = \"{certificate}\", key = \"{key}\" }}\n{MINIMUM}backend = \"one\"\n"
        )
    };
    let listen = |list: &str| format!("listen = {list}\n{rest}backend = \"one\"\n");
    let backend = |instances: &str, more: &str| {
        format!(
            "listen = [\"127.0.0.1:0\"]\n[backends.one]\ninstances = {instances}\n{more}\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
        )
    };
    let route = |path: &str| {
        format!("{MINIMUM}backend = \"one\"\n[[routes]]\npath = \"{path}\"\nbackend = \"one\"\n")
    };
    let one = "[\"http://127.0.0.1:1\"]";
    let issuer =
        |more: &str| format!("{MINIMUM}backend = \"one\"\n[issuers.app]\nissuer = \"x\"\n{more}\n");
    for (text, line, part) in [
        (tls(&certificate, &key), 0, ""),
        (tls("nothing.pem", &key), 1, "tls.certificate: "),
        (tls(&certificate, "nothing.pem"), 1, "tls.key: "),
        (tls(&certificate, &certificate), 1, "tls.key: "),
        (tls(&certificate, &other), 1, "it is not the key of the certificate in"),
        (
            format!("access_log = {{ file = \"none/a.log\" }}\n{MINIMUM}backend = \"one\"\n"),
            1,
            "access_log.file: there is no folder",
        ),
        (format!("access_log = {{ file = \"a.log\" }}\n{MINIMUM}backend = \"one\"\n"), 0, ""),
        (listen("[\"127.0.0.1:0\", \"127.0.0.1:0\"]"), 0, ""),
        (listen("[\"systemd:\", \"systemd:\"]"), 0, ""),
        (
            listen("[\"127.0.0.1:8080\",\n\"tcp://127.0.0.1:8080\"]"),
            2,
            "listen: this address is already in the list",
        ),
        (listen("[\"unix:/run/a\",\n\"unix:/run/a\"]"), 2, "already in the list"),
        (backend("[\"http://a:1\",\n\"http://A:1\"]", ""), 4, "this server is already in the list"),
        (backend("[\"http://a\",\n\"http://a:80\"]", ""), 4, "this server is already in the list"),
        (backend("[\"http://a:1\", \"http://a:2\"]", ""), 0, ""),
        (backend(one, "health = \"/x y\""), 4, "backends.one.health: this is not a path"),
        (backend(one, "health = \"/x?y=1\""), 0, ""),
        (backend(one, "health_interval = \"0s\""), 4, "this is too short; write \"10ms\" or more"),
        (
            backend(one, "health_interval = \"5 parsecs\""),
            4,
            "`parsecs` is not a unit of a duration; write ns, us, ms, s, min, h, d or w",
        ),
        (backend(one, "health_interval = \"60\""), 4, "`60` lacks a unit; write 60s or 60min"),
        (backend(one, "health_interval = 60"), 4, "this is a number; write a duration"),
        (backend(one, "health_interval = \"37000d\""), 4, "`37000d` is more than a hundred years"),
        (backend(one, "health_interval = \"1.5min\""), 0, ""),
        (
            backend(one, "connections = 0"),
            4,
            "`0` is not valid here; write a whole number of 1 or more",
        ),
        (backend(one, "connections = \"many\""), 4, "this is a text; write a whole number"),
        (backend(one, "ca_file = \"nothing.pem\""), 4, "backends.one.ca_file: "),
        (route("/a//b"), 8, "no request matches this: those with dot segments"),
        (route("/c/../b"), 8, "no request matches this"),
        (route("/d%2fb"), 8, "no request matches this"),
        (route("/a%20b"), 8, "write \"/a b\""),
        (route("/caf\u{e9}/a b"), 0, ""),
        (route("/"), 8, "routes[1] has the same path and host"),
        (
            issuer("algorithms = [\"HS257\"]\nsecret_file = \"secret\"\naudience = \"api\""),
            9,
            "did you mean `HS256`?",
        ),
        (issuer("algorithms = [\"RS256\"]\nsecret_file = \"secret\""), 7, "RS256 needs an RSA key"),
        (
            issuer(
                "algorithms = [\"RS256\"]\njwks_url = \"https://a.example/\"\naudience = \"api\"\nca_file = \"none\"",
            ),
            12,
            "issuers.app.ca_file: ",
        ),
        (
            format!("{MINIMUM}backend = \"one\"\n[backends.two]\ninstances = {one}\n"),
            7,
            "no route uses this backend",
        ),
    ] {
        let found = found(&text);
        assert_eq!(found.is_empty(), part.is_empty(), "{text}: {found}");
        let is_there = |it: &str| {
            it.trim_start_matches("warning: ").starts_with(&format!("line {line}: "))
                && it.contains(part)
        };
        assert!(part.is_empty() || found.lines().any(is_there), "{text}: {found}");
    }
}

#[test]
fn a_mistake_is_not_said_to_be_another_one() {
    let misspelt = "isuer = \"app\"\nclaim = \"tenant\"\nbackends = { a = \"one\" }\n";
    let found = problems(&format!("{MINIMUM}{misspelt}")).join("\n");
    assert!(found.contains("isuer: this key is not known; did you mean `issuer`?"), "{found}");
    assert!(!found.contains("needs `issuer`"), "{found}");
    let syntax = problems("listen = [\"127.0.0.1:0\"\n[backends.one]\n");
    assert!(syntax.iter().all(|it| it.contains("this is not valid TOML")), "{syntax:?}");
}

#[test]
fn backends_that_a_look_up_may_name_are_not_said_to_be_unused() {
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\n{}[backends.one]\ninstances = [\"http://127.0.0.1:1\"]\n[[routes]]\n\
         path = \"/\"\nissuer = \"app\"\nclaim = \"tenant\"\n\
         lookup = {{ url = \"http://127.0.0.1:1/{{claim}}\" }}\n",
        crate::tokens::ISSUER
    );
    assert_eq!(found(&text), "");
}

#[test]
fn the_files_of_a_configuration_are_known_in_spite_of_its_mistakes() {
    let path = std::env::temp_dir().join(format!("weir-sources-{}.toml", std::process::id()));
    let text = "access_log = { file = \"a.log\" }\n[issuers.app]\nsecret_file = \"a\"\n\
                [issuers.b]\njwks_file = \"b\"\n[[limits]]\nrule_file = \"c\"\n[[routes]]\n\
                session = { credential_file = \"d\" }\n[backends.one]\nca_file = \"e\"\n\
                [traces]\nca_file = \"f\"\n";
    std::fs::write(&path, text).expect("written");
    let reading = Config::read_with_sources(&path, &[]);
    std::fs::remove_file(&path).expect("removed");
    assert!(reading.config.is_err());
    let mut names: Vec<_> =
        reading.sources.iter().filter_map(|it| it.file_name()?.to_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn the_gateway_cannot_listen_where_the_page_does() {
    let reserved = [("127.0.0.1:7878", "the page (--listen)"), ("[::1]:7900", "--admin")];
    let reserved = reserved.map(|(address, purpose)| {
        let address = address.parse().expect("an address");
        ReservedAddress { address, purpose }
    });
    let path = std::env::temp_dir().join(format!("weir-reserved-{}.toml", std::process::id()));
    let check = |listen: &str| {
        let text = format!(
            "\nlisten = [{listen}]\n[backends.one]\ninstances = [\"http://127.0.0.1:1\"]\n[[routes]]\n\
             path = \"/\"\nbackend = \"one\"\n"
        );
        std::fs::write(&path, text).expect("written");
        let read = Config::read_with_sources(&path, &reserved).config;
        std::fs::remove_file(&path).expect("removed");
        read.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (listen, expected) in [
        (
            r#""tls://0.0.0.0:7878""#,
            "line 2: listen: tls://0.0.0.0:7878 cannot be listened at beside tcp://127.0.0.1:7878, the address \
             of the page (--listen); change the port of one of the two",
        ),
        (r#""127.0.0.1:7878""#, "beside tcp://127.0.0.1:7878, the address of the page (--listen)"),
        (r#""[::]:7900""#, "beside tcp://[::1]:7900, the address of --admin"),
        (r#""0.0.0.0:80", "127.0.0.1:80""#, "beside tcp://0.0.0.0:80 of this list"),
    ] {
        // The certificate of tls:// is missing too.
        let found = check(listen);
        assert!(found.contains(expected), "{listen}: {found}");
    }
    assert_eq!(check(r#""127.0.0.2:7878", "0.0.0.0:7900""#), "");
}

/// A configuration with an issuer, the backend `one` with `paths`, and these routes.
fn routes(paths: &str, routes: &[&str]) -> String {
    let secret = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gate/secret");
    let head = format!(
        "listen = [\"127.0.0.1:0\"]\n[issuers.app]\nissuer = \"i\"\naudience = \"a\"\n\
         algorithms = [\"HS256\"]\nsecret_file = \"{secret}\"\n\
         [backends.one]\ninstances = [\"http://127.0.0.1:1\"]\n{paths}\n"
    );
    let routes = routes.iter().map(|route| format!("[[routes]]\nbackend = \"one\"\n{route}\n"));
    head + &routes.collect::<String>()
}

const STRICT: &str = "paths = \"strict\"";

#[test]
fn paths_and_hosts_of_other_gateways_are_mistakes() {
    for (route, expected) in [
        ("path = \"/admin/*\"", "write \"/admin\", which covers"),
        ("path = \"/v1/{id}/x\"", "write \"/v1\""),
        ("path = \"/v1/:id\"", "write \"/v1\""),
        ("path = \"/{tenant}\"", "write \"/\""),
        ("path = \"/v1/<id>\"", "write \"/v1\""),
        ("path = \"/[id]\"", "write \"/\""),
        ("path = \"^/admin\"", "there are no patterns"),
        ("path = \"/admin$\"", "there are no patterns"),
        ("path = \"/admin;x\"", "`;` begins a parameter"),
        ("path = \"/:\"", ""),
        ("path = \"/v1:batch\"", ""),
        ("path = \"/@user/~x/$y\"", ""),
        ("path = \"/\"\nhost = \"*.example\"", "there are no patterns in hosts"),
        ("path = \"/\"\nhost = \"shop.test:21241\"", "write \"shop.test\""),
        ("path = \"/\"\nhost = \"https://shop.test/x\"", "write \"shop.test\""),
        ("path = \"/\"\nhost = \"shop.test.\"", "write \"shop.test\""),
        ("path = \"/\"\nhost = \"käse.example\"", "with xn--"),
        ("path = \"/\"\nhost = \"\"", "not the name of a host"),
        ("path = \"/\"\nhost = \"a..b\"", "not the name of a host"),
        ("path = \"/\"\nhost = \"Shop.test\"", ""),
        ("path = \"/\"\nhost = \"[::1]\"", ""),
        ("path = \"/\"\nhost = \"my_host\"", ""),
        ("path = \"/\"\npaths = \"strict\"", "this key is not known"),
    ] {
        let found = problems(&routes(STRICT, &[route])).join("\n");
        match expected {
            "" => assert_eq!(found, "", "{route}"),
            part => assert!(found.contains(part), "{route}: {found}"),
        }
    }
    let found = problems(&routes("paths = \"lax\"", &["path = \"/\""]));
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = "`lax` is not one of \"strict\", \"ignore-case\", \"windows\"";
    assert!(found[0].contains(expected), "{found:?}");
}

#[test]
fn an_open_route_that_a_spelling_of_a_guarded_path_reaches_is_a_mistake() {
    let (open, guarded) = ("path = \"/\"", "issuer = \"app\"\n");
    for (second, expected) in [
        ("path = \"/api\"", ""),
        ("path = \"/api/\"", "routes[1] answers `/api` without a token; write \"/api\""),
        ("path = \"/\"", "routes[1] has the same path and host"),
        ("path = \"/\"\nhost = \"a.example\"", ""),
    ] {
        let found = problems(&routes(STRICT, &[open, &format!("{guarded}{second}")])).join("\n");
        match expected {
            "" => assert_eq!(found, "", "{second}"),
            part => assert!(found.contains(part), "{second}: {found}"),
        }
    }
    for (paths, first, second, is_mistake) in [
        ("strict", "/admin", "/Admin", false),
        ("ignore-case", "/admin", "/Admin", true),
        ("ignore-case", "/admin", "/admin.", false),
        ("windows", "/admin", "/ADMIN.", true),
    ] {
        let first = format!("path = \"{first}\"");
        let second = format!("{guarded}path = \"{second}\"");
        let found = problems(&routes(&format!("paths = \"{paths}\""), &[&first, &second]));
        let found = found.join("\n");
        let is_found = found.contains("read this path and that of routes[1] as one");
        assert_eq!(is_found, is_mistake, "{paths}: {found}");
    }
}

#[test]
fn what_a_check_cannot_know_is_a_warning() {
    let warnings = |text: &str| -> Vec<String> {
        let config = Config::parse(text, Path::new("/nowhere")).expect("no mistakes");
        config.warnings.iter().map(ToString::to_string).collect()
    };
    let open = "path = \"/\"";
    let admin = "path = \"/admin\"\nissuer = \"app\"";
    let found = warnings(&routes("", &[open, admin]));
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = "routes[1] answers other spellings, such as `/ADMIN`";
    assert!(found[0].contains(expected), "{found:?}");
    for paths in ["strict", "ignore-case", "windows"] {
        let text = routes(&format!("paths = \"{paths}\""), &[open, admin]);
        assert_eq!(warnings(&text), [""; 0]);
    }
    assert_eq!(warnings(&routes("", &[admin])), [""; 0]);
    let of_host = format!("{admin}\nhost = \"a.example\"");
    let found = warnings(&routes(STRICT, &[open, &of_host]));
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = "with another host in the request, routes[1] answers this path";
    assert!(found[0].contains(expected), "{found:?}");
    let open = format!("{open}\nhost = \"b.example\"");
    assert_eq!(warnings(&routes(STRICT, &[&open, &of_host])), [""; 0]);
}

#[test]
fn fields_that_are_needed_are_not_removed() {
    let config = |fields: &str| format!("remove_fields = [{fields}]\n{MINIMUM}backend = \"one\"\n");
    assert_eq!(problems(&config("\"X-Tenant\", \"x-plan\"")), [""; 0]);
    for name in ["Host", "content-length", "Transfer-Encoding", "connection", "a b", ""] {
        let found = problems(&config(&format!("\"{name}\""))).join("\n");
        let expected = "is not a header field that can be removed";
        assert!(found.contains(expected), "{name}: {found}");
    }
}

#[test]
fn a_claim_without_a_name_is_a_mistake() {
    for (claim, is_valid) in [
        ("tenant", true),
        ("realm_access.tenant", true),
        ("https://shop.example/tenant", true),
        ("", false),
        ("a..b", false),
        (".a", false),
        ("a.", false),
    ] {
        let route = format!(
            "path = \"/\"\nissuer = \"app\"\nclaim = \"{claim}\"\nbackends = {{ a = \"one\" }}"
        );
        let text = routes(STRICT, &[&route]).replace("]]\nbackend = \"one\"\n", "]]\n");
        let found = problems(&text).join("\n");
        assert_eq!(found.contains("no token has this claim"), !is_valid, "{claim}: {found}");
        assert_eq!(found.is_empty(), is_valid, "{claim}: {found}");
    }
}

#[test]
fn mistakes_of_guarded_routes_are_found() {
    let app = "path = \"/\"\nissuer = \"app\"\n";
    let open = "path = \"/\"\n";
    for (head, keys, expected) in [
        (app, "cors = { origins = [\"https://app.example\", \"capacitor://localhost\"] }", ""),
        (app, "cors = { origins = \"*\" }", ""),
        (app, "cors = { origins = \"*\", credentials = true }", "ignore \"*\" with credentials"),
        (app, "cors = { origins = [\"null\"] }", "every page can have the origin `null`"),
        (app, "cors = { origins = [\"https://*.example\"] }", "no patterns in origins"),
        (
            app,
            "cors = { origins = [\"https://App.example/\"] }",
            "write this origin \"https://app.example\"",
        ),
        (app, "cors = { origins = [\"https://a:443\"] }", "write this origin \"https://a\""),
        (app, "cors = { origins = [\"app.example\"] }", "this is not an origin"),
        (app, "cors = { origins = [] }", "the list is empty"),
        (app, "cors = {}", "`origins` is missing"),
        (
            app,
            "cors = { origins = \"*\", methods = [\"G T\"] }",
            "`G T` is not the name of a method",
        ),
        (
            app,
            "cors = { origins = \"*\", fields = [\"a:b\"] }",
            "is not the name of a header field",
        ),
        (app, "cors = { origins = \"*\", orgins = [] }", "did you mean `origins`?"),
        (app, "token = { cookie = \"a b\" }", "not the name of a cookie"),
        (app, "token = { cookies = \"a\" }", "did you mean `cookie`?"),
        (app, "token = { websocket_protocol = true, cookie = \"a\", query = true }", ""),
        (open, "token = { query = true }", "`token` needs `issuer`"),
        (open, "require = { scope = \"a\" }", "`require` needs `issuer`"),
        (open, "forward_claims = { X-User = \"sub\" }", "`forward_claims` needs `issuer`"),
        (app, "require = { scope = [] }", "the list is empty"),
        (app, "require = { scope = 7 }", "this is a number; write a text in quotes"),
        (app, "require = { \"a..b\" = \"c\" }", "no token has this claim"),
        (app, "forward_claims = { \"a b\" = \"sub\" }", "is not a header field that can be set"),
        (app, "forward_claims = { Host = \"sub\" }", "is not a header field that can be set"),
        (app, "forward_claims = { X-User = \"\" }", "no token has this claim"),
        (app, "forward_claims = { X-User = \"sub\" }\nforward_token = false", ""),
    ] {
        let found = problems(&routes(STRICT, &[&format!("{head}{keys}")])).join("\n");
        match expected {
            "" => assert_eq!(found, "", "{keys}"),
            part => assert!(found.contains(part), "{keys}: {found}"),
        }
    }
}
