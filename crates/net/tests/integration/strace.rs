//! The system calls of a response, counted by strace. `cargo xtask test` installs it with apt-get
//! and runs this test. To run it alone: `cargo test -p weir-net --test integration strace:: --
//! --ignored`.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use hyper::{Request, Response};
use weir_net::{Body, IncomingBody, Server};

/// The name of the only test. strace runs it again, in a separate process.
const TEST: &str = "strace::an_answer_takes_few_system_calls";
/// Holds the path of the file to send, and makes the process of the test a server.
const FILE_VARIABLE: &str = "WEIR_TRACED_FILE";
/// The server prints its port after this word.
const PORT: &str = "listens on port ";
/// The system calls that send.
const CALLS: &str = "trace=write,writev,sendto,sendmsg,sendfile";

static PART: [u8; 1000] = [b'x'; 1000];

#[test]
#[ignore = "needs strace"]
fn an_answer_takes_few_system_calls() {
    if let Some(file) = std::env::var_os(FILE_VARIABLE) {
        return serve(Arc::new(File::open(file).unwrap()));
    }
    let traced = Traced::start();
    let of_string = traced.request("/string", 1000);
    let of_file = traced.request("/file", 100_000);
    let of_array = traced.request("/array", 100_000);
    let trace = traced.end();
    let calls = |client| calls_of(&trace, client);
    assert_eq!(calls(of_string), ["writev"], "{trace}");
    assert_eq!(calls(of_file), ["sendmsg", "sendfile"], "{trace}");
    let array = calls(of_array);
    assert!(array.len() <= 2 && array.iter().all(|call| *call == "writev"), "{trace}");
}

/// The server in a traced process.
struct Traced {
    folder: PathBuf,
    strace: Child,
    port: u16,
}

impl Traced {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("weir-strace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), PART.repeat(100)).unwrap();
        let mut strace = Command::new("strace")
            .args(["-f", "-qq", "-yy", "-e", CALLS, "-o"])
            .arg(folder.join("trace"))
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", TEST])
            .env(FILE_VARIABLE, folder.join("file"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("strace runs; `apt install strace`");
        let lines = BufReader::new(strace.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let port = lines.find_map(|line| line.split_once(PORT)?.1.parse().ok());
        // The test runner prints its result, so the pipe must be read to its end.
        std::thread::spawn(move || lines.for_each(drop));
        Self { folder, strace, port: port.expect("the server prints its port") }
    }

    /// Requests a body of this size, and returns the port of the client.
    fn request(&self, path: &str, bytes: usize) -> u16 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{path}");
        assert!(answer.ends_with(&PART.repeat(bytes / PART.len())), "{path}");
        stream.local_addr().unwrap().port()
    }

    /// Ends the server and returns its calls.
    fn end(mut self) -> String {
        drop(self.strace.stdin.take());
        assert!(self.strace.wait().unwrap().success());
        let trace = std::fs::read_to_string(self.folder.join("trace")).unwrap();
        std::fs::remove_dir_all(&self.folder).unwrap();
        trace
    }
}

/// Returns the names of the calls on the connection from this port, in order.
fn calls_of(trace: &str, client: u16) -> Vec<&str> {
    // `7 sendfile(9<TCP:[127.0.0.1:80->127.0.0.1:5000]>, 8</file>, ...) = 100000`
    let of_client = format!("->127.0.0.1:{client}]>");
    let calls = trace.lines().filter_map(|line| line.split_once('('));
    let calls = calls.filter(|(_, arguments)| {
        arguments.split(',').next().is_some_and(|first| first.ends_with(&of_client))
    });
    calls.filter_map(|(head, _)| head.split_whitespace().next_back()).collect()
}

/// Serves until its input ends.
fn serve(file: Arc<File>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        println!("\n{PORT}{}", server.local_addr().unwrap().port());
        let handler = move |request: Request<IncomingBody>, _| {
            let body = body(request.uri().path(), &file);
            async { Response::new(body) }
        };
        let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        server.serve(handler, async { drop(end.await) }).await;
    });
}

fn body(path: &str, file: &Arc<File>) -> Body {
    match path {
        "/string" => Body::from(Bytes::from_static(&PART)),
        "/file" => Body::file(Arc::clone(file), 0..100_000),
        _ => Body::from_parts((0..100).map(|_| Bytes::from_static(&PART))),
    }
}
