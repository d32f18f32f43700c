//! Extracts the events of a scenario from the records of a web log.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, RecordFields, RecordKind};

use super::expression::{Failure, Fields, KnownCondition};
use super::fields::EventField;
use super::request::{is_static, split_arguments, split_file, split_request_line};
use super::scenario::{Scenario, Scope};
use crate::event::{EventHead, Events};
use crate::rule::{Line, MissingField, Observer};

/// The tag of an event whose expressions failed; its text is the reason.
pub(super) const FAILED: u32 = u32::MAX;

/// A bit of the tag: the event has a distinct value.
pub(super) const HAS_DISTINCT: u32 = 1;

/// A bit of the tag: the event ends the bucket.
pub(super) const CANCELS: u32 = 2;

/// The number of texts of an event before the fields that the bucket stores: key, subject and
/// distinct value.
pub(super) const TEXTS_BEFORE_FIELDS: usize = 3;

/// Appends an event of a scenario, if its filter selects a line. The event has the texts of
/// [`TEXTS_BEFORE_FIELDS`] and the values of [`Scenario::queue_fields`].
pub(super) fn put_event(
    scenario: &Scenario,
    is_selected: Result<bool, Failure>,
    fields: &dyn Fields,
    line: u64,
    time_ns: Option<i64>,
    source_ip: &[u8],
    events: &mut Events,
) {
    let found = match is_selected {
        Ok(false) => return,
        Ok(true) => find_event(scenario, fields, source_ip),
        Err(failure) => Err(failure),
    };
    let failed = match found {
        Ok(event) => {
            let kept = scenario.queue_fields.iter().map(|field| fields.value(*field));
            let kept: Vec<Cow<'_, [u8]>> = kept.collect();
            let texts = [&event.key[..], &event.subject[..], &event.distinct[..]];
            let texts = texts.into_iter().chain(kept.iter().map(|text| &text[..]));
            events.put(EventHead { line, time_ns, duration_ns: 0, tag: event.tag }, texts);
            return;
        }
        Err(failure) => failure,
    };
    events
        .put(EventHead { line, time_ns, duration_ns: 0, tag: FAILED }, [failed.message.as_bytes()]);
}

/// The values that a scenario extracts from an event.
struct FoundEvent<'a> {
    tag: u32,
    key: Cow<'a, [u8]>,
    subject: Cow<'a, [u8]>,
    distinct: Cow<'a, [u8]>,
}

fn find_event<'a>(
    scenario: &'a Scenario,
    fields: &'a dyn Fields,
    source_ip: &'a [u8],
) -> Result<FoundEvent<'a>, Failure> {
    let mut tag = 0;
    let key = match &scenario.group {
        Some(group) => group.text(fields)?,
        None => Cow::Borrowed(&b""[..]),
    };
    // CrowdSec counts an event even if its distinct value cannot be evaluated.
    let distinct = scenario.distinct.as_ref().and_then(|distinct| distinct.text(fields).ok());
    if distinct.is_some() {
        tag |= HAS_DISTINCT;
    }
    if let Some(cancel) = &scenario.cancel
        && cancel.holds(fields)?
    {
        tag |= CANCELS;
    }
    let subject = match &scenario.scope {
        Scope::Address => Cow::Borrowed(source_ip),
        Scope::Other(expression) => expression.text(fields)?,
    };
    Ok(FoundEvent { tag, key, subject, distinct: distinct.unwrap_or_default() })
}

/// The source of an event field in the records.
#[derive(Debug)]
enum Source {
    Constant(&'static [u8]),
    Column(FieldAccessor),
    /// Derived from the message of an error log.
    SubType(Option<FieldAccessor>),
    HttpVersion,
    /// Computed from the request.
    Computed(EventField),
    Line,
}

/// Observes the records of web logs.
pub(super) struct RecordObserver<'r> {
    scenario: &'r Scenario,
    /// Indexed by the number of the field.
    sources: Vec<Source>,
    /// Whether records without a client are skipped, as CrowdSec's parsers do for error logs.
    needs_client: bool,
    /// What is left of the filter, as far as it depends on the record. `None` if it selects none,
    /// such as that of a scenario for another type of log.
    filter: Option<KnownCondition<'r>>,
}

