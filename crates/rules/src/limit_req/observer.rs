//! Finds the limits and keys of requests.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, RecordFields};

use super::configuration::{Configuration, Map, Server, Template, TemplatePart, Zone, normalised};
use crate::event::Events;
use crate::rule::{Line, MissingField, Observer};

/// The deepest nesting of maps.
const MAP_DEPTH_MAX: usize = 8;

/// The longest key; nginx leaves requests with a longer one alone.
const KEY_BYTES_MAX: usize = 65_535;

/// Puts an event for each request that has a limit. Its tag is the number of the limits, and its
/// texts are the keys of the limits in their order, empty where a limit does not apply.
pub(super) struct LimitObserver<'r> {
    configuration: &'r Configuration,
    host: Option<FieldAccessor>,
    /// By zone; `None` for zones that no limit has.
    keys: Vec<Option<Key<'r>>>,
    /// Whether all requests have the limits of the first server.
    is_uniform: bool,
    /// Whether the path was decoded by the server that logged it.
    time_is_arrival: bool,
    key_texts: Vec<Vec<u8>>,
}

/// A template with its variables resolved among those of some records.
#[derive(Debug)]
struct Key<'r>(Vec<KeyPart<'r>>);

#[derive(Debug)]
enum KeyPart<'r> {
    Text(&'r [u8]),
    /// The value of a field; `-` stands for no value.
    Field(FieldAccessor),
    /// The normalised path.
    Path,
    /// Path and query as they were sent.
    RequestUri,
    /// `?` if there is a query.
    QuerySeparator,
    /// A parameter of the query.
    QueryParameter(&'r str),
    /// The first name of the server.
    ServerName,
    /// A `map` or `geo`: what is looked up, and the values.
    Map {
        map: &'r Map,
        subject: Box<Key<'r>>,
        values: Vec<Key<'r>>,
    },
}

impl<'r> LimitObserver<'r> {
    /// Resolves the keys of a configuration among those of some records.
    ///
    /// # Errors
    /// If a key has a variable that the format lacks.
    pub(super) fn new(
        configuration: &'r Configuration,
        fields: &RecordFields,
    ) -> Result<Self, MissingField> {
        let limits = || configuration.limit_sets.iter().flat_map(|set| &set.limits);
        let is_used = |zone| limits().any(|limit| limit.zone == zone);
        let zones = configuration.zones.iter().enumerate();
        let key = |(number, zone): (usize, &'r Zone)| match is_used(number) {
            true => resolve(&zone.key, zone, configuration, fields, 0).map(Some),
            false => Ok(None),
        };
        let first = configuration.servers.first().map(|server| &server.root);
        let same = configuration.servers.iter().all(|server| Some(&server.root) == first);
        let host = fields.accessor("host").ok();
        if host.is_none() && !same {
            return Err(MissingField {
                message: "the servers of the configuration have different limits, and the log has \
                          no `host` to tell its servers apart: add $host to log_format, or give \
                          the block of one server as the rule"
                    .to_owned(),
            });
        }
        Ok(Self {
            configuration,
            host,
            keys: zones.map(key).collect::<Result<_, _>>()?,
            is_uniform: same && first.is_some_and(|first| first.is_uniform()),
            time_is_arrival: fields.has_arrival_times(),
            key_texts: Vec::new(),
        })
    }

    /// The server of a record: the one whose name fits best, or else the default one.
    fn server(&self, record: &Record<'_>) -> Option<&'r Server> {
        let servers = &self.configuration.servers;
        if servers.len() > 1
            && let Some(host) = self.host.and_then(|host| host.value(record))
        {
            let host = host_name(&host);
            let fitting =
                servers.iter().rev().filter_map(|server| Some((server.fit(&host)?, server)));
            if let Some((_, server)) = fitting.max_by_key(|(fit, _)| *fit) {
                return Some(server);
            }
        }
        servers.iter().find(|server| server.is_default).or(servers.first())
    }
}

impl Observer for LimitObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        // nginx refuses a request line that is not valid before it looks at limits.
        if record.text(Field::Request).is_some() {
            return;
        }
        let Some(server) = self.server(record) else { return };
        let set = match self.is_uniform {
            true => server.root.limits,
            false => {
                let path = normalised(record.text(Field::Path).unwrap_or(b"/"));
                path.and_then(|path| server.root.limits_of(&path))
            }
        };
        let Some(set) = set else { return };
        let limits = &self.configuration.limit_sets[set].limits;
        self.key_texts.resize_with(limits.len().max(self.key_texts.len()), Vec::new);
        for (limit, text) in limits.iter().zip(&mut self.key_texts) {
            text.clear();
            if let Some(key) = &self.keys[limit.zone] {
                key.write(record, server, text);
            }
            if text.len() > KEY_BYTES_MAX {
                text.clear();
            }
        }
        let texts = &self.key_texts[..limits.len()];
        if texts.iter().all(Vec::is_empty) {
            return;
        }
        let duration_ns = match self.time_is_arrival {
            true => None,
            false => record.number(Field::RequestTime),
        };
        let time = (record.time.map(|time| time.unix_ns), duration_ns.unwrap_or(0));
        events.put((line.number, set as u32), time, texts.iter().map(Vec::as_slice));
    }
}

