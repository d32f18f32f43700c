//! Tokens, which anybody can send, and the keys that verify them.

use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use weir_gateway::token::{
    Algorithm, IssuerSettings, KeySource, TokenRefusal, TokenVerifier, VerifiedToken,
};

const SECRET: &[u8] = b"a secret of thirty-two bytes: 012";
const NOW_UNIX_S: i64 = 1_800_000_000;
const HEADER: &str = r#"{"alg":"HS256"}"#;
const CLAIMS: &str = r#"{"iss":"me","aud":"api","exp":1800000600,"sub":"user"}"#;

/// The public key of RFC 7515 appendix A.3, whose private key signs nothing here.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
-----END PUBLIC KEY-----
";

static BY_SECRET: LazyLock<TokenVerifier> =
    LazyLock::new(|| verifier(Algorithm::Hs256, KeySource::Secret(SECRET.to_vec())));

static BY_PUBLIC_KEY: LazyLock<TokenVerifier> = LazyLock::new(|| {
    verifier(Algorithm::Es256, KeySource::PublicKeyPem(PUBLIC_KEY.as_bytes().to_vec()))
});

fn settings(algorithm: Algorithm, keys: KeySource) -> IssuerSettings {
    IssuerSettings::new("fuzz", "me", vec!["api".to_owned()], vec![algorithm], keys)
}

fn verifier(algorithm: Algorithm, keys: KeySource) -> TokenVerifier {
    TokenVerifier::new(settings(algorithm, keys)).expect("the settings are right")
}

/// A token as it is; a header and claims, a line each, that the issuer signs; and a public key as
/// PEM. A token passes only if the issuer signed it, and only with claims that are the issuer's.
pub(crate) fn token(bytes: &[u8]) {
    // Most texts are not a key, so both outcomes are correct; only a panic is an error.
    let _outcome =
        TokenVerifier::new(settings(Algorithm::Es256, KeySource::PublicKeyPem(bytes.to_vec())));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if verify(&BY_SECRET, text).is_ok() {
        assert_eq!(text, signed(HEADER, CLAIMS), "a forged token");
    }
    assert!(verify(&BY_PUBLIC_KEY, text).is_err(), "nobody signs with this key: {text}");
    let Some((header, claims)) = text.split_once('\n') else { return };
    if let Ok(token) = verify(&BY_SECRET, &signed(header, claims)) {
        assert!(header.contains("alg"), "{header}");
        assert_eq!(token.issuer(), "me");
        assert!(token.expires_at_unix_s() > NOW_UNIX_S - 60);
        assert!(token.claim("aud").is_some());
    }
}

/// A token of these texts.
fn signed(header: &str, claims: &str) -> String {
    let [header, claims] = [header, claims].map(|text| URL_SAFE_NO_PAD.encode(text));
    let signed = format!("{header}.{claims}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// Verifies without a runtime: the keys are known, so nothing is awaited.
fn verify(verifier: &TokenVerifier, token: &str) -> Result<VerifiedToken, TokenRefusal> {
    let mut verifying = pin!(verifier.verify(token, NOW_UNIX_S));
    match verifying.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome.map(|token| VerifiedToken::clone(&token)),
        Poll::Pending => panic!("the verification waits for keys that are there"),
    }
}
