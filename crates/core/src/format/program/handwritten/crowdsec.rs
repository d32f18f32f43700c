//! The alerts and decisions in the log of CrowdSec.
//!
//! ```text
//! time="17-12-2025 09:03:01" level=info msg="Ip 192.0.2.1 performed 'crowdsecurity/http-probing' (11 events over 3s) at ..."
//! time="2025-12-17T09:03:01Z" level=info msg="(host/crowdsec) crowdsecurity/http-probing by ip 192.0.2.1 (FR/64496) : 4h ban on Ip 192.0.2.1"
//! ```
//!
//! No notation can describe it: what an alert and a decision say is a part of a text. Many programs
//! write their log with the same library, so other lines are read only if they have the form of
//! time that CrowdSec had up to version 1.5.
//!
//! Source: pkg/leakybucket/overflows.go, pkg/csprofiles and pkg/apiserver/controllers of CrowdSec
//! 1.4.6, and `TextFormatter` of logrus, which writes the values.

use memchr::memmem;

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{TimeKind, TimeParts, is_host, parse_digits};

pub(super) const CROWDSEC: Definition = Definition {
    name: "CROWDSEC",
    kind: RecordKind::FirewallEvent,
    fields: &[Field::Client, Field::Time],
    extra_fields: &["action", "rule", "level", "events", "duration", "message"],
    parse,
    needed_bytes: b"=\"",
    lacks_year: false,
};

const BAD_TIME: &str = "expected a time such as 17-12-2025 09:03:01 or 2025-12-17T09:03:01Z";

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    cursor.expect(b"time=\"", "expected `time=` and a time in quotes")?;
    let time_at = cursor.at;
    let text = cursor.before(b'"', BAD_TIME)?;
    let own_time = parse_time(text).and_then(|time| time.finish());
    record.time = match own_time {
        Some(time) => Some(time),
        None => {
            let is_rfc3339 = text.len() >= 20 && text[10] == b'T';
            let time = is_rfc3339.then(|| state.time.add(TimeKind::Any, text)).flatten();
            time.ok_or(mismatch(time_at, BAD_TIME))?;
            state.time.finish()
        }
    };
    cursor.expect(b" level=", "expected ` level=`")?;
    record.set_extra(2, cursor.before(b' ', "expected a space after the level")?);
    cursor.expect(b"msg=", "expected `msg=` and the message")?;
    let message_at = cursor.at;
    let message = cursor.rest();
    let message = message.strip_prefix(b"\"").unwrap_or(message);
    let message = message.strip_suffix(b"\"").unwrap_or(message);
    record.set_extra(5, message);
    let is_event = set_alert(message, record).or_else(|| set_decision(message, record)).is_some();
    if !is_event && own_time.is_none() {
        return Err(mismatch(message_at, "expected an alert or a decision of CrowdSec"));
    }
    Ok(())
}

/// Parses `17-12-2025 09:03:01`, in the zone of the machine.
fn parse_time(text: &[u8]) -> Option<TimeParts> {
    let text: &[u8; 19] = text.try_into().ok()?;
    if [text[2], text[5], text[10]] != *b"-- " {
        return None;
    }
    let number = |from: usize, to: usize| parse_digits(&text[from..to]);
    let mut time = TimeParts::default();
    time.set_day(number(6, 10)? as i32, number(3, 5)? as u32, number(0, 2)? as u32)?;
    time.add_time_of_day(&text[11..])?;
    Some(time)
}

/// Reads `Ip 192.0.2.1 performed 'scenario' (11 events over 3s) at ...`.
fn set_alert<'a>(message: &'a [u8], record: &mut Record<'a>) -> Option<()> {
    let (client, rest) = before(message.strip_prefix(b"Ip ")?, b" performed '")?;
    let (scenario, rest) = before(rest, b"' (")?;
    let (events, _) = before(rest, b" events over ")?;
    parse_digits(events)?;
    if !is_host(client) {
        return None;
    }
    record.set_text(Field::Client, client);
    record.set_extra(0, b"alert");
    record.set_extra(1, scenario);
    record.set_extra(3, events);
    Some(())
}

/// Reads `(machine/program) scenario by ip 192.0.2.1 (FR/64496) : 4h ban on Ip 192.0.2.1`. The
/// decision is read from the end, since a scenario may be any text.
fn set_decision<'a>(message: &'a [u8], record: &mut Record<'a>) -> Option<()> {
    let (_, rest) = before(message.strip_prefix(b"(")?, b") ")?;
    let on = memmem::rfind(rest, b" on Ip ")?;
    let client = &rest[on + b" on Ip ".len()..];
    let decision = memmem::rfind(&rest[..on], b" : ")?;
    let (duration, action) = before(&rest[decision + b" : ".len()..on], b" ")?;
    let scenario = memmem::rfind(&rest[..decision], b" by ip ")?;
    if !is_host(client) || action.is_empty() {
        return None;
    }
    record.set_text(Field::Client, client);
    record.set_extra(0, action);
    record.set_extra(1, &rest[..scenario]);
    record.set_extra(4, duration);
    Some(())
}

/// The text before the first `end`, and the text after it.
fn before<'a>(text: &'a [u8], end: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memmem::find(text, end)?;
    Some((&text[..at], &text[at + end.len()..]))
}
