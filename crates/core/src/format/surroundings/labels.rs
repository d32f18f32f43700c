//! Whether the values of a log are those that a format's names state.
//!
//! A text format takes a value for what stands in its place: any text before the client for a virtual
//! host, any quoted text at the end for `X-Forwarded-For`. If the values of most lines are of another
//! kind, the format does not fit, although every line matches it.

use super::evidence::{Evidence, FORWARDED_FOR, FirstValues, is_virtual_host, port_of};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::program::Program;
use crate::format::program::sink::{Sink, is_address};
use crate::record::Record;
use crate::value::{is_method, split_port};

/// The values of some lines that a format names by their place alone.
#[derive(Debug)]
pub(in crate::format) struct Labels {
    forwarded: Option<(usize, Evidence)>,
    first_values: Option<FirstValues>,
    /// Of a format whose client a host follows.
    hosts: Option<Share>,
    /// Of a format whose requests have whole URLs.
    urls: Option<Share>,
    /// The users, of which an address with a port is none.
    users: Share,
    /// The referers, of which a text with a quote before it belongs to a line with quotes.
    referers: Option<Share>,
    /// The hosts and methods of a format that knows them by their place. Clients choose both, so a few
    /// of another kind prove nothing.
    places: Option<Places>,
}

/// Values whose names follow from their place in a line.
#[derive(Debug, Default)]
struct Places {
    /// Not of those before a client, which [`FirstValues`] judges.
    hosts: Option<Share>,
    methods: Share,
    records: u64,
}

/// The values that are of the kind that the format states, among others.
#[derive(Debug, Default)]
struct Share {
    values: u64,
    fitting: u64,
}

impl Share {
    fn add(&mut self, is_fitting: bool) {
        self.values += 1;
        self.fitting += u64::from(is_fitting);
    }

    /// Whether no more than half of the values fit.
    fn contradicts(&self) -> bool {
        self.values > 0 && self.fitting * 2 <= self.values
    }

    /// Whether most of so many records have a value, and none fits. A few values prove nothing where the
    /// others have none.
    fn is_refuted(&self, records: u64) -> bool {
        self.values * 2 > records && self.fitting == 0
    }
}

impl Labels {
    /// No lines of a format.
    pub(in crate::format) fn of(format: &Format) -> Self {
        let program = match format.program() {
            Program::Line(program) => Some(program),
            _ => None,
        };
        let is_forwarded = |name: &String| name == FORWARDED_FOR;
        let forwarded = format.extra_fields().iter().position(is_forwarded);
        let forwarded = forwarded.filter(|_| program.is_some() && !format.is_surrounded());
        Self {
            forwarded: forwarded.map(|index| (index, Evidence::default())),
            first_values: begins_with_host(format).then(FirstValues::default),
            hosts: has_host_after_client(format).then(Share::default),
            urls: has_urls(format).then(Share::default),
            users: Share::default(),
            referers: program.is_some().then(Share::default),
            places: Places::of(format),
        }
    }

    /// Notes that the log itself names its values, in a directive.
    pub(in crate::format) fn are_those_of_the_log(&mut self) {
        self.places = None;
    }

    /// Adds the record of a line.
    pub(in crate::format) fn add(&mut self, record: &Record<'_>) {
        if let Some((index, evidence)) = &mut self.forwarded
            && let Some(value) = record.extra(*index)
        {
            evidence.add(value);
        }
        if let Some(hosts) = &mut self.hosts {
            hosts.add(record.text(Field::Host).is_some_and(is_full_name));
        }
        if let Some(user) = record.text(Field::User).filter(|user| !matches!(*user, b"-" | b"")) {
            self.users.add(port_of(user).is_none());
        }
        if let (Some(referers), Some(referer)) = (&mut self.referers, record.text(Field::Referer))
            && referer != b"-"
        {
            referers.add(referer.first() != Some(&b'"'));
        }
        if let Some(places) = &mut self.places {
            places.records += 1;
            let value = |field| record.text(field).filter(|value| !matches!(*value, b"-" | b""));
            if let (Some(hosts), Some(host)) = (&mut places.hosts, value(Field::Host)) {
                hosts.add(is_virtual_host(split_port(host).0));
            }
            if let Some(method) = value(Field::Method) {
                places.methods.add(is_method(method));
            }
        }
        if let (Some(urls), Some(_)) = (&mut self.urls, record.text(Field::Path)) {
            urls.add(record.text(Field::Host).is_some());
        }
        if let Some(values) = &mut self.first_values
            && let (Some(host), Some(client)) =
                (record.text(Field::Host), record.text(Field::Client))
        {
            values.add(host, client);
        }
    }

    /// Why most values are not of the kind that the format states, if so.
    pub(in crate::format) fn contradiction(&self) -> Option<&'static str> {
        let (forwarded, first) = (self.forwarded.as_ref(), self.first_values.as_ref());
        if forwarded.is_some_and(|(_, evidence)| evidence.contradicts_addresses()) {
            return Some("the last value is not X-Forwarded-For: it is no address in most lines");
        }
        if self.hosts.as_ref().is_some_and(Share::contradicts) {
            return Some("the value after the client is not a host in most lines");
        }
        if self.users.contradicts() {
            return Some("the user is an address with a port in most lines");
        }
        if self.referers.as_ref().is_some_and(Share::contradicts) {
            return Some("the referer begins with a quote in most lines");
        }
        if self.urls.as_ref().is_some_and(Share::contradicts) {
            return Some("the requests have no whole URLs in most lines");
        }
        if let Some(reason) = self.places.as_ref().and_then(Places::contradiction) {
            return Some(reason);
        }
        first
            .is_some_and(FirstValues::contradict_hosts)
            .then_some("the first value is not a virtual host in most lines")
    }
}

/// Whether the value after the client is taken for a virtual host.
fn has_host_after_client(format: &Format) -> bool {
    let Program::Line(program) = format.program() else { return false };
    let is = |index: usize, field| {
        program.values.get(index).is_some_and(|value| value.sink.fields() == [field])
    };
    is(0, Field::Client) && is(1, Field::Host)
}

impl Places {
    /// The places of a format, unless its values have keys beside them.
    fn of(format: &Format) -> Option<Self> {
        let has_places = matches!(format.program(), Program::Line(_) | Program::Delimited(_));
        let hosts = (!begins_with_host(format)).then(Share::default);
        has_places.then(|| Self { hosts, methods: Share::default(), records: 0 })
    }

    fn contradiction(&self) -> Option<&'static str> {
        if self.hosts.as_ref().is_some_and(|hosts| hosts.is_refuted(self.records)) {
            return Some("the value in the place of the host is no host in any line");
        }
        let is_refuted = self.methods.is_refuted(self.records);
        is_refuted.then_some("the value in the place of the method is no method in any line")
    }
}

/// Whether a value is a host name of several labels: one alone could be any word.
fn is_full_name(value: &[u8]) -> bool {
    value.contains(&b'.') && is_virtual_host(value) && !is_address(value)
}

/// Whether the request lines have whole URLs.
pub(super) fn has_urls(format: &Format) -> bool {
    let Program::Line(program) = format.program() else { return false };
    program.values.iter().any(|value| value.sink == Sink::UrlRequestLine)
}

/// Whether the first value of a line is taken for a virtual host.
pub(super) fn begins_with_host(format: &Format) -> bool {
    let Program::Line(program) = format.program() else { return false };
    program.values.first().is_some_and(|value| value.sink.fields() == [Field::Host])
}
