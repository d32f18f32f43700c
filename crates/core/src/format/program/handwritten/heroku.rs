//! The log of Heroku's router.
//!
//! ```text
//! 2017-12-13T09:51:14.562244+00:00 heroku[router]: at=info method=GET path="/" ...
//! ```
//!
//! No notation can describe it: a prefix stands before the keys, and keys may be missing. Those that
//! have no field are kept as one text, from the first of them on.
//!
//! Source: "Heroku Router Log Format" in Heroku's documentation.

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::{LineState, Sink};
use crate::format::program::tail::{MORE_VALUES, TailValues};
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::parse_rfc3339;

pub(super) const HEROKU: Definition = Definition {
    name: "HEROKU",
    kind: RecordKind::Request,
    fields: &[
        Field::Client,
        Field::Host,
        Field::Method,
        Field::Path,
        Field::Query,
        Field::Status,
        Field::Bytes,
        Field::RequestTime,
        Field::UpstreamConnectTime,
        Field::Time,
    ],
    extra_fields: &[
        MORE_VALUES,
        "http_x_forwarded_for",
        "request_id",
        "dyno",
        "scheme",
        "at",
        "code",
        "desc",
        "tls",
        "tls_version",
    ],
    parse,
    needed_bytes: b"[]:=",
    lacks_year: false,
};

/// The index of [`MORE_VALUES`].
const MORE: usize = 0;
const MS_NS: u64 = 1_000_000;

/// A key and where its value is stored.
type Key = (&'static [u8], Sink);

const fn ms(field: Field) -> Sink {
    Sink::Duration { field, unit_ns: MS_NS }
}

static KEYS: [Key; 17] = [
    (b"at", Sink::Extra(5)),
    (b"code", Sink::Extra(6)),
    (b"desc", Sink::Extra(7)),
    (b"method", Sink::Text(Field::Method)),
    (b"path", Sink::PathAndQuery),
    (b"host", Sink::Text(Field::Host)),
    (b"request_id", Sink::Extra(2)),
    (b"fwd", Sink::ForwardedFor { extra: 1 }),
    (b"dyno", Sink::Extra(3)),
    (b"connect", ms(Field::UpstreamConnectTime)),
    (b"service", ms(Field::RequestTime)),
    (b"status", Sink::Status),
    (b"bytes", Sink::Bytes),
    (b"protocol", Sink::Extra(4)),
    (b"tls", Sink::Extra(8)),
    (b"tls_version", Sink::Extra(9)),
    (b"sock", Sink::Skip),
];

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    const TIME: &str = "expected a time such as 2017-12-13T09:51:14.562244+00:00";
    let mut cursor = Cursor::new(line);
    record.time = parse_rfc3339(cursor.before(b' ', TIME)?);
    record.time.ok_or(mismatch(0, TIME))?;
    cursor.expect(b"heroku[router]: ", "expected `heroku[router]: `")?;
    set_values(&cursor, record, state)
}

/// Reads the keys and values from the cursor on. An empty value is absent.
fn set_values<'a>(
    cursor: &Cursor<'a>,
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let line = cursor.line;
    for value in TailValues::new(line, cursor.at).into_iter().flatten() {
        let known = KEYS.iter().find(|(key, _)| value.key == Some(*key));
        let Some((_, sink)) = known else {
            if record.extra(MORE).is_none() {
                record.set_extra(MORE, &line[value.start..]);
            }
            continue;
        };
        if !value.text.is_empty() {
            let reason = mismatch(value.start, "the value of this key is not of its kind");
            sink.store(value.text, record, state).ok_or(reason)?;
        }
    }
    let has_target = record.target.is_some() || record.text(Field::Path).is_some();
    match record.text(Field::Method).is_some() && has_target {
        true => Ok(()),
        false => Err(mismatch(cursor.at, "expected the keys method and path")),
    }
}
