//! Tokens signed by another implementation.

use std::process::Command;

use serde_json::Value;
use weir_gateway::token::{Algorithm, KeySource, TokenVerifier};

use crate::file::TestFile;
use crate::issuers::{NOW, settings};

/// The lines that the issuer prints: first the keys, then one token per line.
fn issued() -> Vec<Value> {
    let python = std::env::var("PYJWT_PYTHON").expect("PYJWT_PYTHON names a Python with PyJWT");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/token/pyjwt.py");
    let output = Command::new(python).args([script, &NOW.to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
#[ignore = "needs PyJWT; cargo xtask test runs it"]
async fn tokens_of_pyjwt_are_accepted_and_refused_as_they_should_be() {
    let issued = issued();
    let (keys, tokens) = issued.split_first().unwrap();
    let secret = keys["secret"].as_str().unwrap().as_bytes().to_vec();
    let file = TestFile::new("pyjwt", &keys["key_set"].to_string());
    let verifier = |is_secret: bool, keys| {
        let all = Algorithm::ALL.into_iter();
        let chosen: Vec<_> = all.filter(|it| it.name().starts_with("HS") == is_secret).collect();
        TokenVerifier::new(settings(&chosen, keys)).unwrap()
    };
    let by_secret = verifier(true, KeySource::Secret(secret));
    let by_set = verifier(false, KeySource::KeySetFile(file.path.clone()));
    let mut accepted = 0;
    for case in tokens {
        let verifier = if case["by"] == "secret" { &by_secret } else { &by_set };
        let outcome = verifier.verify(case["token"].as_str().unwrap(), NOW).await;
        match &outcome {
            Ok(token) => {
                accepted += 1;
                assert_eq!(Value::Object(token.claims().clone()), case["claims"]);
                assert_eq!(case["expected"], "accepted", "{case}");
            }
            Err(refusal) => assert_eq!(case["expected"], refusal.name(), "{case}"),
        }
    }
    // Twelve algorithms, with two valid tokens each.
    assert_eq!((accepted, tokens.len()), (24, 12 * 9 + 1));
}
