//! The keys of requests: templates whose variables are resolved against the fields of a log.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, RecordFields};

use super::configuration::{Configuration, LimitKind, Map, Server, Template, TemplatePart};
use crate::rule::MissingField;

/// The longest key of a limit, in bytes; nginx does not limit requests with a longer one.
pub(super) const KEY_BYTES_MAX: usize = 65_535;

/// The deepest nesting of maps.
const MAP_DEPTH_MAX: usize = 8;

/// Names, or prefixes of names, of variables that nginx only knows after it has applied limits.
const LATER: [&str; 9] = [
    "status",
    "body_bytes_sent",
    "bytes_sent",
    "request_time",
    "request_completion",
    "limit_req_status",
    "upstream_",
    "sent_http_",
    "sent_trailer_",
];

/// The keys of the zones of a configuration.
#[derive(Debug)]
pub(super) struct Keys {
    /// The keys by zone; `None` for zones that no limit uses, or whose key is not known.
    zones: Vec<Option<Key>>,
    /// The maps by number in the configuration; `None` for maps that no key uses.
    maps: Vec<Option<ResolvedMap>>,
    /// By map: its value for the present request, once computed.
    map_values: Vec<Option<Vec<u8>>>,
}

/// A request whose keys are computed.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) record: &'a Record<'a>,
    /// The normalised path.
    pub(super) path: &'a [u8],
    pub(super) server: &'a Server,
    /// The maps of the configuration.
    pub(super) maps: &'a [Map],
}

/// A property of a request on which a key depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeySource {
    Field(FieldAccessor),
    /// The server of the request.
    Server,
}

/// A template with its variables resolved.
#[derive(Debug)]
struct Key(Vec<KeyPart>);

#[derive(Debug)]
enum KeyPart {
    Text(Box<[u8]>),
    /// The value of a field; `-` stands for no value.
    Field(FieldAccessor),
    /// The normalised path.
    Path,
    /// Path and query as sent.
    RequestUri,
    /// `?` if there is a query.
    QuerySeparator,
    /// A parameter of the query.
    QueryParameter(Box<[u8]>),
    /// The first name of the server.
    ServerName,
    /// The value of the `map` or `geo` with this number.
    Map(usize),
}

/// A `map` or `geo`: the text that is looked up, and the values by number.
#[derive(Debug)]
struct ResolvedMap {
    subject: Key,
    values: Vec<Key>,
    /// The nesting depth of the maps that it uses.
    height: usize,
}

impl Keys {
    /// Resolves the keys of the zones that limits use.
    ///
    /// # Errors
    /// If the format lacks a variable of a key.
    pub(super) fn resolve<L: LimitKind>(
        configuration: &Configuration<L>,
        fields: &RecordFields,
    ) -> Result<Self, MissingField> {
        let (keys, missing) = Self::resolve_known(configuration, fields)?;
        missing.into_iter().next().map_or(Ok(keys), Err)
    }

    /// As [`Self::resolve`], but a zone has an empty key if the format lacks a variable of it, so that
    /// its limits apply to no request. Returns what is missing, once for each such zone.
    ///
    /// # Errors
    /// If no zone has a key.
    pub(super) fn resolve_known<L: LimitKind>(
        configuration: &Configuration<L>,
        fields: &RecordFields,
    ) -> Result<(Self, Vec<MissingField>), MissingField> {
        let limits = || configuration.limit_sets.iter().flat_map(|set| &set.limits);
        let is_used = |zone| limits().any(|limit| limit.zone() == zone);
        let maps = configuration.maps.iter().map(|_| None).collect();
        let written = &configuration.maps[..];
        let mut resolver = Resolver { written, fields, maps, path: Vec::new() };
        let (mut zones, mut missing) = (Vec::new(), Vec::new());
        for (number, zone) in configuration.zones.iter().enumerate() {
            let key = is_used(number).then(|| resolver.key(&zone.key, &zone.name));
            zones.push(match key {
                Some(Ok((key, _))) => Some(key),
                Some(Err(error)) => {
                    missing.push(error);
                    resolver.path.clear();
                    None
                }
                None => None,
            });
        }
        if !missing.is_empty() && zones.iter().all(Option::is_none) {
            return Err(missing.swap_remove(0));
        }
        let map_values = vec![None; resolver.maps.len()];
        Ok((Self { zones, maps: resolver.maps, map_values }, missing))
    }

