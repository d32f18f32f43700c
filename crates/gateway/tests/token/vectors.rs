//! Known tokens of RFC 7515 appendix A and RFC 8037 appendix A.
//!
//! None of them has an audience, and one has claims that are not JSON. Claims are checked only
//! after the signature, so these refusals show that the signature is valid.

use weir_gateway::token::{Algorithm, KeySource, TokenRefusal, TokenVerifier};

use crate::file::TestFile;
use crate::issuers::settings;

/// A time before the tokens expire.
const NOW: i64 = 1_300_000_000;

const CLAIMS: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

/// The section, the algorithm, the members of the key, the header, the payload and the signature.
type Vector = (&'static str, Algorithm, &'static str, &'static str, &'static str, &'static str);

const VECTORS: [Vector; 4] = [
    (
        "RFC 7515 appendix A.1",
        Algorithm::Hs256,
        r#""kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow""#,
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
        CLAIMS,
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    ),
    (
        "RFC 7515 appendix A.2",
        Algorithm::Rs256,
        r#""kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB""#,
        "eyJhbGciOiJSUzI1NiJ9",
        CLAIMS,
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    ),
    (
        "RFC 7515 appendix A.3",
        Algorithm::Es256,
        r#""kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#,
        "eyJhbGciOiJFUzI1NiJ9",
        CLAIMS,
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    ),
    (
        "RFC 8037 appendix A.4",
        Algorithm::EdDsa,
        r#""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#,
        "eyJhbGciOiJFZERTQSJ9",
        "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    ),
];

#[tokio::test]
async fn known_signatures_are_right_and_changed_ones_are_wrong() {
    for (name, algorithm, key, header, payload, signature) in VECTORS {
        let file = TestFile::new("vector", &format!(r#"{{"keys":[{{{key}}}]}}"#));
        let mut settings = settings(&[algorithm], KeySource::KeySetFile(file.path.clone()));
        settings.issuer = "joe".to_owned();
        let verifier = TokenVerifier::new(settings).unwrap();
        let expected = match algorithm {
            Algorithm::EdDsa => TokenRefusal::InvalidClaims,
            _ => TokenRefusal::MissingAudience,
        };
        let token = format!("{header}.{payload}.{signature}");
        assert_eq!(verifier.verify(&token, NOW).await.err(), Some(expected), "{name}");
        // All six bits of the first character are significant.
        let other = if signature.starts_with('A') { "B" } else { "A" };
        let changed = format!("{header}.{payload}.{other}{}", &signature[1..]);
        let found = verifier.verify(&changed, NOW).await.err();
        assert_eq!(found, Some(TokenRefusal::InvalidSignature), "{name}");
    }
}

/// RFC 7515 appendix A.4 is signed with ES512, and A.5 is not signed at all.
#[tokio::test]
async fn algorithms_that_are_not_supported_are_refused() {
    let key = crate::signer::data("p256.public.pem");
    let settings = settings(&[Algorithm::Es256], KeySource::PublicKeyPem(key));
    let verifier = TokenVerifier::new(settings).unwrap();
    for token in [
        "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn".to_owned(),
        format!("eyJhbGciOiJub25lIn0.{CLAIMS}."),
    ] {
        let found = verifier.verify(&token, NOW).await.err();
        assert_eq!(found, Some(TokenRefusal::AlgorithmNotAllowed));
    }
}
