//! The beginning of a line of nginx's error log.

use crate::value::parse_digits;

/// Length of `2025/12/17 09:03:01`.
pub(super) const TIME_LENGTH: usize = 19;
pub(super) const LEVELS: [&[u8]; 8] =
    [b"debug", b"info", b"notice", b"warn", b"error", b"crit", b"alert", b"emerg"];

/// Returns the offset of the message if a line begins as nginx begins them:
/// `2025/12/17 09:03:01 [error] 12#34: ` and, of a connection, `*56 `.
pub(super) fn message_start(line: &[u8]) -> Option<usize> {
    let (time, rest) = line.split_at_checked(TIME_LENGTH)?;
    if !is_time(time) {
        return None;
    }
    let rest = rest.strip_prefix(b" [")?;
    let level = LEVELS.into_iter().find(|level| rest.starts_with(level))?;
    let rest = rest[level.len()..].strip_prefix(b"] ")?;
    let rest = after_number(after_number(rest, b'#')?, b':')?.strip_prefix(b" ")?;
    let connection = rest.strip_prefix(b"*").and_then(|rest| after_number(rest, b' '));
    Some(line.len() - connection.unwrap_or(rest).len())
}

/// Whether a text of its length has the form of a time.
fn is_time(time: &[u8]) -> bool {
    const FORM: &[u8; TIME_LENGTH] = b"0000/00/00 00:00:00";
    time.iter().zip(FORM).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    })
}

/// The text after a number and the byte that ends it.
fn after_number(text: &[u8], end: u8) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    parse_digits(&text[..digits])?;
    (text.get(digits) == Some(&end)).then(|| &text[digits + 1..])
}