    /// The distinct properties on which the key of a zone depends; empty if it has none.
    pub(super) fn sources(&self, zone: usize) -> Vec<KeySource> {
        let mut sources = Vec::new();
        if let Some(key) = &self.zones[zone] {
            key.add_sources(&self.maps, &mut sources);
        }
        sources
    }

    /// Begins another request.
    pub(super) fn begin(&mut self) {
        self.map_values.fill(None);
    }

    /// Appends the key of a request in a zone.
    pub(super) fn write(&mut self, zone: usize, request: Request<'_>, text: &mut Vec<u8>) {
        let Self { zones, maps, map_values } = self;
        if let Some(key) = &zones[zone] {
            key.write(request, maps, map_values, text);
        }
    }
}

/// Resolves templates. Each map is resolved only once.
struct Resolver<'r> {
    /// The maps of the configuration.
    written: &'r [Map],
    fields: &'r RecordFields,
    maps: Vec<Option<ResolvedMap>>,
    /// The stack of maps that are being resolved, each nested in the one before.
    path: Vec<usize>,
}

impl Resolver<'_> {
    /// Returns the key of a template, and the nesting depth of its maps.
    fn key(&mut self, template: &Template, zone: &str) -> Result<(Key, usize), MissingField> {
        let (mut parts, mut height) = (Vec::new(), 0);
        for part in &template.parts {
            let part = match part {
                TemplatePart::Text(text) => KeyPart::Text(text.as_bytes().into()),
                TemplatePart::Variable(name) => self.variable(name, zone)?,
            };
            if let KeyPart::Map(number) = part {
                height = height.max(self.maps[number].as_ref().map_or(0, |map| map.height));
            }
            parts.push(part);
        }
        Ok((Key(parts), height))
    }

    fn map(&mut self, number: usize, zone: &str) -> Result<(), MissingField> {
        let written = self.written;
        let map = &written[number];
        let too_deep = || {
            MissingField::other(format_args!(
                "the key of zone `{zone}`: ${} depends on itself, or on more than {MAP_DEPTH_MAX} maps",
                map.name
            ))
        };
        if self.maps[number].is_some() {
            return Ok(());
        }
        if self.path.contains(&number) || self.path.len() >= MAP_DEPTH_MAX {
            return Err(too_deep());
        }
        self.path.push(number);
        let (subject, mut height) = self.key(&map.subject, zone)?;
        let mut values = Vec::new();
        for value in map.values() {
            let (value, of_value) = self.key(value, zone)?;
            height = height.max(of_value);
            values.push(value);
        }
        self.path.pop();
        if height >= MAP_DEPTH_MAX {
            return Err(too_deep());
        }
        self.maps[number] = Some(ResolvedMap { subject, values, height: height + 1 });
        Ok(())
    }

    fn variable(&mut self, name: &str, zone: &str) -> Result<KeyPart, MissingField> {
        if let Some(number) = self.written.iter().position(|map| map.name == name) {
            self.map(number, zone)?;
            return Ok(KeyPart::Map(number));
        }
        let is_later = |later: &&str| {
            if later.ends_with('_') { name.starts_with(*later) } else { name == *later }
        };
        if LATER.iter().any(is_later) {
            let message = format!(
                "the key of zone `{zone}` has ${name}, which nginx only knows after it has applied the \
                 limit"
            );
            return Err(MissingField::new(name, message));
        }
        let has_path = self.fields.fills(Field::Path);
        Ok(match name {
            "uri" | "document_uri" if has_path => KeyPart::Path,
            "request_uri" if has_path => KeyPart::RequestUri,
            "is_args" if has_path => KeyPart::QuerySeparator,
            "server_name" if self.fields.accessor(name).is_err() => KeyPart::ServerName,
            name => match name.strip_prefix("arg_").filter(|_| has_path) {
                Some(parameter) => KeyPart::QueryParameter(parameter.as_bytes().into()),
                None => KeyPart::Field(self.field(name, zone)?),
            },
        })
    }

    fn field(&self, name: &str, zone: &str) -> Result<FieldAccessor, MissingField> {
        let in_log = match name {
            "binary_remote_addr" => "remote_addr",
            "http_host" | "server_name" if self.fields.accessor(name).is_err() => "host",
            name => name,
        };
        self.fields.accessor(in_log).map_err(|_| {
            if self.written.iter().any(|map| map.captures(name)) {
                return MissingField::other(format_args!(
                    "the key of zone `{zone}` has ${name}, a group of a regular expression, which is \
                     not followed"
                ));
            }
            MissingField::new(
                name,
                format_args!(
                    "the key of zone `{zone}` has ${name}, which the log lacks: add ${in_log} to \
                     log_format"
                ),
            )
        })
    }
}

