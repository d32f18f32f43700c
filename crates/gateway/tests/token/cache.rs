//! The cache of tokens, and its counters.

use weir_gateway::token::{CacheLimits, TokenRefusal, TokenVerifier, VerifiedBy};

use crate::issuers::{CLAIMS, Issuer, NOW};
use crate::signer::token;

fn good_token(number: usize) -> String {
    let claims = format!(r#"{CLAIMS},"number":{number}}}"#);
    token(r#"{"alg":"HS256"}"#, &claims, "secret", "HS256")
}

#[tokio::test]
async fn a_token_is_verified_once_a_minute() {
    let verifier = Issuer::named("hs256").verifier();
    let token = good_token(0);
    let mut origins = Vec::new();
    for seconds in [0, 0, 1, 59, 60, 61, 119, 120] {
        let (_, origin) = verifier.verify_with_origin(&token, NOW + seconds).await.unwrap();
        origins.push(origin);
    }
    use VerifiedBy::{Cache, Signature};
    assert_eq!(origins, [Signature, Cache, Cache, Cache, Signature, Cache, Cache, Signature]);
    let counters = verifier.counters();
    assert_eq!((counters.accepted, counters.verified), (8, 3));
    assert_eq!((counters.cache.hits, counters.cache.misses), (5, 3));
}

#[tokio::test]
async fn a_token_is_not_remembered_beyond_its_end() {
    let verifier = Issuer::named("hs256").verifier();
    let token = good_token(0);
    let end = 1_800_000_600;
    assert!(verifier.verify(&token, end - 5).await.is_ok());
    // Within the leeway after its expiry, its signature is verified each time.
    for _ in 0..2 {
        let (_, origin) = verifier.verify_with_origin(&token, end).await.unwrap();
        assert_eq!(origin, VerifiedBy::Signature);
    }
    let found = verifier.verify(&token, end + 60).await.err();
    assert_eq!(found, Some(TokenRefusal::Expired));
}

#[tokio::test]
async fn refusals_are_counted_and_not_remembered() {
    let verifier = Issuer::named("hs256").verifier();
    let claims = format!("{CLAIMS}}}");
    let wrong = token(r#"{"alg":"HS256"}"#, &claims, "other-secret", "HS256");
    for _ in 0..3 {
        let found = verifier.verify(&wrong, NOW).await.err();
        assert_eq!(found, Some(TokenRefusal::InvalidSignature));
    }
    let counters = verifier.counters();
    assert_eq!(counters.refused_for(TokenRefusal::InvalidSignature), 3);
    assert_eq!(counters.refused.iter().sum::<u64>(), 3);
    assert_eq!((counters.accepted, counters.cache.entries), (0, 0));
}

#[tokio::test]
async fn ten_thousand_subjects_stay_within_the_limits() {
    let mut issuer = Issuer::named("hs256");
    let limits = CacheLimits { entries_max: 1_000, bytes_max: 4 << 20, seconds_max: 60 };
    issuer.settings.cache = limits;
    let verifier = issuer.verifier();
    for number in 0..10_000 {
        assert!(verifier.verify(&good_token(number), NOW).await.is_ok());
    }
    let cache = verifier.counters().cache;
    // Each of the 64 shards may round its part of the limit up by one, twice.
    assert!(cache.entries <= 1_000 + 128, "{cache:?}");
    assert!(cache.bytes <= 4 << 20, "{cache:?}");
    assert_eq!(cache.entries + cache.evictions, 10_000);
    // The youngest are there. The oldest were evicted, and are verified and cached again.
    for (numbers, expected) in [
        (9_900..10_000, VerifiedBy::Cache),
        (0..100, VerifiedBy::Signature),
        (0..100, VerifiedBy::Cache),
    ] {
        for number in numbers {
            let (_, origin) = verifier.verify_with_origin(&good_token(number), NOW).await.unwrap();
            assert_eq!(origin, expected, "{number}");
        }
    }
}

#[tokio::test]
async fn a_cache_can_be_turned_off() {
    for limits in [
        CacheLimits { entries_max: 0, ..CacheLimits::default() },
        CacheLimits { bytes_max: 0, ..CacheLimits::default() },
        CacheLimits { seconds_max: 0, ..CacheLimits::default() },
    ] {
        let mut issuer = Issuer::named("hs256");
        issuer.settings.cache = limits;
        let verifier = issuer.verifier();
        for _ in 0..2 {
            let (_, origin) = verifier.verify_with_origin(&good_token(0), NOW).await.unwrap();
            assert_eq!(origin, VerifiedBy::Signature);
        }
        assert_eq!(verifier.counters().cache.entries, 0);
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_token_good() {
    let verifier = Issuer::named("hs256").verifier();
    let claims = format!(r#"{CLAIMS},"nbf":{NOW}}}"#);
    let token = token(r#"{"alg":"HS256"}"#, &claims, "secret", "HS256");
    assert!(verifier.verify(&token, NOW).await.is_ok());
    let found = verifier.verify(&token, NOW - 3_600).await.err();
    assert_eq!(found, Some(TokenRefusal::NotYetValid));
    for now in [i64::MIN, -1, 0] {
        assert!(verifier.verify(&token, now).await.is_err(), "{now}");
    }
    assert_eq!(verifier.verify(&token, i64::MAX).await.err(), Some(TokenRefusal::Expired));
}

/// Debug output of a verifier may end in a log.
#[test]
fn no_secret_is_shown() {
    let verifier: TokenVerifier = Issuer::named("hs256").verifier();
    let shown = format!("{verifier:?} {:?}", Issuer::named("hs256").settings);
    assert!(!shown.contains("sixty-four") && !shown.contains("115, 105, 120"), "{shown}");
}
