//! Lines of a few formats, numbered, so that tests can mix and count them.

/// A line of nginx's combined format, with its line feed.
pub fn combined(number: usize) -> String {
    format!(
        "192.0.2.{} - - [17/Dec/2025:09:03:01 +0000] \"GET /{number} HTTP/1.1\" 200 10 \"-\" \
         \"curl/8.0\"\n",
        number % 250
    )
}

/// A line of Caddy's JSON, with its line feed.
pub fn caddy(number: usize) -> String {
    format!(
        "{{\"level\":\"info\",\"ts\":1765962181.5,\"logger\":\"http.log.access\",\"msg\":\"handled \
         request\",\"request\":{{\"remote_ip\":\"192.0.2.9\",\"remote_port\":\"1\",\"proto\":\
         \"HTTP/1.1\",\"method\":\"GET\",\"host\":\"x\",\"uri\":\"/{number}\",\"headers\":{{}}}},\
         \"duration\":0.001,\"size\":10,\"status\":200}}\n"
    )
}

/// A line of the access log of `weir gateway`, with its line feed: all times differ, and one line
/// of seven lacks those of the backend.
pub fn gateway(number: usize) -> String {
    let times = |factor: usize| format!("0.{:06}", (number * factor + factor) % 1_000_000);
    let of_backend = format!(
        "\"upstream_response_time\":{},\"upstream_connect_time\":{},\"upstream_header_time\":{},\
         \"body_time\":{},",
        times(7_919),
        times(17),
        times(5_003),
        times(271),
    );
    format!(
        "{{\"time\":\"2025-12-17T09:03:01.250Z\",\"remote_addr\":\"192.0.2.1\",\"request_method\":\"GET\",\
         \"request_uri\":\"/{number}\",\"server_protocol\":\"HTTP/1.1\",\"status\":\"200\",\
         \"body_bytes_sent\":512,\"request_time\":{},{}\"wait_time\":{},\"outcome\":\"answered\"}}\n",
        times(9_973),
        if number.is_multiple_of(7) { "" } else { &of_backend },
        times(31),
    )
}

/// A line that matches no format, with its line feed.
pub fn noise(number: usize) -> String {
    format!("{number} is not a record\n")
}

/// `count` lines, numbered from 0.
pub fn many(line: fn(usize) -> String, count: usize) -> String {
    (0..count).map(line).collect()
}
