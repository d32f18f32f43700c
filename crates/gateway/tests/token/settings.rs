//! Mistakes in the settings of an issuer.

use weir_gateway::token::{Algorithm, IssuerSettings, KeySource, TokenVerifier};

use crate::file::TestFile;
use crate::issuers::{key_set, settings};
use crate::signer::{SECRET, data, public_members};

fn message(settings: IssuerSettings) -> String {
    TokenVerifier::new(settings).err().map(|error| error.to_string()).unwrap_or_default()
}

fn pem(name: &str) -> KeySource {
    KeySource::PublicKeyPem(data(name))
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    use Algorithm::{EdDsa, Es256, Es384, Hs256, Hs512, Ps512, Rs256};
    let secret = |bytes: &[u8]| KeySource::Secret(bytes.to_vec());
    let url = |url: &str| KeySource::KeySetUrl(url.to_owned());
    for (algorithms, keys, part) in [
        (&[Hs256][..], secret(&SECRET[..32]), ""),
        (&[Hs256, Hs512], secret(SECRET), ""),
        (&[Rs256, Ps512], pem("rsa.public.pem"), ""),
        (&[Es256], pem("p256.public.pem"), ""),
        (&[Es384], pem("p384.public.pem"), ""),
        (&[EdDsa], pem("ed25519.public.pem"), ""),
        (&[Hs256], secret(&SECRET[..31]), "has 31 bytes, and HS256 needs 32"),
        (&[Hs256, Hs512], secret(&SECRET[..63]), "has 63 bytes, and HS512 needs 64"),
        (&[Hs256], secret(&data("rsa.public.pem")), "the text of a public key"),
        (&[Hs256], secret(key_set(&[("a", "rsa")]).as_bytes()), "the text of a public key"),
        (&[Hs256], pem("rsa.public.pem"), "HS256 needs a secret, but the key is an RSA key"),
        (&[Rs256], secret(SECRET), "RS256 needs an RSA key, but the key is a secret"),
        (
            &[Es256],
            pem("rsa.public.pem"),
            "ES256 needs a key on the curve P-256, but the key is an RSA key",
        ),
        (&[Es256], pem("p384.public.pem"), "name only algorithms of the key: ES384"),
        (&[Rs256, Es256], pem("rsa.public.pem"), "ES256 needs"),
        (&[Rs256, Hs256], pem("rsa.public.pem"), "are mixed"),
        (&[Rs256], pem("weak-rsa.public.pem"), "has 1024 bits"),
        (&[Es256], pem("p521.public.pem"), "is not supported"),
        (&[Rs256], pem("rsa.pem"), "`openssl pkey -pubout`"),
        (&[Rs256], pem("rsa.pkcs1.pem"), "-RSAPublicKey_in"),
        (&[Rs256], pem("README.md"), "no section `BEGIN PUBLIC KEY`"),
        (&[Rs256], KeySource::PublicKeyPem(Vec::new()), "no section `BEGIN PUBLIC KEY`"),
        (&[Rs256], url("http://login.example/keys"), "plain http is for loopback"),
        (&[Rs256], url("login.example/keys"), "is not a URL"),
        (&[Hs256], url("https://login.example/keys"), "which a key set at a URL cannot hold"),
        (&[Rs256], KeySource::KeySetFile("/nonexistent/keys".into()), "cannot be read"),
        (&[], secret(SECRET), "at least one algorithm"),
    ] {
        let shown = format!("{keys:?}");
        let found = message(settings(algorithms, keys));
        assert!(found.contains(part) && found.is_empty() == part.is_empty(), "{shown}: {found}");
        assert!(part.is_empty() || found.starts_with("issuer `test`: "), "{found}");
        assert!(!found.contains("sixty-four") && !shown.contains("sixty-four"), "{found} {shown}");
    }
}

#[test]
fn names_and_leeway_are_checked() {
    let good = || settings(&[Algorithm::Hs256], KeySource::Secret(SECRET.to_vec()));
    let changed = |change: fn(&mut IssuerSettings)| {
        let mut settings = good();
        change(&mut settings);
        message(settings)
    };
    assert_eq!(changed(|_| {}), "");
    assert!(changed(|it| it.issuer.clear()).contains("claim `iss`"));
    assert!(changed(|it| it.audiences.clear()).contains("claim `aud`"));
    assert!(changed(|it| it.audiences.push(String::new())).contains("claim `aud`"));
    assert!(changed(|it| it.leeway_s = 61).contains("the maximum is 60 s"));
    assert!(changed(|it| it.token_types.clear()).contains("type of token"));
}