impl Key<'_> {
    fn write(&self, record: &Record<'_>, server: &Server, text: &mut Vec<u8>) {
        for part in &self.0 {
            part.write(record, server, text);
        }
    }
}

impl KeyPart<'_> {
    fn write(&self, record: &Record<'_>, server: &Server, text: &mut Vec<u8>) {
        match self {
            Self::Text(part) => text.extend_from_slice(part),
            Self::Field(field) => text.extend_from_slice(&present(field.value(record))),
            Self::Path => {
                let path = record.text(Field::Path).unwrap_or_default();
                match normalised(path) {
                    Some(normal) => text.extend_from_slice(&normal),
                    None => text.extend_from_slice(path),
                }
            }
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
                text.extend_from_slice(query_parameter(query, name.as_bytes()));
            }
            Self::ServerName => text.extend_from_slice(server.first_name.as_bytes()),
            Self::Map { map, subject, values } => {
                let mut found = Vec::new();
                subject.write(record, server, &mut found);
                let value = map.value(&found);
                let known = map.values().iter().position(|known| std::ptr::eq(*known, value));
                if let Some(value) = known.and_then(|known| values.get(known)) {
                    value.write(record, server, text);
                }
            }
        }
    }
}

/// Resolves the variables of a template.
fn resolve<'r>(
    template: &'r Template,
    zone: &Zone,
    configuration: &'r Configuration,
    fields: &RecordFields,
    depth: usize,
) -> Result<Key<'r>, MissingField> {
    let part = |part: &'r TemplatePart| match part {
        TemplatePart::Text(text) => Ok(KeyPart::Text(text.as_bytes())),
        TemplatePart::Variable(name) => variable(name, zone, configuration, fields, depth),
    };
    Ok(Key(template.parts.iter().map(part).collect::<Result<_, _>>()?))
}

fn variable<'r>(
    name: &'r str,
    zone: &Zone,
    configuration: &'r Configuration,
    fields: &RecordFields,
    depth: usize,
) -> Result<KeyPart<'r>, MissingField> {
    let has_path = fields.fills(Field::Path);
    if let Some(map) = configuration.maps.iter().find(|map| map.name == name) {
        if depth >= MAP_DEPTH_MAX {
            let message = format!("the key of zone `{}`: ${name} depends on itself", zone.name);
            return Err(MissingField { message });
        }
        let resolve = |template| resolve(template, zone, configuration, fields, depth + 1);
        let subject = Box::new(resolve(&map.subject)?);
        let values = map.values().into_iter().map(resolve).collect::<Result<_, _>>()?;
        return Ok(KeyPart::Map { map, subject, values });
    }
    Ok(match name {
        "uri" | "document_uri" if has_path => KeyPart::Path,
        "request_uri" if has_path => KeyPart::RequestUri,
        "is_args" if has_path => KeyPart::QuerySeparator,
        "server_name" if fields.accessor(name).is_err() => KeyPart::ServerName,
        name => {
            if let Some(parameter) = name.strip_prefix("arg_").filter(|_| has_path) {
                return Ok(KeyPart::QueryParameter(parameter));
            }
            let in_log = match name {
                "binary_remote_addr" => "remote_addr",
                "http_host" | "server_name" if fields.accessor(name).is_err() => "host",
                name => name,
            };
            let field = fields.accessor(in_log).map_err(|_| MissingField {
                message: format!(
                    "the key of zone `{}` has ${name}, which the log lacks: add ${in_log} to \
                     log_format",
                    zone.name
                ),
            })?;
            KeyPart::Field(field)
        }
    })
}

