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

/// A line that matches no format, with its line feed.
pub fn noise(number: usize) -> String {
    format!("{number} is not a record\n")
}

/// `count` lines, numbered from 0.
pub fn many(line: fn(usize) -> String, count: usize) -> String {
    (0..count).map(line).collect()
}
