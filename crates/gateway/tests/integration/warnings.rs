//! What a configuration allows to everybody is said.

use std::path::Path;

use weir_gateway::Config;

fn warnings(text: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gate");
    let config = Config::parse(text, &folder).expect("no mistakes");
    config.warnings.iter().map(ToString::to_string).collect()
}

const OPEN: &str = "listen = [\"127.0.0.1:0\"]\n[backends.one]\n\
                    instances = [\"http://127.0.0.1:1\"]\n[[routes]]\npath = \"/\"\nbackend = \"one\"\n";
const ISSUER: &str = "[issuers.app]\nissuer = \"i\"\naudience = \"a\"\nalgorithms = [\"HS256\"]\n\
                      secret_file = \"secret\"\n";

#[test]
fn a_configuration_that_allows_everything_says_so() {
    let found = warnings(OPEN);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("line 1: EVERYTHING IS ALLOWED"), "{found:?}");
    assert!(found[0].contains("as often as they like"), "{found:?}");
    let found = warnings(&format!("{OPEN}[[limits]]\nrule_file = \"limits.conf\"\n"));
    assert!(!found[0].contains("as often as they like"), "{found:?}");
    assert_eq!(warnings(&format!("{OPEN}issuer = \"app\"\n{ISSUER}")), [""; 0]);
}

#[test]
fn addresses_that_every_machine_reaches_without_tls_are_named() {
    let guarded = format!("{OPEN}issuer = \"app\"\n{ISSUER}");
    for (listen, is_warned) in [
        ("0.0.0.0:80", true),
        ("[::]:80", true),
        ("tcp://0.0.0.0:80", true),
        ("127.0.0.1:80", false),
        ("8080", false),
        ("10.0.0.1:80", false),
        ("unix:/run/a.sock", false),
    ] {
        let text = guarded.replacen("127.0.0.1:0", listen, 1);
        let found = warnings(&text);
        assert_eq!(!found.is_empty(), is_warned, "{listen}: {found:?}");
        let expected = "line 1: listen: every machine that reaches this one can connect";
        assert!(found.iter().all(|it| it.starts_with(expected)), "{found:?}");
        let behind_proxy = format!("trusted_networks = [\"10.0.0.0/8\"]\n{text}");
        assert_eq!(warnings(&behind_proxy), [""; 0], "{listen}");
    }
}
