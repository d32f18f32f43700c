//! Tokens that are signed before they are sent.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::settings::{folder, text};
use weir_tools::shell::Outcome;

/// The secret of the issuer.
const SECRET: &str = "sixty-four bytes that only the issuer and the gateway know: 0123";

/// How long tokens are valid, and how long a file of them is reused.
const VALID: Duration = Duration::from_secs(30 * 24 * 3600);
const USED_AGAIN: Duration = Duration::from_secs(20 * 24 * 3600);

/// More tokens than a gateway verifies in a run.
const COUNT: usize = 150_000;

/// The file with the secret, which the gateway reads.
pub(super) fn secret_file() -> Outcome<PathBuf> {
    let file = folder()?.join("gateway-secret");
    fs::write(&file, SECRET)?;
    Ok(fs::canonicalize(file)?)
}

/// A file of tokens, one per line, each for a different user; `least` is their number in a smoke
/// run.
pub(super) fn file(least: Option<usize>) -> Outcome<PathBuf> {
    let count = least.unwrap_or(COUNT);
    let file = folder()?.join(format!("tokens-{count}"));
    let age = fs::metadata(&file).and_then(|metadata| metadata.modified());
    if age.is_ok_and(|written| written.elapsed().is_ok_and(|age| age < USED_AGAIN)) {
        return Ok(file);
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let expires = (SystemTime::now().duration_since(UNIX_EPOCH)? + VALID).as_secs();
    let mut lines = String::new();
    for number in 0..count {
        let claims = format!(
            r#"{{"iss":"https://login.example","aud":"api","exp":{expires},"sub":"user-{number}","tenant":"a"}}"#
        );
        let _ = writeln!(lines, "{}", token(&key, &claims));
    }
    // A later run must not find an incomplete file.
    let part = file.with_extension("part");
    fs::write(&part, lines)?;
    fs::rename(part, &file)?;
    Ok(file)
}

/// The first token of a file.
pub(super) fn first(file: &Path) -> Outcome<String> {
    let tokens = fs::read_to_string(file)?;
    Ok(tokens.lines().next().ok_or_else(|| format!("{} is empty", text(file)))?.to_owned())
}

/// A token in compact form (RFC 7515 section 3.1).
fn token(key: &hmac::Key, claims: &str) -> String {
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!("{}.{}", encode(br#"{"alg":"HS256"}"#), encode(claims.as_bytes()));
    let signature = hmac::sign(key, signed.as_bytes());
    format!("{signed}.{}", encode(signature.as_ref()))
}
