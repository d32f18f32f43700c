//! Targets of requests and other URLs without secrets: the names of parameters, and the path segments
//! that do not look like a token.

use std::borrow::Cow;
use std::fmt::Write;

use super::length;
use crate::percent_encoding::percent_decode;

/// The maximum number of times that a path segment is percent-decoded to inspect it. A segment that
/// is encoded more often is hidden.
const DECODED_MAX: usize = 4;

/// The maximum length of a shown parameter name.
const NAME_BYTES_MAX: usize = 40;

/// A path segment counts as a token if it has a run of this many letters and digits, with both of
/// them.
const TOKEN_RUN_BYTES: usize = 16;

/// A path segment of this length counts as a token if it has upper case, lower case and digits.
const TOKEN_BYTES: usize = 24;

/// Returns the target of a request, or another URL, without secrets.
pub fn shown_target(target: &str) -> String {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let (before, query) = target.split_at(end);
    let (authority, path) = match before.find("//") {
        Some(start) => {
            let (scheme, rest) = before.split_at(start + 2);
            let end = rest.find('/').unwrap_or(rest.len());
            (redact_authority(scheme, &rest[..end]), &rest[end..])
        }
        None => (String::new(), before),
    };
    let mut shown = authority;
    push_parts(&mut shown, path, &['/'], push_segment);
    push_parts(&mut shown, query, &['?', '#', '&'], push_parameter);
    shown
}

/// Returns the scheme and the host of a URL, without user and password (RFC 3986 section 3.2.1).
/// Only the usual schemes are shown: in a malformed URL, the text before the first `//` may be a
/// path.
fn redact_authority(scheme: &str, authority: &str) -> String {
    let mut shown = String::new();
    match scheme.trim_end_matches(['/', ':']) {
        "http" | "https" | "ws" | "wss" | "" => shown.push_str(scheme),
        _ => shown.push_str(&length(scheme.len())),
    }
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}@{host}", length(user.len()));
        }
        None => shown.push_str(authority),
    }
    shown
}

/// Appends the parts of a text, each redacted by `push`, with the separators between them.
fn push_parts(shown: &mut String, text: &str, separators: &[char], push: fn(&mut String, &str)) {
    for part in text.split_inclusive(separators) {
        let plain = part.trim_end_matches(separators);
        push(shown, plain);
        shown.push_str(&part[plain.len()..]);
    }
}

/// Appends a query parameter: its name, and the length of its value. Without `=`, all of it may be
/// a value.
fn push_parameter(shown: &mut String, parameter: &str) {
    let Some((name, value)) = parameter.split_once('=') else {
        if !parameter.is_empty() {
            shown.push_str(&length(parameter.len()));
        }
        return;
    };
    push_segment(shown, name);
    shown.push('=');
    if !value.is_empty() {
        shown.push_str(&length(value.len()));
    }
}

/// Appends a path segment, up to a character after which a parameter may follow.
fn push_segment(shown: &mut String, segment: &str) {
    let end = segment.find(is_boundary).unwrap_or(segment.len());
    let (word, rest) = segment.split_at(end);
    if is_token(word) || hides_value(word) {
        shown.push_str(&length(segment.len()));
        return;
    }
    shown.push_str(word);
    if !rest.is_empty() {
        // The boundary is one byte.
        shown.push_str(&rest[..1]);
        shown.push_str(&length(rest.len() - 1));
    }
}

/// Whether a word ends at this character, so that a value may follow.
fn is_boundary(character: char) -> bool {
    character.is_ascii_whitespace() || "/?#&;,=:@|\"'{}".contains(character)
}

/// Whether a word looks like a token.
fn is_token(word: &str) -> bool {
    let has = |text: &str, is_such: fn(&u8) -> bool| text.bytes().any(|byte| is_such(&byte));
    let runs = word.split(|character: char| !character.is_ascii_alphanumeric());
    let is_run = |run: &str| {
        run.len() >= TOKEN_RUN_BYTES
            && has(run, u8::is_ascii_digit)
            && has(run, u8::is_ascii_alphabetic)
    };
    let is_mixed = word.len() >= TOKEN_BYTES
        && has(word, u8::is_ascii_digit)
        && has(word, u8::is_ascii_uppercase)
        && has(word, u8::is_ascii_lowercase);
    // JSON in base64 begins with these letters.
    let is_json = word.len() >= TOKEN_RUN_BYTES && word.contains("eyJ");
    word.len() > 2 * NAME_BYTES_MAX || is_mixed || is_json || runs.into_iter().any(is_run)
}

/// Whether a percent-encoded word contains a token, a boundary, or too many layers of encoding.
fn hides_value(word: &str) -> bool {
    let mut text = Cow::Borrowed(word);
    for _ in 0..DECODED_MAX {
        let next = String::from_utf8_lossy(&percent_decode(text.as_bytes())).into_owned();
        if next == *text {
            return false;
        }
        if is_token(&next) || next.contains(is_boundary) {
            return true;
        }
        text = Cow::Owned(next);
    }
    true
}
