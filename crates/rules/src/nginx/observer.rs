//! Finds the limits that apply to requests.

use std::borrow::Cow;
use std::sync::Arc;

use weir_core::{Field, FieldAccessor, Record, RecordFields};

use super::configuration::{Configuration, LimitKind, Server, normalised};
use super::key::{KEY_BYTES_MAX, KeySource, Keys, Request};
use crate::arrivals::ZoneLimit;
use crate::rule::MissingField;

/// Finds the limits of one kind for requests.
#[derive(Debug)]
pub(crate) struct LimitObserver<L: LimitKind> {
    configuration: Arc<Configuration<L>>,
    host: Option<FieldAccessor>,
    port: Option<FieldAccessor>,
    keys: Keys,
    /// Whether all servers have the same limits.
    is_same: bool,
    /// Whether all requests have the limits of the first server.
    is_uniform: bool,
    /// Whether times are those of arrivals, not of ends.
    time_is_arrival: bool,
    key_texts: Vec<Vec<u8>>,
}

impl<L: LimitKind> LimitObserver<L> {
    /// Resolves the keys of a configuration against the fields of requests.
    ///
    /// # Errors
    /// If they lack a variable of a key.
    pub(crate) fn new(
        configuration: &Arc<Configuration<L>>,
        fields: &RecordFields,
    ) -> Result<Self, MissingField> {
        Self::with_keys(configuration, fields, Keys::resolve(configuration, fields)?)
    }

    /// The same for the records of a log, which may lack the keys of some zones: their limits apply to
    /// no request.
    ///
    /// # Errors
    /// If the format lacks a variable of each key.
    pub(super) fn of_log(
        configuration: &Arc<Configuration<L>>,
        fields: &RecordFields,
    ) -> Result<Self, MissingField> {
        let (keys, _) = Keys::resolve_known(configuration, fields)?;
        Self::with_keys(configuration, fields, keys)
    }

    fn with_keys(
        configuration: &Arc<Configuration<L>>,
        fields: &RecordFields,
        keys: Keys,
    ) -> Result<Self, MissingField> {
        let first = configuration.servers.first().map(|server| &server.root);
        let same = configuration.servers.iter().all(|server| Some(&server.root) == first);
        let host = fields.accessor("host").ok();
        if host.is_none() && !same {
            return Err(MissingField::new(
                "host",
                "the servers of the configuration have different limits, and the log has no `host` \
                 to tell its servers apart: add $host to log_format, or give the block of one server \
                 as the rule",
            ));
        }
        let is_uniform = same && first.is_some_and(|first| first.is_uniform());
        Ok(Self {
            configuration: Arc::clone(configuration),
            host,
            port: fields.accessor("server_port").ok(),
            keys,
            is_same: same,
            is_uniform,
            time_is_arrival: fields.has_arrival_times(),
            key_texts: Vec::new(),
        })
    }

    /// Whether the limits of a request depend on its path alone, not on its server.
    pub(super) fn has_same_limits(&self) -> bool {
        self.is_same && !self.configuration.servers.is_empty()
    }

    /// The number of the limit set for the path of a record, if all servers have the same limits.
    /// `None` without limits, or if nginx refuses the path.
    pub(super) fn limits_of_path(&self, record: &Record<'_>) -> Option<usize> {
        let path = path(record)?;
        limits_of(self.configuration.servers.first()?, self.is_uniform, &path)
    }

    /// The zone of the limit at a position in a limit set; `None` after the last.
    #[inline]
    pub(super) fn zone_of_limit(&self, set: u32, position: usize) -> Option<usize> {
        let limits = &self.configuration.limit_sets[set as usize].limits;
        limits.get(position).map(ZoneLimit::zone)
    }

    /// The distinct properties on which the key of a zone depends.
    pub(super) fn key_sources(&self, zone: usize) -> Vec<KeySource> {
        let is_server_known = self.configuration.servers.len() == 1;
        let mut sources = self.keys.sources(zone);
        sources.retain(|source| *source != KeySource::Server || !is_server_known);
        sources
    }

    /// Writes the key of a record in a zone to `text`, assuming the first server.
    pub(super) fn write_key_of(&mut self, zone: usize, record: &Record<'_>, text: &mut Vec<u8>) {
        text.clear();
        let Configuration { servers, maps, .. } = &*self.configuration;
        let Some(server) = servers.first() else { return };
        let path = path(record).unwrap_or_default();
        self.keys.begin();
        let request = Request { record, path: &path, server, maps };
        write_key(&mut self.keys, zone, request, KEY_BYTES_MAX, text);
    }

    /// Whether times are those of arrivals, not of ends.
    pub(super) fn time_is_arrival(&self) -> bool {
        self.time_is_arrival
    }