impl Key {
    fn add_sources(&self, maps: &[Option<ResolvedMap>], sources: &mut Vec<KeySource>) {
        let mut add = |source| {
            if !sources.contains(&source) {
                sources.push(source);
            }
        };
        let mut of_maps = Vec::new();
        for part in &self.0 {
            let known = |field| KeySource::Field(FieldAccessor::Field(field));
            match part {
                KeyPart::Text(_) => {}
                KeyPart::Field(field) => add(KeySource::Field(*field)),
                KeyPart::Path => add(known(Field::Path)),
                KeyPart::RequestUri => {
                    [Field::Path, Field::Query].into_iter().map(known).for_each(&mut add);
                }
                KeyPart::QuerySeparator | KeyPart::QueryParameter(_) => add(known(Field::Query)),
                KeyPart::ServerName => add(KeySource::Server),
                KeyPart::Map(number) => of_maps.extend(&maps[*number]),
            }
        }
        for map in of_maps {
            for key in std::iter::once(&map.subject).chain(&map.values) {
                key.add_sources(maps, sources);
            }
        }
    }

    fn write(
        &self,
        request: Request<'_>,
        maps: &[Option<ResolvedMap>],
        map_values: &mut [Option<Vec<u8>>],
        text: &mut Vec<u8>,
    ) {
        for part in &self.0 {
            // The key is too long already.
            if text.len() > KEY_BYTES_MAX {
                return;
            }
            match part {
                KeyPart::Map(number) => match &map_values[*number] {
                    Some(value) => text.extend_from_slice(value),
                    None => {
                        let Some(map) = &maps[*number] else { continue };
                        let value = map.value(*number, request, maps, map_values);
                        text.extend_from_slice(&value);
                        map_values[*number] = Some(value);
                    }
                },
                part => part.write(request, text),
            }
        }
    }
}

impl ResolvedMap {
    /// The value for a request. A value longer than the longest key is truncated, because values
    /// that contain each other double their length with each map.
    fn value(
        &self,
        number: usize,
        request: Request<'_>,
        maps: &[Option<ResolvedMap>],
        map_values: &mut [Option<Vec<u8>>],
    ) -> Vec<u8> {
        let (mut subject, mut value) = (Vec::new(), Vec::new());
        self.subject.write(request, maps, map_values, &mut subject);
        let found = request.maps.get(number).map_or(0, |map| map.value(&subject));
        if let Some(found) = self.values.get(found) {
            found.write(request, maps, map_values, &mut value);
        }
        value.truncate(KEY_BYTES_MAX + 1);
        value
    }
}

impl KeyPart {
    fn write(&self, Request { record, path, server, .. }: Request<'_>, text: &mut Vec<u8>) {
        match self {
            Self::Text(part) => text.extend_from_slice(part),
            Self::Field(field) => text.extend_from_slice(&present(field.value(record))),
            Self::Path => text.extend_from_slice(path),
            Self::RequestUri => {
                text.extend_from_slice(record.text(Field::Path).unwrap_or_default());
                if let Some(query) = record.text(Field::Query) {
                    text.push(b'?');
                    text.extend_from_slice(query);
                }
            }
            Self::QuerySeparator => {
                if record.text(Field::Query).is_some_and(|query| !query.is_empty()) {
                    text.push(b'?');
                }
            }
            Self::QueryParameter(name) => {
                let query = record.text(Field::Query).unwrap_or_default();
                text.extend_from_slice(query_parameter(query, name));
            }
            Self::ServerName => text.extend_from_slice(server.first_name.as_bytes()),
            // The caller writes it, together with the other maps' values.
            Self::Map(_) => {}
        }
    }
}

/// The value of a variable, which is logged as `-` if it is empty.
fn present(value: Option<Cow<'_, [u8]>>) -> Cow<'_, [u8]> {
    value.filter(|value| value.as_ref() != b"-").unwrap_or_default()
}

/// The value of the first parameter with this name, as sent; follows ngx_http_arg.
fn query_parameter<'q>(query: &'q [u8], name: &[u8]) -> &'q [u8] {
    let parameters = query.split(|byte| *byte == b'&');
    let value = |parameter: &'q [u8]| {
        let (found, value) = parameter.split_at_checked(name.len())?;
        let value = value.strip_prefix(b"=")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    };
    parameters.into_iter().find_map(value).unwrap_or_default()
}
