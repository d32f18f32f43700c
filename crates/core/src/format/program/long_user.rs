//! Users that a client has filled with what stands beside a user in a line.
//!
//! ```text
//! 192.0.2.66 - 203.0.113.5 - - [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7"
//!              `- the user -'
//! ```
//!
//! nginx and Apache log the user of a Basic authorization, also if nobody has asked for one. So a client
//! can write words, addresses, dashes and times there. Whether such words belong to the user or to other
//! values cannot be told from one line, so a format that is only tried refuses them ([`Sink::User`]). If it
//! is known to be the format of the log, the user is what stands between the dash after the client and the
//! time before the request. Servers escape quotes in it, so the first quote ends the time.

use memchr::memmem;

use super::line_program::{End, LineProgram};
use super::sink::{LineState, Sink, is_address};
use super::value_end::find_quote;
use crate::field::Field;
use crate::record::Record;
use crate::value::{CLF_LENGTH, TimeParts};

/// Where the user of a program stands, if a client and nothing else that a client chooses is before it.
#[derive(Debug, Clone)]
pub(super) struct LongUser {
    /// The index of the user among the values. The time is next.
    user: usize,
    /// The text between the user and the time.
    before_time: Box<[u8]>,
    /// The text after the time.
    after_time: Box<[u8]>,
    /// Whether lines of the same server may have the client once more, in brackets before the user: those
    /// of older releases of ingress-nginx, which are a format of their own.
    may_be_older: bool,
}

impl LongUser {
    /// `None` if the values are others.
    pub(super) fn of(program: &LineProgram) -> Option<Self> {
        let user = program.values.iter().position(|value| value.sink == Sink::User)?;
        let (before, after) = program.values.split_at(user);
        let is_part = |sink: &Sink| {
            matches!(sink, Sink::RequestTimePart { .. } | Sink::UpstreamTimePart { .. })
        };
        let has_parts = program.values.iter().any(|value| is_part(&value.sink));
        let has_client = before.iter().any(|value| value.sink.is_client());
        let ([user_value, time, ..], true, false) = (after, has_client, has_parts) else {
            return None;
        };
        let before_time = match &user_value.end {
            End::TextBeforeTime(text) | End::Text(text) => text.clone(),
            _ => return None,
        };
        let after_time = match &time.end {
            End::ClfTime(text) | End::Strftime(_, text) if !text.is_empty() => text.clone(),
            _ => return None,
        };
        let may_be_older = program.values.iter().any(|value| value.name == "$proxy_upstream_name");
        Some(Self { user, before_time, after_time, may_be_older })
    }

    /// Reads a line that `program` does not match, and that has begun to fill the record. Returns the
    /// offset after the last value. The client must be an address, and the identity a dash: other words
    /// could be those of another format.
    #[cold]
    pub(super) fn read<'a>(
        &self,
        program: &LineProgram,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Option<usize> {
        state.time = TimeParts::default();
        record.clear_request();
        let start = program.read_up_to(self.user, line, record, state).ok()?;
        let has_identity =
            program.values[..self.user].iter().any(|value| value.sink == Sink::Identity);
        let client = record.text(Field::Client).filter(|client| is_address(client))?;
        if has_identity && !line[..start].ends_with(b" - ") {
            return None;
        }
        let (user_end, time) = self.time(line, start)?;
        if self.may_be_older && begins_with_brackets(&line[start..user_end], client) {
            return None;
        }
        record.set_text(Field::User, &line[start..user_end]);
        program.read_range(self.user + 1..program.values.len(), line, time, record, state).ok()
    }

    /// The end of the user that begins at `start`, and the start of the time.
    fn time(&self, line: &[u8], start: usize) -> Option<(usize, usize)> {
        let quote = find_quote(line, start).unwrap_or(line.len());
        let window = &line[start..line.len().min(quote + self.after_time.len())];
        let time_end = start + memmem::rfind(window, &self.after_time)?;
        let usual = time_end
            .checked_sub(CLF_LENGTH)
            .filter(|time| *time >= start && line[start..*time].ends_with(&self.before_time));
        let last = || {
            let before = memmem::rfind(&line[start..time_end], &self.before_time)?;
            Some(start + before + self.before_time.len())
        };
        let time = usual.or_else(last)?;
        Some((time - self.before_time.len(), time))
    }
}

/// Whether a user begins with this client in brackets, and a dash.
fn begins_with_brackets(user: &[u8], client: &[u8]) -> bool {
    let inside = user.strip_prefix(b"[").and_then(|text| text.strip_prefix(client));
    inside.is_some_and(|rest| rest.starts_with(b"] - "))
}