    /// The number of a record's limit set, and the keys of its limits in order. A key that is empty
    /// or longer than `key_bytes_max` is an empty text. `None` if no limit applies.
    pub(crate) fn limits(
        &mut self,
        record: &Record<'_>,
        key_bytes_max: usize,
    ) -> Option<(usize, &[Vec<u8>])> {
        // nginx refuses an invalid request line or path before it applies limits.
        if record.text(Field::Request).is_some() {
            return None;
        }
        let path = path(record)?;
        let Self { configuration, host, port, keys, key_texts, is_uniform, .. } = self;
        let Configuration { servers, maps, limit_sets, .. } = &**configuration;
        let server = server_of(servers, *host, *port, record)?;
        let set = limits_of(server, *is_uniform, &path)?;
        let limits = &limit_sets[set].limits;
        key_texts.resize_with(limits.len().max(key_texts.len()), Vec::new);
        keys.begin();
        let request = Request { record, path: &path, server, maps };
        for (limit, text) in limits.iter().zip(&mut *key_texts) {
            text.clear();
            write_key(keys, limit.zone(), request, key_bytes_max, text);
        }
        let texts = &key_texts[..limits.len()];
        (!texts.iter().all(Vec::is_empty)).then_some((set, texts))
    }
}

/// The server of a record: among those on its port, the one whose name matches best, or else the
/// default one. Of equal ones, the first that has limits.
fn server_of<'s>(
    servers: &'s [Server],
    host: Option<FieldAccessor>,
    port: Option<FieldAccessor>,
    record: &Record<'_>,
) -> Option<&'s Server> {
    if let [server] = servers {
        return Some(server);
    }
    let port = port.and_then(|port| port.value(record));
    let port: Option<u16> = port.and_then(|port| std::str::from_utf8(&port).ok()?.parse().ok());
    let port = port.filter(|port| servers.iter().any(|server| server.listens_on(*port)));
    let on_port = || {
        let listens = move |server: &&Server| port.is_none_or(|port| server.listens_on(port));
        servers.iter().filter(listens)
    };
    if let Some(host) = host.and_then(|host| host.value(record)) {
        let host = host_name(&host);
        // Reversed, because `max_by_key` returns the last of equal ones.
        let fitting = on_port().rev().filter_map(|server| Some((server.fit(&host)?, server)));
        let best = fitting.max_by_key(|(fit, server)| (*fit, server.has_limits()));
        if let Some((_, server)) = best {
            return Some(server);
        }
    }
    let defaults = || on_port().filter(|server| server.is_default);
    let mut limited = defaults().filter(|server| server.has_limits());
    limited.next().or_else(|| defaults().next()).or_else(|| on_port().next())
}

/// The number of the limit set of a path in a server. `is_uniform` is whether all paths have the
/// same limits.
fn limits_of(server: &Server, is_uniform: bool, path: &[u8]) -> Option<usize> {
    if is_uniform { server.root.limits } else { server.root.limits_of(path) }
}

/// The normalised path of a record; `None` if nginx refuses it.
fn path<'a>(record: &Record<'a>) -> Option<Cow<'a, [u8]>> {
    normalised(record.text(Field::Path).unwrap_or(b"/"))
}

