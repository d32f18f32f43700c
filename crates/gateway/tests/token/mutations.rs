//! Truncated, changed and invented tokens: none causes a panic, and only the signed one is
//! accepted.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use tokio::runtime::Runtime;
use weir_gateway::token::{TokenRefusal, TokenVerifier, VerifiedToken};

use crate::issuers::{CLAIMS, Issuer, NOW};
use crate::signer::{encode, token};

/// Issuers whose algorithms are fast enough for many tokens, each with a valid token.
static ISSUERS: LazyLock<Vec<(TokenVerifier, String)>> = LazyLock::new(|| {
    let make = |name: &str| {
        let issuer = Issuer::named(name);
        let header = format!(r#"{{"alg":"{}"}}"#, issuer.algorithm);
        let token = token(&header, &format!("{CLAIMS}}}"), issuer.key, issuer.algorithm);
        (issuer.verifier(), token)
    };
    ["hs256", "es256", "ed25519"].map(make).into()
});

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().unwrap());

fn verify(verifier: &TokenVerifier, token: &str) -> Result<VerifiedToken, TokenRefusal> {
    let outcome = RUNTIME.block_on(verifier.verify(token, NOW));
    outcome.map(|token| VerifiedToken::clone(&token))
}

#[test]
fn a_token_that_is_cut_anywhere_is_refused() {
    for (verifier, token) in ISSUERS.iter() {
        assert!(verify(verifier, token).is_ok());
        for end in 0..token.len() {
            assert!(verify(verifier, &token[..end]).is_err(), "{}", &token[..end]);
            assert!(verify(verifier, &token[end + 1..]).is_err(), "{}", &token[end + 1..]);
        }
    }
}

#[test]
fn a_token_with_any_other_character_is_refused() {
    for (verifier, token) in ISSUERS.iter() {
        for place in 0..token.len() {
            for other in ["A", "-", ".", "="] {
                let mut changed = token.clone();
                changed.replace_range(place..=place, other);
                assert_eq!(verify(verifier, &changed).is_ok(), changed == *token, "{changed}");
            }
        }
    }
}

proptest! {
    #[test]
    fn random_changes_are_refused(
        issuer in 0..3_usize,
        changes in vec((any::<u16>(), any::<char>(), 0..3_u8), 1..4),
    ) {
        let (verifier, token) = &ISSUERS[issuer];
        let mut characters: Vec<char> = token.chars().collect();
        for (place, character, change) in changes {
            let place = usize::from(place) % characters.len();
            match change {
                0 => characters[place] = character,
                1 => characters.insert(place, character),
                _ => drop(characters.remove(place)),
            }
        }
        let changed: String = characters.into_iter().collect();
        prop_assert_eq!(verify(verifier, &changed).is_ok(), changed == *token, "{}", changed);
    }

    #[test]
    fn random_texts_are_refused(text in ".{0,200}", header in ".{0,40}", claims in ".{0,40}") {
        for (verifier, _) in ISSUERS.iter() {
            prop_assert!(verify(verifier, &text).is_err());
            let parts = format!("{}.{}.{}", encode(&header), encode(&claims), encode(&text));
            prop_assert!(verify(verifier, &parts).is_err());
        }
    }

    /// Signed claims of any shape are either accepted unchanged, or refused.
    #[test]
    fn signed_claims_survive(name in "[a-z]{4,8}", text in any::<String>(), number in any::<i64>()) {
        let (verifier, _) = &ISSUERS[0];
        let value = serde_json::json!({ "text": text, "list": [number, null, { "": text }] });
        let claims = format!(r#"{CLAIMS},"{name}":{value}}}"#);
        let token = token(r#"{"alg":"HS256"}"#, &claims, "secret", "HS256");
        let verified = verify(verifier, &token).unwrap();
        prop_assert_eq!(verified.claim(&name), Some(&value));
        prop_assert_eq!(verified.subject().map(|subject| &**subject), Some("user"));
        prop_assert_eq!(verified.issuer(), "https://login.example");
        prop_assert_eq!(verified.expires_at_unix_s(), 1_800_000_600);
    }
}
