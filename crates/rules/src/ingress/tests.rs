use weir_core::PatternBudget;

use super::parse;
use crate::error::RuleError;
use crate::rule::Rule;

const PREFIX: &str = "nginx.ingress.kubernetes.io/";

fn read(text: &str) -> Result<Vec<Box<dyn Rule>>, RuleError> {
    Ok(parse(text, "given", 32, &PatternBudget::default())?)
}

/// The descriptions of the rules of a text.
fn descriptions(text: &str) -> Vec<String> {
    read(text).expect(text).iter().map(|rule| rule.description()).collect()
}

#[test]
fn annotations_are_limits_in_every_notation() {
    for (text, expected) in [
        ("P/limit-rps: \"10\"", "zone ingress-rps rate=10r/s burst=50 nodelay"),
        ("  P/limit-rpm: 300 # per minute", "zone ingress-rpm rate=300r/m burst=1500 nodelay"),
        (
            "P/limit-rps: '1'\nP/limit-burst-multiplier: \"3\"",
            "zone ingress-rps rate=1r/s burst=3 nodelay",
        ),
        (
            "limit-rps: '2'\nlimit-rpm: '60'",
            "zone ingress-rps rate=2r/s burst=10 nodelay; zone ingress-rpm rate=60r/m burst=300 nodelay",
        ),
        (
            "{\"P/limit-rps\": \"10\", \"P/limit-rpm\": \"0\"}",
            "zone ingress-rps rate=10r/s burst=50 nodelay",
        ),
        (
            "\"P/limit-rps\" = \"10\"\n# \"P/limit-rpm\" = \"5\"",
            "zone ingress-rps rate=10r/s burst=50 nodelay",
        ),
        (
            "kubectl annotate ingress a P/limit-rps=10 P/limit-burst-multiplier=2",
            "zone ingress-rps rate=10r/s burst=20 nodelay",
        ),
    ] {
        let text = text.replace("P/", PREFIX);
        assert_eq!(descriptions(&text), [expected], "{text}");
    }
    let text = format!("{PREFIX}limit-connections: 4\n{PREFIX}limit-rps: 4");
    let rules = read(&text).expect("two rules");
    assert_eq!(rules[1].description(), "limit_conn ingress-conn 4");
    assert_eq!(&text[rules[1].notes()[0].range.clone()], "4");
}

#[test]
fn each_manifest_has_its_own_limits() {
    let manifest = |name: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {name}\n  \
             annotations:\n    {PREFIX}limit-rps: \"7\"\n    {PREFIX}denylist-source-range: 192.0.2.0/24\n\
             spec:\n  rules:\n  - host: shop.example\n    http:\n      paths:\n      - path: /{name}\n\
             \u{20}       pathType: Prefix\n"
        )
    };
    let text = format!("{}---\n{}---\nkind: Service\n", manifest("one"), manifest("two"));
    let rules = read(&text).expect("two rules");
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["one-rps", "two-rps"]);
    let places: Vec<&str> = rules[1].notes().iter().map(|note| &text[note.range.clone()]).collect();
    assert_eq!(places, ["shop.example", "192.0.2.0/24"]);
    assert!(rules[1].notes()[0].range.start > text.len() / 2);
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("P/limit-rps: \"{{ .Values.rps }}\"", "{{ .Values.rps }}", "this is a template"),
        ("P/limit-rps: {{ .Values.rps }}", "{{ .Values.rps }}", "this is a template"),
        ("P/limit-rps: ${RPS}", "${RPS", "this is a template"),
        ("P/limit-rps: ten", "ten", "`ten` is not a number from 0"),
        ("P/limit-rps: -1", "-1", "`-1` is not a number from 0"),
        ("P/limit-rps: 4294967296", "4294967296", "is not a number from 0"),
        ("P/limit-rps: 5\nP/limit-burst-multiplier: 0", "0", "a burst of 0"),
        ("P/limit-rps: 5\nP/limit-whitelist: 'ff::/8, x'", "ff::/8", "`x` is not a network"),
        ("P/limit-rps: 0", "", "0 is no limit"),
    ] {
        let text = text.replace("P/", PREFIX);
        let error = read(&text).expect_err(&text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(text[error.range.clone()].starts_with(place), "{text}: {error:?}");
    }
}

#[test]
fn aliases_that_multiply_are_not_followed() {
    let mut text = format!(
        "kind: Ingress\nmetadata:\n  annotations:\n    {PREFIX}limit-rps: 5\na0: &a0 [x, x]\n"
    );
    for level in 1..40 {
        let before = level - 1;
        text += &format!("a{level}: &a{level} [*a{before}, *a{before}]\n");
    }
    let rules = read(&text).expect("the annotations alone");
    assert!(rules[0].notes()[0].message.starts_with("an alias is not supported"));
}
