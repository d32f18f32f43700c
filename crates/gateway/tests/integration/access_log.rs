//! The access log, compared with the records of the same requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_core::{
    Block, BlockLimits, BlockReader, Format, Record, RecordKind, RowReader, Values, detect,
};
use weir_gateway::{AccessLogConfig, AccessLogFormat};
use weir_testkit::messages::heard;

use crate::backends::{Backend, answer_with, config};
use crate::gate::{Gate, PATIENCE, Row, status};
use crate::tokens::{ISSUER, token};

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-access-log-{}-{number}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).expect("a folder");
        folder
    }

    fn log(&self) -> PathBuf {
        self.0.join("access.log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder is for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn table(log: &Path, format: &str) -> String {
    format!("access_log = {{ file = {log:?}, format = \"{format}\" }}\n")
}

/// Reads the records of a log in its detected format.
fn read(log: &[u8], name: &str) -> Vec<Row> {
    let format: Arc<Format> = detect(log).best().expect("a format").format.clone();
    assert_eq!(format.name(), name);
    assert!(format.has_arrival_times(), "{name}");
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let segment = reader.read_segment(&Block::new(log.to_vec()), 0, &mut values);
    assert_eq!(segment.rows(), log.iter().filter(|byte| **byte == b'\n').count(), "all are parsed");
    let reader = RowReader::new(&[format], &values, RecordKind::Request);
    let mut record = Record::new();
    let rows = (0..segment.rows()).map(|row| {
        assert!(reader.read(&segment, row, &values, &mut record), "no value is lost");
        let fields = reader.fields().accessors().into_iter().filter_map(|(name, field)| {
            Some((name, String::from_utf8_lossy(&field.value(&record)?).into_owned()))
        });
        fields.collect()
    });
    rows.collect()
}

/// Requests with hostile bytes in every value that a client can choose.
async fn hostile_requests(gate: &Gate) -> usize {
    let subjects = ["jo", "jo doe", "-", "a\\\" [17/Dec/2025:09:03:01 +0000] \\\\x22 é"];
    let paths = ["/a?b=c", "/\"quoted\"?x", "/%22?x=\\x22", "/caf\u{e9}|{}", "/?", "/-"];
    let agents = ["-", "", "say \"hi\" \\", "tab\there \\x22", "caf\u{e9}"];
    let mut count = 0;
    let mut send = async |head: String| {
        let answer = gate.exchange(&format!("{head}Connection: close\r\n\r\n")).await;
        assert!(!status(&answer).is_empty(), "{head}");
        count += 1;
    };
    for subject in subjects {
        let token = token(&format!("\"sub\":\"{subject}\""));
        send(format!("GET /user HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n")).await;
    }
    for path in paths {
        send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n")).await;
    }
    for agent in agents {
        let fields = format!("User-Agent: {agent}\r\nReferer: {agent}\r\n");
        send(format!("PROPFIND / HTTP/1.0\r\nHost: a\r\n{fields}")).await;
    }
    send("OPTIONS * HTTP/1.1\r\nHost: a\r\n".to_owned()).await;
    send("GET //twice HTTP/1.1\r\nHost: b\r\n".to_owned()).await;
    send("TRACE / HTTP/1.1\r\nHost: b\r\n".to_owned()).await;
    send("GET / HTTP/1.1\r\nHost: a\r\nnot a field\r\n".to_owned()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let head = "POST /gone HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf";
    client.write_all(head.as_bytes()).await.expect("it reads");
    drop(client);
    count + 1
}

/// Returns the records of a gateway, and the content of its log.
async fn recorded(format: &str) -> (Vec<Row>, Vec<u8>) {
    let folder = Folder::new();
    let backend = Backend::answering(|_| answer_with("hello")).await;
    let servers = config(&[backend.address], "");
    let gate = Gate::start(&format!(
        "{}{ISSUER}{servers}[[routes]]\npath = \"/user\"\nissuer = \"app\"\nbackend = \"one\"\n",
        table(&folder.log(), format)
    ))
    .await;
    let count = hostile_requests(&gate).await;
    let rows = gate.rows(count).await;
    assert_eq!(rows.len(), count);
    gate.stop().await;
    (rows, std::fs::read(folder.log()).expect("a log"))
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

#[tokio::test]
async fn a_log_in_json_has_all_of_each_record() {
    let (rows, log) = recorded("json").await;
    assert!(rows.iter().any(|row| row.get("user").is_some_and(|user| user.contains("\\x22"))));
    assert!(rows.iter().any(|row| row["outcome"] == "client_gone"), "one client has gone");
    assert_eq!(sorted(read(&log, "WEIRGATEWAY")), sorted(rows));
}

/// Returns the form of a value in the combined log format, without the escapes of nginx.
fn unescaped(value: &str) -> Option<String> {
    if value == "-" {
        return None;
    }
    let mut parts = value.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("two digits"));
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn a_combined_log_has_what_its_form_has_room_for() {
    const TEXTS: [&str; 9] = [
        "client",
        "user",
        "method",
        "path",
        "query",
        "protocol",
        "status",
        "referer",
        "user_agent",
    ];
    let (rows, log) = recorded("combined").await;
    assert!(log.is_ascii());
    let read = read(&log, "COMBINED").into_iter().map(|row| {
        let time = row["time"].clone();
        let text = |name: &str| Some((name.to_owned(), unescaped(row.get(name)?)?));
        let mut texts: Row = TEXTS.into_iter().filter_map(text).collect();
        texts.extend([("time".to_owned(), time), ("bytes".to_owned(), row["bytes"].clone())]);
        texts
    });
    let rows = rows.into_iter().map(|row| {
        // The combined format truncates times to seconds.
        let time = format!("{}Z", &row["time"][.."2025-12-17T09:03:01".len()]);
        let mut texts: Row = row
            .into_iter()
            .filter(|(name, _)| TEXTS.contains(&&**name) || name == "bytes")
            .collect();
        texts.insert("time".to_owned(), time);
        texts
    });
    assert_eq!(sorted(read.collect()), sorted(rows.collect()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_is_lost_or_doubled_while_the_log_is_rotated() {
    const CLIENTS: usize = 4;
    const REQUESTS: usize = 150;
    const ROTATIONS: usize = 4;
    let folder = Folder::new();
    let backend = Backend::answering(|_| answer_with("hello")).await;
    let text = format!("{}{}", table(&folder.log(), "combined"), backend.config());
    let gate = Arc::new(Gate::start(&text).await);
    let rotations = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (gate, rotations) = (gate.clone(), rotations.clone());
            tokio::spawn(async move {
                let mut requests = 0;
                while requests < REQUESTS || rotations.load(Ordering::SeqCst) < ROTATIONS {
                    let answer = gate.get(&format!("/{client}/{requests}")).await;
                    assert_eq!(status(&answer), "200", "{answer}");
                    requests += 1;
                }
                requests
            })
        })
        .collect();
    let mut files = vec![folder.log()];
    let start = tokio::time::Instant::now();
    while !clients.iter().all(|client| client.is_finished()) {
        assert!(start.elapsed() < PATIENCE, "{rotations:?} rotations with lines");
        let renamed = folder.0.join(format!("access.log.{}", files.len()));
        std::fs::rename(folder.log(), &renamed).expect("renamed");
        gate.handle.access_log().reopen().expect("opened anew");
        tokio::time::sleep(Duration::from_millis(10)).await;
        // A rotation without requests before it proves nothing.
        if std::fs::metadata(&renamed).expect("a log").len() > 0 {
            rotations.fetch_add(1, Ordering::SeqCst);
        }
        files.push(renamed);
    }
    let mut expected = Vec::new();
    for (number, client) in clients.into_iter().enumerate() {
        let requests = client.await.expect("no panic");
        expected.extend((0..requests).map(|at| format!("/{number}/{at}")));
    }
    assert!(files.len() > ROTATIONS, "it was rotated under load");
    gate.handle.access_log().flush();
    let logs: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).expect("a log")).collect();
    assert!(logs.iter().filter(|log| !log.is_empty()).count() > 2, "several have lines");
    assert!(logs.iter().all(|log| log.is_empty() || log.ends_with('\n')), "all lines are whole");
    let lines = logs.iter().flat_map(|log| log.lines());
    let mut paths: Vec<&str> = lines.map(|line| line.split(' ').nth(6).expect("a path")).collect();
    paths.sort_unstable();
    expected.sort_unstable();
    assert_eq!(paths, expected);
    assert_eq!(gate.handle.access_log().lost(), 0);
}

#[tokio::test]
async fn lines_are_written_soon_and_in_the_form_of_their_time() {
    let folder = Folder::new();
    let backend = Backend::answering(|_| answer_with("hello")).await;
    let text = format!("{}{}", table(&folder.log(), "combined"), backend.config());
    let gate = Gate::start(&text).await;
    let log = gate.handle.access_log();
    gate.get("/first").await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while std::fs::read(folder.log()).expect("a log").is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "nobody asks for it to be written");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let json = AccessLogConfig { file: folder.log(), format: AccessLogFormat::Json };
    gate.get("/second").await;
    log.set(Some(&json)).expect("it can be opened");
    gate.get("/third").await;
    let nowhere = AccessLogConfig { file: folder.0.join("none/access.log"), ..json.clone() };
    let error = log.set(Some(&nowhere)).expect_err("there is no such folder").to_string();
    assert!(error.contains("none/access.log: the access log cannot be opened: "), "{error}");
    gate.get("/fourth").await;
    gate.rows(4).await;
    log.set(None).expect("nothing is opened");
    gate.get("/fifth").await;
    gate.rows(5).await;
    log.flush();
    let content = std::fs::read_to_string(folder.log()).expect("a log");
    let lines: Vec<&str> = content.lines().collect();
    let [first, second, third, fourth] = lines[..] else { panic!("{content}") };
    assert!(first.contains("\"GET /first HTTP/1.1\" 200 5 "), "{first}");
    assert!(second.contains("\"GET /second HTTP/1.1\" 200 5 "), "{second}");
    assert!(third.contains("\"request_uri\":\"/third\""), "{third}");
    assert!(fourth.contains("\"request_uri\":\"/fourth\""), "{fourth}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn lines_that_the_disk_refuses_are_counted() {
    let backend = Backend::answering(|_| answer_with("hello")).await;
    let log = Path::new("/dev/full");
    let gate = Gate::start(&format!("{}{}", table(log, "json"), backend.config())).await;
    for _ in 0..3 {
        assert_eq!(status(&gate.get("/").await), "200", "requests do not wait for the disk");
    }
    gate.rows(3).await;
    let log = gate.handle.access_log();
    log.flush();
    assert_eq!(log.lost(), 3);
    let heard = heard(" missing in the access log so far: No space left");
    assert_eq!(heard.len(), 1, "once in ten seconds: {heard:?}");
    assert!(heard[0].fields.contains_key("lines_lost"), "{heard:?}");
}
