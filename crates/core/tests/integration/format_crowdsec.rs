//! The lines of CrowdSec's parser tests, compared with the fields that its parsers find.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use weir_core::{Field, Format, LineParser, Record, detect, format_rfc3339};
use weir_testkit::fixtures;

/// nginx's `main` after the virtual host.
const HOST_AND_MAIN: &str = r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#;

/// Parsers whose lines are not compared, and why.
const NOT_COMPARED: [(&str, &str); 11] = [
    ("Raithmir/zoraxy-logs", "a proxy's own format"),
    ("a1ad/mikrotik-logs", "a router's log"),
    ("aidalinfo/tcpudp-flood-traefik", "Traefik's log of TCP and UDP"),
    ("baudneo/zoneminder-logs", "an application's log"),
    ("bunkerity/bunkerweb-logs", "an error log and a proxy's own format"),
    ("crowdsecurity/fastly-logs", "the raw line is not given"),
    ("crowdsecurity/magento-extension-logs", "an application's log"),
    ("crowdsecurity/nginx-proxy-manager-logs", "a proxy's own format"),
    ("crowdsecurity/opnsense-gui-logs", "syslog"),
    ("crowdsecurity/pfsense-gui-logs", "syslog"),
    ("crowdsecurity/pkexec-logs", "syslog"),
];

#[test]
fn fields_are_those_that_crowdsec_finds() {
    let text = std::fs::read_to_string(fixtures::parser_cases()).unwrap();
    let mut compared = BTreeMap::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let parser = case["parser"].as_str().unwrap();
        match (parser, case["raw"].as_str()) {
            (_, None) => continue,
            (
                "crowdsecurity/nginx-logs"
                | "crowdsecurity/apache2-logs"
                | "crowdsecurity/haproxy-logs"
                | "crowdsecurity/traefik-logs",
                Some(raw),
            ) => {
                assert_eq!(case["success"], true);
                compare(parser, raw, &case["parsed"]);
                *compared.entry(parser.to_owned()).or_insert(0) += 1;
            }
            _ => assert!(NOT_COMPARED.iter().any(|(name, _)| *name == parser), "{parser}"),
        }
    }
    let expected = [
        ("crowdsecurity/apache2-logs".to_owned(), 11),
        ("crowdsecurity/haproxy-logs".to_owned(), 1),
        ("crowdsecurity/nginx-logs".to_owned(), 72),
        ("crowdsecurity/traefik-logs".to_owned(), 7),
    ];
    assert_eq!(compared, BTreeMap::from(expected));
}

/// The format of a line: the detected one, or else the definition of its server.
fn format_of(parser: &str, raw: &str) -> Arc<Format> {
    let detection = detect(raw.as_bytes());
    let name = detection.best().map_or("", |best| best.format.name());
    match parser {
        "crowdsecurity/traefik-logs" => assert_eq!(name, "TRAEFIKCLF", "{raw}"),
        "crowdsecurity/haproxy-logs" => assert_eq!(name, "HAPROXY in SYSLOG", "{raw}"),
        _ => {}
    }
    match detect(raw.as_bytes()).best() {
        Some(best) => Arc::clone(&best.format),
        None => Arc::new(Format::parse(HOST_AND_MAIN).unwrap()),
    }
}

fn compare(parser: &str, raw: &str, expected: &Value) {
    let mut line_parser = LineParser::new(format_of(parser, raw));
    let mut record = Record::new();
    if let Err(mismatch) = line_parser.parse(raw.as_bytes(), &mut record) {
        panic!("{raw}: {}", line_parser.explain(mismatch));
    }
    let text = |field: Field| record.text(field).map(|text| std::str::from_utf8(text).unwrap());
    for (name, value) in expected.as_object().unwrap() {
        let value = value.as_str().unwrap();
        let found: Option<String> = match name.as_str() {
            "remote_addr" | "clientip" => text(Field::Client).map(str::to_owned),
            "remote_user" | "auth" => text(Field::User).map(str::to_owned),
            "target_fqdn" => text(Field::Host).map(str::to_owned),
            "verb" => text(Field::Method).map(str::to_owned),
            "http_verb" => text(Field::Method).map(str::to_owned),
            "http_version" => {
                text(Field::Protocol).and_then(|text| text.strip_prefix("HTTP/")).map(str::to_owned)
            }
            "request" | "rawrequest" | "http_request" => request(&record),
            "status" | "response" | "http_status_code" => text(Field::Status).map(str::to_owned),
            "http_referer" | "referrer" => text(Field::Referer).map(str::to_owned),
            "http_user_agent" => text(Field::UserAgent).map(str::to_owned),
            "body_bytes_sent" | "bytes" => Some(
                record
                    .number(Field::Bytes)
                    .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            ),
            "time_backend_response" => {
                record.number(Field::UpstreamTime).map(|ns| (ns / 1_000_000).to_string())
            }
            "request_duration_in_ms" | "time_duration" => {
                record.number(Field::RequestTime).map(|ns| (ns / 1_000_000).to_string())
            }
            "time_local" | "timestamp" | "accept_date" => {
                let time = format_rfc3339(record.time.unwrap());
                assert_eq!(time[..4], value[7..11], "{raw}");
                assert_eq!(time[11..19], value[12..20], "{raw}");
                continue;
            }
            "client_ip" => text(Field::Client).map(str::to_owned),
            "bytes_read" => record.number(Field::Bytes).map(|bytes| bytes.to_string()),
            "frontend_name" => extra(&line_parser, &record, "frontend"),
            "backend_name" => extra(&line_parser, &record, "backend"),
            "server_name" => extra(&line_parser, &record, "server"),
            "client_port" | "termination_state" => extra(&line_parser, &record, name),
            // Not fields here: the line, the program, parts of Traefik's router names.
            "message" | "program" | "ident" => continue,
            // Not fields here: parts of HAProxy's time, other timers, connections, queues,
            // cookies.
            "time_queue" | "time_request" | "time_backend_connect" | "backend_queue" => continue,
            "retries" | "actconn" | "beconn" | "feconn" | "srvconn" | "srv_queue" => continue,
            name if name.starts_with("haproxy_") || name.starts_with("captured_") => continue,
            name if name.starts_with("traefik_") || name.starts_with("number_of_") => continue,
            name => panic!("{name} is not compared"),
        };
        assert_eq!(found.as_deref(), Some(value), "{name} of {raw}");
    }
}

/// The value of an extra field.
fn extra(parser: &LineParser, record: &Record<'_>, name: &str) -> Option<String> {
    let index = parser.format().extra_fields().iter().position(|other| other == name)?;
    record.extra(index).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The request in CrowdSec's sense: the target, or the whole text if it is not a request line.
fn request(record: &Record<'_>) -> Option<String> {
    let text = |field: Field| record.text(field).map(|text| String::from_utf8_lossy(text));
    let Some(path) = text(Field::Path) else {
        return text(Field::Request).map(|text| text.into_owned());
    };
    Some(match text(Field::Query) {
        Some(query) => format!("{path}?{query}"),
        None => path.into_owned(),
    })
}