impl<'r> RecordObserver<'r> {
    /// Resolves the fields of a scenario.
    ///
    /// # Errors
    /// If the records have no client.
    pub(super) fn new(scenario: &'r Scenario, fields: &RecordFields) -> Result<Self, MissingField> {
        if !fields.fills(Field::Client) {
            return Err(MissingField::new(
                "client",
                "CrowdSec's scenarios need the client's address, which the log lacks: add \
                 $remote_addr to log_format",
            ));
        }
        let sources: Vec<Source> =
            scenario.fields.iter().map(|field| source_of(field, fields)).collect();
        let known = |field: usize| match sources[field] {
            Source::Constant(value) => Some(value),
            _ => None,
        };
        let is_idle = scenario.filter.is_never_true(&known);
        let filter = (!is_idle).then(|| scenario.filter.with_known(&known));
        let needs_client = fields.kind() == RecordKind::ErrorLogLine;
        Ok(Self { scenario, sources, needs_client, filter })
    }
}

fn source_of(field: &EventField, fields: &RecordFields) -> Source {
    let column = |name: &str| match fields.accessor(name) {
        Ok(accessor) => Source::Column(accessor),
        Err(_) => Source::Constant(b""),
    };
    match field {
        EventField::LogType => Source::Constant(match fields.kind() {
            RecordKind::ErrorLogLine => b"http_error-log",
            _ => b"http_access-log",
        }),
        EventField::Service => Source::Constant(b"http"),
        EventField::SubType => Source::SubType(fields.accessor("message").ok()),
        EventField::SourceIp => column("client"),
        EventField::Status => column("status"),
        EventField::UserAgent => column("user_agent"),
        EventField::Referer => column("referer"),
        EventField::User => column("user"),
        EventField::TargetHost => column("host"),
        EventField::Bytes => column("bytes"),
        EventField::HttpVersion => Source::HttpVersion,
        EventField::Line => Source::Line,
        EventField::Named(name) => column(name),
        computed => Source::Computed(computed.clone()),
    }
}

impl Observer for RecordObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(filter) = &self.filter else { return };
        let Some(record) = line.record else { return };
        let source_ip = record.text(Field::Client).unwrap_or_default();
        if self.needs_client && source_ip.is_empty() {
            return;
        }
        let fields = RecordEvent { sources: &self.sources, line: line.bytes, record };
        let time_ns = record.time.map(|time| time.unix_ns);
        let is_selected = filter.holds(&fields);
        put_event(self.scenario, is_selected, &fields, line.number, time_ns, source_ip, events);
    }
}

/// A record as an event.
struct RecordEvent<'l> {
    sources: &'l [Source],
    line: &'l [u8],
    record: &'l Record<'l>,
}

impl Fields for RecordEvent<'_> {
    fn value(&self, field: usize) -> Cow<'_, [u8]> {
        match &self.sources[field] {
            Source::Constant(text) => Cow::Borrowed(text),
            Source::Column(accessor) => accessor.value(self.record).unwrap_or_default(),
            Source::SubType(message) => {
                let message = message.and_then(|message| message.value(self.record));
                Cow::Borrowed(sub_type(&message.unwrap_or_default()))
            }
            Source::HttpVersion => {
                let protocol = self.record.text(Field::Protocol).unwrap_or_default();
                match (protocol, self.request_line()) {
                    (b"", Some((_, _, version))) => Cow::Borrowed(version),
                    _ => Cow::Borrowed(protocol.strip_prefix(b"HTTP/").unwrap_or(protocol)),
                }
            }
            Source::Line => Cow::Borrowed(self.line),
            Source::Computed(field) => self.computed(field),
        }
    }
}

