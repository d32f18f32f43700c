//! Signatures of requests: the vector of RFC 9421, and what is refused.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::Request;
use hyper::http::request::Parts;
use proptest::prelude::*;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use super::signature_base::signature_base;
use super::structured::{Member, parse_dictionary};
use super::{CrawlerConfig, CrawlerFault, CrawlerSignature, Crawlers};

/// The public key `test-key-ed25519` of RFC 9421 appendix B.1.4.
const KEY: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";

const NOW: i64 = 1_800_000_000;

fn parts(method: &str, uri: &str, fields: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request").into_parts().0
}

/// RFC 9421 appendix B.2.6.
#[test]
fn the_vector_of_the_standard() {
    let input = "sig-b26=(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \
                 \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
    let signature =
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    let request = parts(
        "POST",
        "/foo?param=Value&Pet=dog",
        &[
            ("host", "example.com"),
            ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
            ("content-type", "application/json"),
            ("content-length", "18"),
        ],
    );
    let (_, member) = parse_dictionary(input).expect("a dictionary").remove(0);
    let Member::List(components) = member else { panic!("a list") };
    let base = signature_base(&request, true, &components).expect("a base");
    let key = UnparsedPublicKey::new(&ED25519, URL_SAFE_NO_PAD.decode(KEY).expect("a key"));
    let signature = STANDARD.decode(signature).expect("a signature");
    assert!(key.verify(base.as_bytes(), &signature).is_ok(), "{base}");
}

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key")
}

fn crawlers() -> Crawlers {
    let agents = vec!["http://127.0.0.1:1".to_owned()];
    Crawlers::new(&CrawlerConfig { agents, hosts: hosts(), authorities: None, field: None })
}

fn hosts() -> Vec<String> {
    vec!["shop.example".to_owned(), "a".to_owned()]
}

/// The fields of a request with the signature of a crawler over these components.
#[derive(Debug, Clone)]
struct Signed {
    method: String,
    uri: String,
    fields: Vec<(String, String)>,
}

impl Signed {
    fn new(components: &str, parameters: &str) -> Self {
        Self::by_agent("\"http://127.0.0.1:1\"", components, parameters)
    }

