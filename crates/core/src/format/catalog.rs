//! The formats that Weir knows by name.
//!
//! Each has its sample lines, with the fields they have to give and the lines it must
//! refuse, in `tests/golden/formats/known/`.

use std::sync::LazyLock;

use super::Format;

/// Name and definition, the more particular formats first: where two fit a file equally
/// well, detection takes the earlier.
const DEFINITIONS: [(&str, &str); 8] = [
    // Debian's vhost_combined, and the same of those who leave the port out.
    ("VCOMBINED", r#"%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#),
    ("VCOMMON", r#"%v:%p %h %l %u %t "%r" %>s %b"#),
    // Apache's combined, and nginx's, which writes the same lines.
    ("COMBINED", r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
    // The common log format of NCSA httpd.
    ("COMMON", r#"%h %l %u %t "%r" %>s %b"#),
    // What the packages of nginx ship as `main` in nginx.conf.
    (
        "MAIN",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#,
    ),
    // Caddy's access log since 2.0. Its other messages have no size: those of the error log
    // say of one request what the access log says, once more.
    (
        "CADDY",
        "json:time=ts,client=request.client_ip|request.remote_ip|request.remote_addr,\
         user=user_id,host=request.host,method=request.method!,path=request.uri!,\
         protocol=request.proto,status=status!,bytes=size!,\
         referer=request.headers.Referer,user_agent=request.headers.User-Agent,\
         request_time=duration",
    ),
    // Traefik's access log with `format: json`. Names that begin with `request_` are kept
    // headers.
    (
        "TRAEFIK",
        "json:time=StartUTC|StartLocal|time,client=ClientHost|ClientAddr,\
         user=ClientUsername,host=RequestHost|RequestAddr,method=RequestMethod,\
         path=RequestPath!,protocol=RequestProtocol,status=DownstreamStatus!,\
         bytes=DownstreamContentSize,referer=request_Referer,\
         user_agent=request_User-Agent,request_time=Duration(ns),\
         upstream_time=OriginDuration(ns),router=RouterName,service=ServiceName",
    ),
    // Any JSON object with the names of nginx, of the W3C extended log format, or those that
    // people commonly choose.
    ("JSON", JSON),
];

const JSON: &str = "json:\
    time=time|timestamp|@timestamp|ts|time_iso8601|time_local|msec|datetime|date_time|\
    start_time|request_start,\
    client=client|remote_addr|client_ip|clientip|remote_ip|c-ip|ip|client_addr|clientaddr|\
    remoteaddr|remote|source_ip|src_ip|client.ip|client.address|source.ip|source.address,\
    user=user|remote_user|username|user_name|user_id|cs-username|user.name,\
    host=host|http_host|server_name|cs-host|vhost|domain|request_host|url.domain,\
    method=method|request_method|http_method|verb|cs-method|http.request.method,\
    path=request_uri|uri|url|path|cs-uri-stem|target|request_path|url.original|url.path,\
    query=query|args|query_string|cs-uri-query|url.query,\
    protocol=protocol|server_protocol|proto|cs-version|request_protocol,\
    status=status|status_code|statuscode|sc-status|response_status|http_status|\
    response_code|http.response.status_code,\
    bytes=bytes|body_bytes_sent|bytes_sent|sc-bytes|size|response_size|response_bytes|\
    body_bytes|http.response.body.bytes,\
    referer=referer|referrer|http_referer|http_referrer|cs(Referer)|http.request.referrer,\
    user_agent=user_agent|http_user_agent|useragent|user-agent|agent|cs(User-Agent)|\
    user_agent.original,\
    request=request|request_line,\
    request_time=request_time|duration|latency|response_time|elapsed|time-taken(ms)|\
    request_time_ms(ms)|duration_ms(ms)|latency_ms(ms)|response_time_ms(ms)|\
    elapsed_ms(ms)|duration_us(us)|latency_us(us)|duration_ns(ns)|latency_ns(ns),\
    upstream_time=upstream_time|upstream_response_time,\
    http_x_forwarded_for=http_x_forwarded_for|x_forwarded_for|xff";

/// A definition that did not compile would be missing here; a test counts them.
static KNOWN: LazyLock<Vec<Format>> = LazyLock::new(|| {
    DEFINITIONS
        .iter()
        .filter_map(|(name, definition)| Some(Format::compile(definition).ok()?.named(name)))
        .collect()
});

/// Every known format, the more particular ones first.
pub fn known_formats() -> &'static [Format] {
    &KNOWN
}

/// The known format of that name, whatever its case.
pub fn format_by_name(name: &str) -> Option<Format> {
    KNOWN.iter().find(|format| format.name().eq_ignore_ascii_case(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::{DEFINITIONS, known_formats};

    #[test]
    fn every_definition_compiles() {
        let names: Vec<&str> = known_formats().iter().map(|format| format.name()).collect();
        assert_eq!(names, DEFINITIONS.map(|(name, _)| name));
    }
}