impl RecordEvent<'_> {
    /// The parts of a request line that CrowdSec accepts although Weir does not.
    fn request_line(&self) -> Option<(&[u8], &[u8], &[u8])> {
        split_request_line(self.record.text(Field::Request)?)
    }

    fn computed(&self, field: &EventField) -> Cow<'_, [u8]> {
        let constant = |holds: bool| -> Cow<'_, [u8]> {
            Cow::Borrowed(if holds { b"true" } else { b"false" })
        };
        match field {
            EventField::Verb => match self.request_line() {
                Some((verb, ..)) => Cow::Borrowed(verb),
                None => Cow::Borrowed(self.record.text(Field::Method).unwrap_or_default()),
            },
            EventField::Target => self.target(),
            EventField::RawRequest => match self.request_line() {
                None => Cow::Borrowed(self.record.text(Field::Request).unwrap_or_default()),
                Some(_) => Cow::Borrowed(b""),
            },
            EventField::Request => part(self.target(), |target| split_arguments(target).0),
            EventField::Arguments => {
                part(self.target(), |target| split_arguments(target).1.unwrap_or_default())
            }
            EventField::ArgumentsLength => {
                let target = self.target();
                let length = split_arguments(&target).1.map_or(0, <[u8]>::len);
                Cow::Owned(length.to_string().into_bytes())
            }
            EventField::IsComplete => {
                let status = self.record.text(Field::Status).unwrap_or_default();
                constant(!matches!(status, b"404" | b"403" | b"502"))
            }
            EventField::IsStatic => {
                let target = self.target();
                let file = split_file(split_arguments(&target).0);
                constant(file.is_some_and(|(_, _, extension)| is_static(extension)))
            }
            _ => part(self.target(), |target| {
                let file = split_file(split_arguments(target).0);
                let (folder, stem, extension) = file.unwrap_or_default();
                match field {
                    EventField::FileDirectory => folder,
                    EventField::FileStem => stem,
                    EventField::FileExtension => extension,
                    // The file name follows the folder.
                    _ => &split_arguments(target).0[target_end(target, folder)..],
                }
            }),
        }
    }

    /// The request target as it was sent.
    fn target(&self) -> Cow<'_, [u8]> {
        let record = self.record;
        if let Some(raw) = record.text(Field::Request) {
            return Cow::Borrowed(self.request_line().map_or(raw, |(_, target, _)| target));
        }
        let path = record.text(Field::Path).unwrap_or_default();
        let Some(query) = record.text(Field::Query) else { return Cow::Borrowed(path) };
        // Path and query are adjacent in most lines.
        let whole = (path.as_ptr() as usize)
            .checked_sub(self.line.as_ptr() as usize)
            .and_then(|start| self.line.get(start..start + path.len() + 1 + query.len()));
        match whole {
            Some(whole)
                if whole.starts_with(path)
                    && whole[path.len()] == b'?'
                    && whole.ends_with(query) =>
            {
                Cow::Borrowed(whole)
            }
            _ => Cow::Owned([path, b"?", query].concat()),
        }
    }
}

/// The position at which the file name begins: after the folder, or at the end of a request without
/// a folder.
fn target_end(target: &[u8], folder: &[u8]) -> usize {
    if folder.is_empty() { split_arguments(target).0.len() } else { folder.len() }
}

/// Takes a part of a text, without a copy if the text is borrowed.
fn part<'a>(text: Cow<'a, [u8]>, of: impl Fn(&[u8]) -> &[u8]) -> Cow<'a, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(of(text)),
        Cow::Owned(text) => Cow::Owned(of(&text).to_vec()),
    }
}

/// The `sub_type` that the parsers of nginx and Apache assign to an error message.
fn sub_type(message: &[u8]) -> &'static [u8] {
    let has = |part: &str| memchr::memmem::find(message, part.as_bytes()).is_some();
    if has("limiting requests, excess") {
        b"req_limit_exceeded"
    } else if has("was not found in") || has("password mismatch") || has("Password Mismatch") {
        b"auth_fail"
    } else if has("Invalid URI") {
        b"invalid_uri"
    } else if has("client denied") {
        b"permission_denied"
    } else {
        b""
    }
}
