//! Records of nginx's error log over several lines, in every way that a log can come.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::support::{Folder, run, run_with_stdin, text};

/// What a FastCGI server wrote, as nginx's source logs it, and what becomes of it: the client of the
/// record, or none.
const RECORDS: [(&str, Option<&str>); 11] = [
    (
        "2018/04/07 20:21:45 [error] 16234#0: *88661 FastCGI sent in stderr: \"PHP message: PHP Fatal error:  Uncaught exception 'Exception' with message 'TEST' in /var/www/index.php:19
Stack trace:
#0 /var/www/index.php(7): {closure}()
#1 {main}
  thrown in /var/www/index.php on line 19\" while reading response header from upstream, client: 192.0.2.1, server: a, request: \"GET /?a=b HTTP/2.0\", upstream: \"fastcgi://unix:/run/php-fpm.sock:\", host: \"a\"",
        Some("192.0.2.1"),
    ),
    (
        "2018/04/07 20:21:46 [notice] 16234#0: signal process started",
        None,
    ),
    (
        "2018/04/07 20:21:47 [error] 16234#0: *3 FastCGI sent in stderr: \"PHP message: PHP Warning:  Undefined variable $a\" while reading upstream, client: 192.0.2.2, server: a, request: \"POST /b HTTP/1.1\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\", referrer: \"https://a/\"",
        Some("192.0.2.2"),
    ),
    (
        "2018/04/07 20:21:48 [error] 16234#0: *4 FastCGI sent in stderr: \"PHP message: one
PHP message: two

PHP message: three\" while reading response header from upstream, client: 2001:db8::1, server: a, request: \"GET /c HTTP/1.1\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\"",
        Some("2001:db8::1"),
    ),
    (
        "2018/04/07 20:21:49 [error] 16234#16240: *5 FastCGI sent in stderr: \"\tat a
\tat b\" while reading response header from upstream, client: unix:, server: a, request: \"GET /d HTTP/1.1\", subrequest: \"/auth\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\"",
        Some("unix:"),
    ),
    // A client's text begins as a record.
    (
        "2018/04/07 20:21:50 [error] 16234#0: *6 FastCGI sent in stderr: \"PHP message: no user x
2018/04/07 20:21:50 [error] 1#1: *1 forged, client: 192.0.2.66, server: a, request: \"GET /forged HTTP/1.1\", host: \"a\"
\" while reading response header from upstream, client: 192.0.2.3, server: a, request: \"GET /e HTTP/1.1\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\"",
        None,
    ),
    // It ends as a record.
    (
        "2018/04/07 20:21:51 [error] 16234#0: *7 FastCGI sent in stderr: \"PHP message: no user x\" while reading upstream, client: 192.0.2.66, server: a, request: \"GET /forged HTTP/1.1\", host: \"a\"
\" while reading response header from upstream, client: 192.0.2.3, server: a, request: \"GET /f HTTP/1.1\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\"",
        None,
    ),
    // Both in one line, which is read as before.
    (
        "2018/04/07 20:21:52 [error] 16234#0: *8 FastCGI sent in stderr: \"x\" while reading upstream, client: 192.0.2.66, server: a\" while reading upstream, client: 192.0.2.3, server: a",
        None,
    ),
    (
        "2018/04/07 20:21:53 [error] 16234#0: *9 FastCGI sent in stderr: \"PHP message: Error
in a\r
in b\" while sending to client, client: 192.0.2.4, server: a, request: \"GET /g HTTP/1.1\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\"",
        Some("192.0.2.4"),
    ),
    (
        "2018/04/07 20:21:54 [error] 16234#0: *10 open() \"/srv/h\" failed (2: No such file or directory), client: 192.0.2.5, server: a, request: \"GET /h HTTP/1.1\", host: \"a\"",
        Some("192.0.2.5"),
    ),
    (
        "2018/04/07 20:21:55 [error] 16234#0: *11 FastCGI sent in stderr: \"Primary script unknown
\" while reading response header from upstream, client: 192.0.2.6, server: a, request: \"GET /i.php HTTP/1.1\", upstream: \"fastcgi://127.0.0.1:9000\", host: \"a\"",
        Some("192.0.2.6"),
    ),
];

fn log() -> String {
    RECORDS.iter().map(|(record, _)| format!("{record}\n")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes it")
}

/// The clients of a report, sorted.
fn clients(report: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).expect("JSON");
    assert_eq!(report["matching"], RECORDS.len(), "{report:#}");
    assert_eq!(report["unparsed_lines"], 0, "{report:#}");
    let rows = report["top"]["client"].as_array().expect("a list");
    let mut clients: Vec<String> =
        rows.iter().map(|row| row["value"].as_str().expect("a text").to_owned()).collect();
    clients.sort();
    clients
}

#[test]
fn a_record_has_the_client_of_its_last_line() {
    let folder = Folder::new();
    let plain = folder.file("error.log", log().as_bytes());
    let packed = folder.file("error.log.gz", &gzip(log().as_bytes()));
    let mut expected: Vec<String> =
        RECORDS.iter().filter_map(|(_, client)| Some((*client)?.to_owned())).collect();
    expected.sort();
    for path in [&plain, &packed] {
        let run = run(["report", "--json", text(path)]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(clients(&run.stdout), expected);
    }
    let run = run_with_stdin(["report", "--json", "-"], log().as_bytes());
    assert_eq!(clients(&run.stdout), expected);
}

#[test]
fn grep_prints_records_as_they_are_in_the_log() {
    let folder = Folder::new();
    let path = folder.file("error.log", log().as_bytes());
    for (client, record) in
        [("192.0.2.1", RECORDS[0].0), ("2001:db8::1", RECORDS[3].0), ("192.0.2.4", RECORDS[8].0)]
    {
        let condition = format!("client={client}");
        let run = run(["grep", "--where", &condition, text(&path)]);
        assert_eq!((run.code, run.stdout), (0, format!("{record}\n")), "{}", run.stderr);
    }
    // Without a condition lines are searched, as grep does.
    let run = run(["grep", "thrown in", text(&path)]);
    assert_eq!(run.stdout.lines().count(), 1);
    assert!(run.stdout.starts_with("  thrown in /var/www/index.php on line 19\" while"));
}