/// The value of a variable that is logged as `-` if it is empty.
fn present(value: Option<Cow<'_, [u8]>>) -> Cow<'_, [u8]> {
    value.filter(|value| value.as_ref() != b"-").unwrap_or_default()
}

/// A host without its port, in lower case.
fn host_name(host: &[u8]) -> Vec<u8> {
    let mut name = host.to_ascii_lowercase();
    if !name.ends_with(b"]")
        && let Some(colon) = name.iter().rposition(|byte| *byte == b':')
    {
        name.truncate(colon);
    }
    if name.last() == Some(&b'.') {
        name.pop();
    }
    name
}

/// The value of the first parameter with this name, as it was sent, as ngx_http_arg finds it.
fn query_parameter<'q>(query: &'q [u8], name: &[u8]) -> &'q [u8] {
    let parameters = query.split(|byte| *byte == b'&');
    let value = |parameter: &'q [u8]| {
        let (found, value) = parameter.split_at_checked(name.len())?;
        let value = value.strip_prefix(b"=")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    };
    parameters.into_iter().find_map(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use weir_core::{Format, LineParser, Record};

    use super::LimitObserver;
    use crate::event::Events;
    use crate::limit_req::configuration::Configuration;
    use crate::rule::{Line, Observer};

    const FORMAT: &str =
        r#"$remote_addr $remote_user $msec $request_time $host "$request" $http_x_key"#;

    /// The key and the tag of the event of a line; `None` if there is none.
    fn key(configuration: &str, line: &str) -> Option<String> {
        let configuration = Configuration::parse(configuration).expect("it is valid");
        let format = Format::parse(FORMAT).expect("a format");
        let mut observer =
            LimitObserver::new(&configuration, &format.record_fields()).expect("it has the fields");
        let mut parser = LineParser::new(std::sync::Arc::new(format));
        let mut record = Record::new();
        parser.parse(line.as_bytes(), &mut record).expect("it fits");
        let mut events = Events::default();
        let line = Line { number: 0, bytes: line.as_bytes(), record: Some(&record) };
        observer.observe(&line, &mut events);
        let event = events.iter().next()?;
        let keys = event.texts.map(|key| String::from_utf8_lossy(key).into_owned());
        Some(keys.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn keys_are_those_of_nginx() {
        let line =
            r#"192.0.2.7 - 1.500 0.250 WWW.a.example:80 "GET /x/../%62?q=1&R=2 HTTP/1.1" k1"#;
        for (template, expected) in [
            ("$binary_remote_addr", Some("192.0.2.7")),
            ("$remote_user", None),
            ("$remote_user$http_x_key", Some("k1")),
            ("$uri", Some("/b")),
            ("$request_uri", Some("/x/../%62?q=1&R=2")),
            ("${request_method}$is_args$arg_r", Some("GET?2")),
            ("$server_name", Some("www.a.example")),
            ("$class", Some("inside k1")),
            ("$block", None),
        ] {
            let configuration = format!(
                "map $http_x_key $class {{ default none; K1 \"inside $http_x_key\"; }}
                 geo $block {{ default all; 192.0.2.0/24 \"\"; }}
                 limit_req_zone {template} zone=one:1m rate=1r/s;
                 server {{ server_name www.a.example; limit_req zone=one; }}"
            );
            assert_eq!(key(&configuration, line).as_deref(), expected, "{template}");
        }
    }

    #[test]
    fn the_server_is_found_by_the_host() {
        let servers = "limit_req_zone $server_name zone=one:1m rate=1r/s;
            server { server_name first; limit_req zone=one; }
            server { server_name *.a.example; limit_req zone=one burst=2; }
            server { server_name www.a.example; limit_req zone=one burst=3; }
            server { server_name ~^x(\\d+)\\.; limit_req zone=one burst=4; }
            server { server_name none.example; }";
        for (host, expected) in [
            ("www.a.example", Some("www.a.example")),
            ("a.a.example:8080", Some("*.a.example")),
            ("X12.example", Some(r"~^x(\d+)\.")),
            ("other", Some("first")),
            ("none.example", None),
        ] {
            let line = format!(r#"192.0.2.7 - 1.500 0.250 {host} "GET / HTTP/1.1" -"#);
            assert_eq!(key(servers, &line).as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn malformed_requests_are_not_limited() {
        let rule = "limit_req_zone $remote_addr zone=one:1m rate=1r/s; limit_req zone=one;";
        assert_eq!(key(rule, r#"192.0.2.7 - 1.5 0.2 a "\x16\x03\x01" -"#), None);
    }

    #[test]
    fn a_variable_that_the_log_lacks_is_named() {
        let configuration = Configuration::parse(
            "limit_req_zone $http_x_forwarded_for zone=one:1m rate=1r/s; limit_req zone=one;",
        );
        let configuration = configuration.expect("it is valid");
        let format = Format::parse("$remote_addr $msec").expect("a format");
        let error = LimitObserver::new(&configuration, &format.record_fields())
            .err()
            .expect("it lacks the header");
        assert!(error.message.contains("add $http_x_forwarded_for to log_format"), "{error}");
    }
}
