//! The answers of a server, compared byte for byte.

use super::servers::Address;
use crate::curl;
use weir_tools::shell::Outcome;

/// Requests on one connection.
const REPEATS: usize = 10;

/// The header fields that an answer has to have, by their prefix.
const FIELDS: (&str, usize) = ("x-my-header-", 25);

/// Requests a body, then several times on one connection, and compares all of it.
pub(super) fn answer(address: &Address, path: &str, kind: &str, expected: &[u8]) -> Outcome {
    let answer = get(address, &["--include"], path, 1)?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or("no header ends")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let fields = head.lines().filter(|line| line.starts_with(FIELDS.0)).count();
    let is_chunked = head.contains("transfer-encoding: chunked");
    if fields != FIELDS.1 || is_chunked != (kind == "chunked") {
        return Err(format!("the header is not the agreed one: {head}").into());
    }
    let bodies = get(address, &[], path, REPEATS)?;
    if &answer[end + 4..] != expected || bodies != expected.repeat(REPEATS) {
        return Err("the body is not the file's content".into());
    }
    Ok(())
}

fn get(address: &Address, options: &[&str], path: &str, repeats: usize) -> Outcome<Vec<u8>> {
    let url = format!("{}{path}", address.url);
    let mut arguments = vec!["--insecure", "--http1.1"];
    arguments.extend(options);
    if let Some(socket) = &address.unix {
        arguments.extend(["--unix-socket", socket]);
    }
    arguments.extend(vec![&*url; repeats]);
    curl::body(&arguments)
}
