//! Runs the real binary.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The command, with the same environment on every machine.
pub(crate) fn weir<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(arguments)
        .env("COLUMNS", "80")
        .env("TZ", "UTC")
        .env("WEIR_CONFIG", "")
        .stdin(Stdio::null());
    for name in ["NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("the binary runs");
    Run {
        code: output.status.code().expect("an exit code"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs `weir` with these arguments.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    finish(&mut weir(arguments))
}

/// Runs `weir` with these arguments and this standard input.
pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    stdin: &[u8],
) -> Run {
    let mut command = weir(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    let stdin = stdin.to_vec();
    // The command may end before it has read everything.
    let writer = std::thread::spawn(move || pipe.write_all(&stdin));
    let output = child.wait_with_output().expect("the command ends");
    let _ = writer.join();
    Run {
        code: output.status.code().expect("an exit code"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A folder that is removed when the test ends.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new folder.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-cli-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in it with this content, and returns its path.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that is killed when the test ends.
#[derive(Debug)]
pub(crate) struct Served(pub(crate) Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address of the page, which is the first line of a server's standard output.
pub(crate) fn page(child: &mut Child) -> String {
    let stdout = child.stdout.take().expect("a pipe");
    let mut page = String::new();
    BufReader::new(stdout).read_line(&mut page).expect("an address");
    page.trim().to_owned()
}

/// The host of an address that a command printed, and the name of the data set there.
pub(crate) fn place(page: &str) -> (&str, &str) {
    let rest = page.strip_prefix("http://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    match path {
        "" => (host, "main"),
        _ => (host, path.strip_prefix("d/").expect("a name")),
    }
}

/// The response to a request, given by its method and path, on a connection of its own.
pub(crate) fn ask(host: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("the server listens");
    let request = format!("{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    answer
}

/// The report of the session at that address.
pub(crate) fn report(page: &str) -> serde_json::Value {
    let (host, session) = place(page);
    let answer = ask(host, &format!("GET /api/sessions/{session}/report"));
    let json = &answer[answer.find('{').expect("an object")..=answer.rfind('}').expect("an end")];
    serde_json::from_str(json).expect("JSON")
}

/// A line in combined format.
pub(crate) fn line(client: &str, time: &str, request: &str, status: u16, agent: &str) -> String {
    format!("{client} - - [{time}] \"{request}\" {status} 10 \"-\" \"{agent}\"\n")
}

/// The path as text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A generated log with one dirty line in fifty.
pub(crate) fn generated(bytes: u64) -> Vec<u8> {
    let options = weir_demo::TrafficOptions { seed: 7, bytes: Some(bytes), ..Default::default() };
    let mut traffic = weir_demo::Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}
