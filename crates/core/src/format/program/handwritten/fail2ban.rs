//! The log of fail2ban.
//!
//! ```text
//! 2025-12-17 09:03:01,123 fail2ban.actions        [812]: NOTICE  [sshd] Ban 192.0.2.1
//! local time              logger                  pid    level   jail   message
//! ```
//!
//! No notation can describe it: the jail is optional, and the action stands before the address or
//! after it.
//!
//! Source: `getVerbosityFormat` in helpers.py of fail2ban 1.0.2 for the line; server/actions.py,
//! filter.py and observer.py for the messages: `[jail] Ban 192.0.2.1`, `Restore Ban`, `Unban`,
//! `192.0.2.1 already banned`, `Found 192.0.2.1 - time`,
//! `Increase Ban 192.0.2.1 (2 # 10m -> time)`. The observer repeats what the filter has found, with
//! `, bad`: these lines have no action.

use memchr::{memchr, memmem};

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{TimeParts, is_host, parse_digits};

pub(super) const FAIL2BAN: Definition = Definition {
    name: "FAIL2BAN",
    kind: RecordKind::FirewallEvent,
    fields: &[Field::Client, Field::Time],
    extra_fields: &["action", "rule", "level", "logger", "message"],
    parse,
    needed_bytes: b"[]:",
    lacks_year: false,
};

/// Length of `2025-12-17 09:03:01,123`.
const TIME_LENGTH: usize = 23;

/// The action of a message on the address after it.
const ACTIONS: [&[u8]; 5] = [b"Restore Ban", b"Increase Ban", b"Ban", b"Unban", b"Found"];

fn parse<'a>(line: &'a [u8], record: &mut Record<'a>, _: &mut LineState) -> Result<(), Mismatch> {
    let time = line.get(..TIME_LENGTH).and_then(TimeParts::of_date_and_time);
    let time = time.and_then(|time| time.finish());
    record.time = Some(time.ok_or(mismatch(0, "expected a time such as 2025-12-17 09:03:01,123"))?);
    let mut cursor = Cursor::new(line);
    cursor.at = TIME_LENGTH;
    cursor.expect(b" ", "expected a space after the time")?;
    let logger_at = cursor.at;
    let logger = cursor.before(b'[', "expected the name of a logger, and `[`")?.trim_ascii_end();
    if !logger.starts_with(b"fail2ban") {
        return Err(mismatch(logger_at, "expected a logger of fail2ban, such as fail2ban.actions"));
    }
    record.set_extra(3, logger);
    let process_at = cursor.at;
    let process = cursor.before(b']', "expected `]` after the number of the process")?;
    parse_digits(process).ok_or(mismatch(process_at, "expected the number of the process"))?;
    cursor.expect(b": ", "expected `: ` and the level")?;
    let rest = cursor.rest();
    let level = rest.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    if level == 0 || rest.get(level) != Some(&b' ') {
        return Err(mismatch(cursor.at, "expected a level such as NOTICE"));
    }
    record.set_extra(2, &rest[..level]);
    set_message(rest[level..].trim_ascii_start(), record);
    Ok(())
}

/// Stores the message, and the jail, the action and the address in it.
fn set_message<'a>(text: &'a [u8], record: &mut Record<'a>) {
    record.set_extra(4, text);
    let Some((jail, message)) = jail(text) else { return };
    record.set_extra(1, jail);
    if let Some(address) = message.strip_suffix(b" already banned").filter(|it| is_host(it)) {
        record.set_text(Field::Client, address);
        record.set_extra(0, b"already banned");
        return;
    }
    let action = ACTIONS.into_iter().find(|action| message.starts_with(action));
    let rest = action.and_then(|action| message[action.len()..].strip_prefix(b" "));
    let (Some(action), Some(rest)) = (action, rest) else { return };
    let is_end = |byte: &u8| matches!(byte, b' ' | b',');
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    let (address, after) = rest.split_at(end);
    let is_whole = [&b" - "[..], b", bad", b" ("].iter().any(|next| after.starts_with(next));
    if !is_host(address) || !is_whole && !after.is_empty() {
        return;
    }
    record.set_text(Field::Client, address);
    if !after.starts_with(b",") {
        record.set_extra(0, action);
    }
}

/// The jail in brackets, and the message after it.
fn jail(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = text.strip_prefix(b"[")?;
    // The name of a jail has no bracket, but may have spaces.
    let end = memchr(b']', inside)?;
    let message = inside[end..].strip_prefix(b"] ")?;
    (end > 0 && memmem::find(&inside[..end], b"[").is_none()).then_some((&inside[..end], message))
}