    fn by_agent(agent: &str, components: &str, parameters: &str) -> Self {
        let input = format!("sig=({components}){parameters}");
        let fields = [
            ("host", "shop.example"),
            ("user-agent", "bot/1"),
            ("signature-agent", agent),
            ("signature-input", &input),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut signed =
            Self { method: "GET".to_owned(), uri: "/a?b=c".to_owned(), fields: fields.to_vec() };
        let Some(Member::List(list)) = parse_dictionary(&input).map(|mut it| it.remove(0).1) else {
            panic!("{input}")
        };
        let base = signature_base(&signed.parts(), true, &list).unwrap_or_default();
        let signature = STANDARD.encode(pair().sign(base.as_bytes()));
        signed.fields.push(("signature".to_owned(), format!("sig=:{signature}:")));
        signed
    }

    fn parts(&self) -> Parts {
        let fields: Vec<(&str, &str)> = self.fields.iter().map(|(a, b)| (&**a, &**b)).collect();
        parts(&self.method, &self.uri, &fields)
    }

    fn read(&self) -> Option<Result<CrawlerSignature, CrawlerFault>> {
        crawlers().read(&self.parts(), true, NOW)
    }

    /// Whether the signature that was read is that of the key.
    fn is_verified(&self) -> bool {
        let Some(Ok(read)) = self.read() else { return false };
        let key = UnparsedPublicKey::new(&ED25519, pair().public_key().as_ref().to_vec());
        key.verify(read.base.as_bytes(), &read.signature).is_ok()
    }

    fn fault(&self) -> Option<CrawlerFault> {
        self.read().and_then(Result::err)
    }
}

const COVERED: &str = "\"@authority\" \"signature-agent\"";

fn parameters() -> String {
    format!(";created={NOW};expires={};keyid=\"k\";tag=\"web-bot-auth\"", NOW + 3_600)
}

#[test]
fn signatures_are_read() {
    for (agent, components) in [
        ("\"http://127.0.0.1:1\"", COVERED),
        ("\"HTTP://127.0.0.1:1/\"", COVERED),
        ("a=\"http://127.0.0.1:1\"", COVERED),
        (
            "b=\"http://other\", a=\"http://127.0.0.1:1\"",
            "\"@authority\" \"signature-agent\";key=\"a\"",
        ),
        (
            "\"http://127.0.0.1:1\"",
            "\"@target-uri\" \"signature-agent\" \"@method\" \"@path\" \"@query\"",
        ),
        (
            "\"http://127.0.0.1:1\"",
            "\"@scheme\" \"@request-target\" \"@authority\" \"signature-agent\"",
        ),
    ] {
        let signed = Signed::by_agent(agent, components, &parameters());
        assert!(signed.is_verified(), "{agent} {components}: {:?}", signed.fault());
        let read = signed.read().and_then(Result::ok).expect("a signature");
        assert_eq!(read.agent, "http://127.0.0.1:1");
        let verified = verify_without_agents(&read);
        assert_eq!(verified, Err(CrawlerFault::UnknownAgent), "another agent");
    }
}

/// Verifies with crawlers that do not have the agent.
fn verify_without_agents(signature: &CrawlerSignature) -> Result<(), CrawlerFault> {
    let config =
        CrawlerConfig { agents: Vec::new(), hosts: hosts(), authorities: None, field: None };
    Crawlers::new(&config).verify(signature, NOW).map(|_| ())
}

#[test]
fn other_signatures_are_refused() {
    use CrawlerFault::{Component, Malformed, OtherHost, Time, Uncovered, UnknownAgent};
    let with = |from: &str, to: &str| parameters().replace(from, to);
    let created = format!("created={NOW}");
    let expires = format!("expires={}", NOW + 3_600);
    for (agent, components, parameters, expected) in [
        ("\"http://127.0.0.1:1\"", "\"signature-agent\"", parameters(), Uncovered),
        ("\"http://127.0.0.1:1\"", "\"@authority\"", parameters(), Uncovered),
        ("\"http://127.0.0.1:1\"", "", parameters(), Uncovered),
        ("http", COVERED, parameters(), Malformed),
        ("\"a\", \"b\"", COVERED, parameters(), Malformed),
        (
            "\"http://127.0.0.1:1\"",
            "\"@authority\" \"signature-agent\" \"absent\"",
            parameters(),
            Component,
        ),
        (
            "\"http://127.0.0.1:1\"",
            "\"@authority\" \"signature-agent\" \"@authority\"",
            parameters(),
            Component,
        ),
        (
            "\"http://127.0.0.1:1\"",
            "\"@authority\" \"signature-agent\" \"@status\"",
            parameters(),
            Component,
        ),
        (
            "\"http://127.0.0.1:1\"",
            "\"@authority\" \"signature-agent\" \"User-Agent\"",
            parameters(),
            Component,
        ),
        (
            "\"http://127.0.0.1:1\"",
            "\"@authority\" \"signature-agent\" \"user-agent\";bs",
            parameters(),
            Component,
        ),
        ("\"http://127.0.0.1:1\"", COVERED, with(&created, "created=1"), Time),
        ("\"http://127.0.0.1:1\"", COVERED, with(&created, &format!("created={}", NOW + 61)), Time),
        (
            "\"http://127.0.0.1:1\"",
            COVERED,
            with(&expires, &format!("expires={}", NOW + 86_401)),
            Time,
        ),
        ("\"http://127.0.0.1:1\"", COVERED, with(&expires, &format!("expires={}", NOW - 1)), Time),
        ("\"http://127.0.0.1:1\"", COVERED, with(&format!(";{created}"), ""), Malformed),
        ("\"http://127.0.0.1:1\"", COVERED, with(&format!(";{expires}"), ""), Malformed),
        ("\"http://127.0.0.1:1\"", COVERED, with(";keyid=\"k\"", ""), Malformed),
        (
            "\"http://127.0.0.1:1\"",
            COVERED,
            with(";keyid=\"k\"", ";keyid=\"k\";alg=\"hmac-sha256\""),
            Malformed,
        ),
    ] {
        let signed = Signed::by_agent(agent, components, &parameters);
        assert_eq!(signed.fault(), Some(expected), "{agent} {components} {parameters}");
    }
    let mut without = Signed::new(COVERED, &parameters());
    without.fields.retain(|(name, _)| name != "signature-agent");
    assert_eq!(without.fault(), Some(UnknownAgent));
    let mut without = Signed::new(COVERED, &parameters());
    without.fields.retain(|(name, _)| name != "signature");
    assert_eq!(without.fault(), Some(Malformed));
    let other_tag = Signed::new(COVERED, &with("web-bot-auth", "other"));
    assert!(other_tag.read().is_none(), "not that of a crawler");
    let mut other_host = Signed::new(COVERED, &parameters());
    other_host.fields[0].1 = "other.example".to_owned();
    assert_eq!(other_host.fault(), Some(OtherHost), "it could be that of another site");
    // A day, and no longer.
    let day = |expires_s: i64| with(&expires, &format!("expires={}", NOW + expires_s));
    assert!(Signed::new(COVERED, &day(86_400)).is_verified());
    // Up to the leeway of clocks.
    let early = with(&created, &format!("created={}", NOW - 100));
    let early = early.replace(&expires, &format!("expires={}", NOW - 61));
    assert_eq!(Signed::new(COVERED, &early).fault(), Some(Time));
    let late = with(&created, &format!("created={}", NOW - 100));
    let late = late.replace(&expires, &format!("expires={}", NOW - 60));
    assert!(Signed::new(COVERED, &late).is_verified());
}

const ALL: &str =
    "\"@authority\" \"signature-agent\" \"@method\" \"@path\" \"@query\" \"user-agent\"";

proptest! {
    /// Every changed byte of what is covered, and of the signature itself, makes it wrong.
    #[test]
    fn no_covered_byte_can_be_changed(field in 0_usize..7, place in any::<u16>(), byte in b'!'..=b'~') {
        let signed = Signed::new(ALL, &parameters());
        prop_assert!(signed.is_verified());
        let mut changed = signed.clone();
        let text = match field {
            0 => &mut changed.method,
            1 => &mut changed.uri,
            field => &mut changed.fields[field - 2].1,
        };
        let place = usize::from(place) % text.len();
        let before = text.as_bytes()[place];
        text.replace_range(place..=place, &char::from(byte).to_string());
        let is_same = before == byte || {
            // The case of the host and of the agent's origin does not count.
            field == 2 && before.eq_ignore_ascii_case(&byte)
        };
        let valid = Request::builder().method(&*changed.method).uri(&*changed.uri).body(()).is_ok();
        if valid && !is_same {
            prop_assert!(!changed.is_verified(), "{changed:?}");
        }
    }

    /// Whatever fields a client sends, the answer is a fault or nothing.
    #[test]
    fn hostile_fields_are_refused(
        input in "(sig=)?[\\(\\)\"@a-z;=,:0-9 -]{0,80}",
        signature in "(sig=)?[:A-Z=a-z,\" ]{0,40}",
        agent in "[\"a-z:/=, ]{0,30}",
    ) {
        let tagged = format!("{input}{}", parameters());
        for input in [&input, &tagged] {
            let request = parts("GET", "/", &[
                ("host", "a"),
                ("signature-input", input),
                ("signature", &signature),
                ("signature-agent", &agent),
            ]);
            let read = crawlers().read(&request, false, NOW);
            prop_assert!(!matches!(read, Some(Ok(_))), "{input}");
        }
    }
}
