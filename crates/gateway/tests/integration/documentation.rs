//! `docs/gateway.md` has every key of the configuration, with its default.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_gateway::{Choice, Config, LimitMode, RouteTarget};

/// Texts of the configuration's code that are neither keys nor their values.
const OTHER_WORDS: [&str; 4] = ["absent", "ratelimit", "rules", "value"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> String {
    std::fs::read_to_string(root().join("docs/gateway.md")).expect("the document")
}

/// The words of the document within code, in blocks and in lines.
fn words_of_code(document: &str) -> BTreeSet<&str> {
    let mut words = BTreeSet::new();
    for (index, part) in document.split("```").enumerate() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let spans: Vec<&str> = match index % 2 {
            1 => vec![part],
            _ => part.split('`').skip(1).step_by(2).collect(),
        };
        words.extend(spans.into_iter().flat_map(|span| span.split(|c| !is_word(c))));
    }
    words
}

/// The texts of the code that reads the configuration which have the form of a key.
fn words_of_source() -> BTreeSet<String> {
    let folder = root().join("crates/gateway/src/config");
    let mut words = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the code") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("a file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        for line in code.lines().filter(|line| !is_comment(line)) {
            let is_key = |it: &str| {
                let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
                it.len() > 1 && it.bytes().all(|byte| is_letter(byte) || byte == b'_')
            };
            let texts = line.split('"').skip(1).step_by(2);
            words.extend(texts.filter(|it| is_key(it)).map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_key_is_documented() {
    let document = document();
    let documented = words_of_code(&document);
    let known = words_of_source();
    assert!(known.contains("rule_file") && known.contains("websocket_protocol"), "{known:?}");
    let is_missing =
        |it: &&String| !documented.contains(it.as_str()) && !OTHER_WORDS.contains(&it.as_str());
    let missing: Vec<&String> = known.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/gateway.md does not have {missing:?}");
}

const MINIMUM: &str = r#"
listen = ["127.0.0.1:0"]
[issuers.app]
issuer = "https://login.example"
audience = "api"
algorithms = ["HS256"]
secret_file = "secret"
[backends.one]
instances = ["http://127.0.0.1:1"]
[[routes]]
path = "/"
issuer = "app"
claim = "tenant"
lookup = { url = "http://127.0.0.1:2/{claim}" }
session = { login = "/session", credential_file = "credential" }
[[limits]]
rule_file = "limits.conf"
[traces]
endpoint = "http://127.0.0.1:3/v1/traces"
[access_log]
file = "access.log"
"#;

#[test]
fn every_default_is_documented() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let config = Config::parse(MINIMUM, &folder).expect("a configuration");
    let document = document();
    let (issuer, backend, route) = (&config.issuers[0], &config.backends[0], &config.routes[0]);
    let RouteTarget::Claim { choice: Choice::Lookup { cache, .. }, .. } = &route.target else {
        panic!("{route:?}");
    };
    let session = route.session.as_ref().expect("a session");
    let traces = config.traces.as_ref().expect("traces");
    let seconds = Duration::from_secs;
    for (key, default, is_so) in [
        ("realm", "`\"weir\"`", config.realm == "weir"),
        ("leeway", "`\"60s\"`", format!("{issuer:?}").contains("leeway: 60s")),
        ("key_refresh", "`\"300s\"`", format!("{issuer:?}").contains("refresh_after_s: 300,")),
        ("key_pause", "`\"10s\"`", format!("{issuer:?}").contains("pause_s: 10 ")),
        ("key_lifetime", "`\"1d\"`", format!("{issuer:?}").contains("stale_for_s: 86400,")),
        ("health_interval", "`\"5s\"`", backend.health_interval == seconds(5)),
        ("connections", "`1024`", backend.connections_max == 1_024),
        ("connect", "`\"5s\"`", backend.timeouts.connect == seconds(5)),
        ("first_byte", "`\"60s\"`", backend.timeouts.first_byte == seconds(60)),
        ("idle", "`\"60s\"`", backend.timeouts.idle == seconds(60)),
        ("whole", "no limit", backend.timeouts.whole.is_none()),
        ("http2", "`false`", !backend.is_http2),
        ("forward_token", "if it was in `Authorization`", route.forwarded_claims.token.is_none()),
        ("cache", "`\"60s\"`", *cache == seconds(60)),
        ("lifetime", "`\"300s\"`", session.lifetime == seconds(300)),
        ("mode", "`\"shadow\"`", config.limits[0].mode == LimitMode::Shadow),
        ("share", "`0.01`", traces.share == 0.01),
        ("service_name", "`\"weir-gateway\"`", traces.service_name == "weir-gateway"),
        ("format", "`\"combined\"`", format!("{:?}", config.access_log).contains("Combined")),
    ] {
        assert!(is_so, "{key} is not {default}");
        let row = format!("| `{key}` | {default} |");
        assert!(document.lines().any(|line| line.starts_with(&row)), "no row {row}");
    }
}

#[test]
fn the_test_of_every_public_report_exists() {
    let document = std::fs::read_to_string(root().join("docs/proxied-cases.md"));
    let document = document.expect("the document");
    let rows = document.lines().filter(|line| line.starts_with("| [") && line.contains("github"));
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() >= 65, "{}", rows.len());
    for row in rows {
        let mut parts = row.rsplit('`').skip(1).step_by(2);
        let (Some(name), Some(file)) = (parts.next(), parts.next()) else { panic!("{row}") };
        let text = std::fs::read_to_string(root().join("crates").join(file));
        let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
        let is_test =
            text.contains(&format!("fn {name}(")) || text.contains(&format!("case: {name}\n"));
        assert!(is_test, "{file} has no test {name}");
    }
}
