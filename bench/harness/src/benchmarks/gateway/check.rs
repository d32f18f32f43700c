//! The answers of the proxies, compared byte for byte.

use std::time::{Duration, Instant};

use super::proxies::Proxy;
use crate::curl;
use weir_tools::shell::Outcome;

/// Requests on one connection.
const REPEATS: usize = 10;

/// How long the count of all records may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Asks for a path several times on one connection, and compares the answers.
pub(super) fn answers(proxy: &Proxy, path: &str, token: &str, expected: &[u8]) -> Outcome {
    let (field, url) = (authorization(token), proxy.url(path));
    let mut arguments = vec!["-H", &field];
    arguments.extend(vec![&*url; REPEATS]);
    if curl::body(&arguments)? != expected.repeat(REPEATS) {
        return Err(format!("{path}: the answers are not the file").into());
    }
    Ok(())
}

/// Checks that requests without a token and with a wrong one are refused.
pub(super) fn refusals(proxy: &Proxy, path: &str, token: &str) -> Outcome {
    let (signed, signature) = token.rsplit_once('.').ok_or("a token has a signature")?;
    let reversed: String = signature.chars().rev().collect();
    let wrong = authorization(&format!("{signed}.{reversed}"));
    for arguments in [vec![proxy.url(path)], vec!["-H".to_owned(), wrong, proxy.url(path)]] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let status = curl::status(&arguments)?;
        if status != 401 {
            return Err(format!("{path}: a request without a valid token gets {status}").into());
        }
    }
    Ok(())
}

/// Sends the first tokens of a file twice, to a gateway that has seen none of them, and checks that
/// its records count each as new and then as known.
pub(super) fn caching(weir: &Proxy, path: &str, tokens: &str) -> Outcome {
    const COUNT: usize = 50;
    let tokens = std::fs::read_to_string(tokens)?;
    for _ in 0..2 {
        for token in tokens.lines().take(COUNT) {
            curl::body(&["-H", &authorization(token), &weir.url(path)])?;
        }
    }
    for state in ["miss", "hit"] {
        expect_records(weir, &format!("token_cache={state}"), COUNT as u64)?;
    }
    Ok(())
}

/// Waits until this many records meet a condition. A record appears shortly after its answer.
fn expect_records(weir: &Proxy, condition: &str, expected: u64) -> Outcome {
    let end = Instant::now() + TIMEOUT;
    loop {
        let report = weir.report(condition)?;
        if report["matching"].as_u64() == Some(expected) {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("{condition}: not {expected} records in {report}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn authorization(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}