#[test]
fn key_sets_are_read_strictly() {
    let algorithms = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];
    let key = public_members("p256");
    for (text, part) in [
        (format!(r#"{{"keys":[{{{key}}}]}}"#), ""),
        (format!(r#"{{"keys":[{{"use":"sig","key_ops":["verify"],"alg":"ES256",{key}}}]}}"#), ""),
        (String::new(), "is not JSON"),
        ("<html>".to_owned(), "is not JSON"),
        ("[]".to_owned(), "not a JSON object"),
        ("{}".to_owned(), "no list `keys`"),
        (r#"{"keys":{}}"#.to_owned(), "no list `keys`"),
        (r#"{"keys":[]}"#.to_owned(), "is empty"),
        (r#"{"keys":[],"keys":[]}"#.to_owned(), "a duplicate name"),
        (r#"{"keys":[7]}"#.to_owned(), "`kty` is missing"),
        (format!(r#"{{"keys":[{{"use":"enc",{key}}}]}}"#), "not for the verification"),
        (format!(r#"{{"keys":[{{"key_ops":["sign"],{key}}}]}}"#), "not for the verification"),
        (format!(r#"{{"keys":[{{"alg":"ES384",{key}}}]}}"#), "not in the issuer's list"),
        (format!(r#"{{"keys":[{{"alg":"RS256",{key}}}]}}"#), "does not work with keys of its type"),
        (format!(r#"{{"keys":[{{"alg":1,{key}}}]}}"#), "`alg` is missing or malformed"),
        (format!(r#"{{"keys":[{{"kid":1,{key}}}]}}"#), "`kid` is missing or malformed"),
        (format!(r#"{{"keys":[{{"d":"AQ",{key}}}]}}"#), "private part"),
        (key_set(&[("a", "p384")]), "not in the issuer's list"),
        (r#"{"keys":[{"kty":"EC","crv":"P-521","x":"AQ","y":"AQ"}]}"#.to_owned(), "not supported"),
        (r#"{"keys":[{"kty":"AKP","pub":"AQ"}]}"#.to_owned(), "not supported"),
        (r#"{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"}]}"#.to_owned(), "has 1 bits"),
        (r#"{"keys":[{"kty":"RSA","e":"AQAB"}]}"#.to_owned(), "`n` is missing"),
        (r#"{"keys":[{"kty":"OKP","crv":"X25519","x":"AQ"}]}"#.to_owned(), "not supported"),
        (small_order(), "small order"),
        (secret_key(), "not in the issuer's list"),
    ] {
        let file = TestFile::new("strict", &text);
        let found = message(settings(&algorithms, KeySource::KeySetFile(file.path.clone())));
        assert!(found.contains(part) && found.is_empty() == part.is_empty(), "{text}: {found}");
    }
}

/// The point of order 1.
fn small_order() -> String {
    let mut point = [0; 32];
    point[0] = 1;
    format!(
        r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{}"}}]}}"#,
        crate::signer::encode(point)
    )
}

fn secret_key() -> String {
    format!(r#"{{"keys":[{{"kty":"oct","k":"{}"}}]}}"#, crate::signer::encode(SECRET))
}

#[test]
fn a_set_in_a_file_may_hold_secrets_of_their_length() {
    let file = TestFile::new("secrets", &secret_key());
    let keys = || KeySource::KeySetFile(file.path.clone());
    assert_eq!(message(settings(&[Algorithm::Hs256, Algorithm::Hs512], keys())), "");
    file.write(r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#);
    let found = message(settings(&[Algorithm::Hs256], keys()));
    assert!(found.contains("has 3 bytes"), "{found}");
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let file = TestFile::new("large", &" ".repeat(600 << 10));
    let found = message(settings(&[Algorithm::Rs256], KeySource::KeySetFile(file.path.clone())));
    assert!(found.contains("larger than 512 KiB"), "{found}");
}