/// Writes a key, unless it is longer than nginx allows.
fn write_key(
    keys: &mut Keys,
    zone: usize,
    request: Request<'_>,
    key_bytes_max: usize,
    text: &mut Vec<u8>,
) {
    keys.write(zone, request, text);
    if text.len() > key_bytes_max {
        text.clear();
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_core::{Format, LineParser, Record};

    use super::LimitObserver;
    use crate::event::Events;
    use crate::nginx::configuration;
    use crate::nginx::limit_req::Limit;
    use crate::rule::{Line, Observer};

    type Configuration = configuration::Configuration<Limit>;

    const FORMAT: &str =
        r#"$remote_addr $remote_user $msec $request_time $host "$request" $http_x_key"#;

    /// The key and the tag of the event of a line; `None` if there is none.
    fn key(configuration: &str, line: &str) -> Option<String> {
        let configuration = Configuration::parse(configuration).expect("it is valid");
        key_of(&Arc::new(configuration), FORMAT, line)
    }

    /// As [`key`], with another format.
    fn key_of(configuration: &Arc<Configuration>, format: &str, line: &str) -> Option<String> {
        let format = Format::parse(format).expect("a format");
        let mut observer =
            LimitObserver::new(configuration, &format.record_fields()).expect("it has the fields");
        let mut parser = LineParser::new(Arc::new(format));
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
        let everywhere = "limit_req_zone $remote_addr zone=one:1m rate=1r/s; limit_req zone=one;";
        let within = "limit_req_zone $remote_addr zone=one:1m rate=1r/s;
            server { location / { limit_req zone=one; } }";
        for (request, is_limited) in [
            ("\\x16\\x03\\x01", false),
            ("GET /../../etc/passwd HTTP/1.1", false),
            ("GET /%zz HTTP/1.1", false),
            ("OPTIONS * HTTP/1.1", false),
            ("CONNECT a.example:443 HTTP/1.1", false),
            ("GET http://a.example/x HTTP/1.1", true),
            ("GET /x/../y HTTP/1.1", true),
        ] {
            let line = format!(r#"192.0.2.7 - 1.5 0.2 a "{request}" -"#);
            let expected = is_limited.then_some("192.0.2.7");
            assert_eq!(key(everywhere, &line).as_deref(), expected, "{request}");
            assert_eq!(key(within, &line).as_deref(), expected, "{request}");
        }
    }

    #[test]
    fn servers_of_one_name_are_told_apart_by_their_ports() {
        let limit = "limit_req zone=one";
        let text = format!(
            "limit_req_zone $server_name zone=one:1m rate=1r/s;
            server {{ listen 80; server_name a.example; return 301 https://a.example; }}
            server {{ listen [::]:443 ssl; server_name a.example b.example; {limit}; }}
            server {{ listen 8443; server_name c.example a.example; {limit} burst=2; }}"
        );
        let configuration = Arc::new(Configuration::parse(&text).expect("it is valid"));
        for (format, line, expected) in [
            ("$remote_addr $msec $host", "192.0.2.7 1.5 a.example", Some("a.example")),
            ("$remote_addr $msec $host $server_port", "192.0.2.7 1.5 a.example 80", None),
            (
                "$remote_addr $msec $host $server_port",
                "192.0.2.7 1.5 a.example 443",
                Some("a.example"),
            ),
            (
                "$remote_addr $msec $host $server_port",
                "192.0.2.7 1.5 a.example 8443",
                Some("c.example"),
            ),
            // No server listens on this port: a proxy forwards from it.
            (
                "$remote_addr $msec $host $server_port",
                "192.0.2.7 1.5 a.example 99",
                Some("a.example"),
            ),
        ] {
            assert_eq!(key_of(&configuration, format, line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn the_last_of_equal_networks_and_the_longest_of_others_count() {
        let text = "geo $block { default none; 192.0.2.0/24 first; 192.0.2.0/24 last;
                192.0.2.128/25 longer; 192.0.0.0/16 shorter; }
            limit_req_zone $block zone=one:1m rate=1r/s; limit_req zone=one;";
        for (client, expected) in [
            ("192.0.2.1", "last"),
            ("192.0.2.200", "longer"),
            ("192.0.3.1", "shorter"),
            ("198.51.100.1", "none"),
            ("a.example", "none"),
        ] {
            let line = format!(r#"{client} - 1.5 0.2 a "GET / HTTP/1.1" -"#);
            assert_eq!(key(text, &line).as_deref(), Some(expected), "{client}");
        }
    }

    /// The memory would be that of ten to the power of seven maps, and that of keys of 5^7 bytes.
    #[test]
    fn maps_of_maps_are_resolved_once() {
        let mut text = String::from("map $remote_user $m7 { default xxxxx; }");
        for level in 0..7 {
            let next = format!("$m{}", level + 1);
            let values: String = (0..1_000).map(|n| format!("k{n} {next};")).collect();
            text += &format!("map $host $m{level} {{ default {}; {values} }}", next.repeat(9));
        }
        text += "limit_req_zone $m0 zone=one:1m rate=1r/s; limit_req zone=one;";
        let line = r#"192.0.2.7 - 1.5 0.2 a "GET / HTTP/1.1" -"#;
        assert_eq!(key(&text, line), None, "the key is too long");
        let line = r#"192.0.2.7 - 1.5 0.2 k7 "GET / HTTP/1.1" -"#;
        assert_eq!(key(&text, line).as_deref(), Some("xxxxx"));
    }

    #[test]
    fn a_variable_that_no_key_can_have_is_named() {
        let maps = "map $remote_addr $a { default $b; } map $remote_addr $b { default $a; }
            map $remote_addr $c { ~(?<part>x) $part; }";
        for (variable, message) in [
            ("$http_x_forwarded_for", "add $http_x_forwarded_for to log_format"),
            ("$status", "only knows after"),
            ("$upstream_addr", "only knows after"),
            ("$a", "depends on itself"),
            ("$c", "not followed"),
        ] {
            let text = format!(
                "{maps} limit_req_zone {variable} zone=one:1m rate=1r/s; limit_req zone=one;"
            );
            let configuration = Arc::new(Configuration::parse(&text).expect("it is valid"));
            let format = Format::parse("$remote_addr $msec $status").expect("a format");
            let error = LimitObserver::new(&configuration, &format.record_fields());
            let error = error.expect_err("it is refused");
            assert!(error.message.contains(message), "{error}");
        }
    }
}
