//! Measures token verification in tokens per second: `cargo bench -p weir-gateway --bench tokens`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tokio::runtime::{Builder, Runtime};
use weir_gateway::token::{CacheLimits, IssuerSettings, TokenVerifier, VerifiedBy};

#[path = "../tests/token/file.rs"]
mod file;
#[path = "../tests/token/issuers.rs"]
mod issuers;
#[path = "../tests/token/signer.rs"]
mod signer;

use self::issuers::{CLAIMS, Issuer, NOW, key_set, settings};

fn main() {
    divan::main();
}

/// A verifier of an issuer, with a valid token.
fn prepare(name: &str, change: impl FnOnce(&mut IssuerSettings)) -> (TokenVerifier, String) {
    let mut issuer = Issuer::named(name);
    change(&mut issuer.settings);
    let header = format!(r#"{{"alg":"{}"}}"#, issuer.algorithm);
    let claims =
        format!(r#"{CLAIMS},"tenant":"a","scope":"read write","jti":"0123456789abcdef"}}"#);
    let token = signer::token(&header, &claims, issuer.key, issuer.algorithm);
    (issuer.verifier(), token)
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime")
}

fn verify(bencher: Bencher<'_, '_>, verifier: &TokenVerifier, token: &str, expected: VerifiedBy) {
    let runtime = runtime();
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        let outcome = runtime.block_on(verifier.verify_with_origin(black_box(token), NOW));
        assert_eq!(outcome.expect("a good token").1, expected);
    });
}

/// A cached token.
#[divan::bench]
fn cached(bencher: Bencher<'_, '_>) {
    let (verifier, token) = prepare("hs256", |_| {});
    runtime().block_on(verifier.verify(&token, NOW)).expect("a good token");
    verify(bencher, &verifier, &token, VerifiedBy::Cache);
}

/// One cached token for all threads, which is the worst case for lock contention.
#[divan::bench(threads = [1, 2])]
fn cached_by_threads(bencher: Bencher<'_, '_>) {
    let (verifier, token) = prepare("hs256", |_| {});
    runtime().block_on(verifier.verify(&token, NOW)).expect("a good token");
    bencher.counter(ItemsCount::new(1_000_usize)).with_inputs(runtime).bench_refs(|runtime| {
        runtime.block_on(async {
            for _ in 0..1_000 {
                let outcome = verifier.verify_with_origin(black_box(&token), NOW).await;
                assert_eq!(outcome.expect("a good token").1, VerifiedBy::Cache);
            }
        });
    });
}

/// A new token, without the cost of caching it.
#[divan::bench(args = ["hs256", "rs256", "ps256", "es256", "es384", "ed25519"])]
fn verified(bencher: Bencher<'_, '_>, name: &str) {
    let off = CacheLimits { entries_max: 0, ..CacheLimits::default() };
    let (verifier, token) = prepare(name, |settings| settings.cache = off);
    verify(bencher, &verifier, &token, VerifiedBy::Signature);
}

/// Distinct tokens, so that each is inserted into the cache and evicts others.
#[divan::bench]
fn verified_and_remembered(bencher: Bencher<'_, '_>) {
    const TOKENS: usize = 20_000;
    let limits = CacheLimits { entries_max: 1_000, ..CacheLimits::default() };
    let (verifier, _) = prepare("hs256", |settings| settings.cache = limits);
    let token = |number| {
        let claims = format!(r#"{CLAIMS},"tenant":"a","jti":"{number}"}}"#);
        signer::token(r#"{"alg":"HS256"}"#, &claims, "secret", "HS256")
    };
    let tokens: Vec<String> = (0..TOKENS).map(token).collect();
    let (runtime, mut next) = (runtime(), tokens.iter().cycle());
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        let token = next.next().expect("a cycle has no end");
        let outcome = runtime.block_on(verifier.verify_with_origin(black_box(token), NOW));
        assert_eq!(outcome.expect("a good token").1, VerifiedBy::Signature);
    });
}

/// A token with an invalid signature, which is never cached.
#[divan::bench(args = ["hs256", "es256"])]
fn refused(bencher: Bencher<'_, '_>, name: &str) {
    let (verifier, token) = prepare(name, |_| {});
    let wrong = token.replace(".ey", ".eyJ");
    let runtime = runtime();
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        assert!(runtime.block_on(verifier.verify(black_box(&wrong), NOW)).is_err());
    });
}

/// Parsing of a key set.
#[divan::bench]
fn read_key_set(bencher: Bencher<'_, '_>) {
    use weir_gateway::token::{Algorithm, KeySource};
    let file = file::TestFile::new("bench", &key_set(&[("a", "rsa"), ("b", "p256")]));
    let keys = KeySource::KeySetFile(file.path.clone());
    let settings = settings(&[Algorithm::Rs256, Algorithm::Es256], keys);
    bencher.bench_local(|| TokenVerifier::new(settings.clone()).expect("good settings"));
}
