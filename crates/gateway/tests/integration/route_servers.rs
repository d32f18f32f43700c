//! Routes in front of servers of other implementations, which read paths each in its own way: no
//! spelling of a path reaches a guarded handler without a token.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::UnixStream;

use crate::backends::Backend;
use crate::gate::{Gate, PATIENCE, body, status};
use crate::spellings::{HANDLERS, spellings};
use crate::tokens::{ISSUER, token};

/// Where the programs of the servers are, by `cargo xtask test`.
const FOLDER: &str = "PEERS_FOLDER";

/// A running server, which ends when its standard input does.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    /// The folder that it works in, if it needs one.
    folder: Option<PathBuf>,
}

impl Server {
    /// Starts a server that prints its port.
    fn start(mut command: Command, folder: Option<PathBuf>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the server starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("the port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("`{line}` is not a port"));
        Self { process, port, folder }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.folder.take().map(fs::remove_dir_all);
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/peers").join(name)
}

fn programs() -> PathBuf {
    std::env::var_os(FOLDER).map(PathBuf::from).unwrap_or_else(|| panic!("{FOLDER} is not set"))
}

/// An empty folder that a server works in.
fn work_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn express() -> Server {
    let mut command = Command::new("node");
    command.arg(source("express.js")).arg(programs().join("express"));
    Server::start(command, None)
}

fn tomcat() -> Server {
    let mut command = Command::new("java");
    let jars = format!("{}/*", programs().join("tomcat").display());
    let folder = work_folder("tomcat");
    command.args(["-cp", &jars]).arg(source("Servlets.java")).arg(&folder);
    Server::start(command, Some(folder))
}

fn mux() -> Server {
    Server::start(Command::new(programs().join("mux")), None)
}

async fn nginx() -> Server {
    nginx_with(&fs::read_to_string(source("nginx.conf")).expect("the configuration")).await
}

/// nginx, which cannot choose a free port, listens on a Unix socket. In its configuration the folder of
/// the test is `FOLDER`.
pub(crate) async fn nginx_with(text: &str) -> Server {
    let folder = work_folder("nginx");
    let file = folder.join("nginx.conf");
    fs::write(&file, text.replace("FOLDER", &folder.display().to_string())).expect("a file");
    let mut command = Command::new("nginx");
    command.arg("-c").arg(file).stdin(Stdio::null());
    let process = command.spawn().expect("nginx starts");
    let socket = folder.join("socket");
    let forward = move |mut client, _| {
        let socket = socket.clone();
        async move {
            if let Ok(mut server) = UnixStream::connect(socket).await {
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        }
    };
    let port = Backend::start(forward).await.address.port();
    Server { process, port, folder: Some(folder) }
}

/// A table of routes, and the handlers that it guards.
struct Table {
    /// The paths, and whether they need a token.
    routes: &'static [(&'static str, bool)],
    /// The paths of those that let encoded slashes pass.
    passing: &'static [&'static str],
    guarded: &'static [&'static str],
}

const TABLES: [Table; 7] = [
    Table {
        routes: &[("/", false), ("/admin", true), ("/api/v1", true)],
        passing: &[],
        guarded: &["admin/users", "admin", "api/v1"],
    },
    Table {
        routes: &[("/", true), ("/public", false), ("/api", false), ("/api/v1", true)],
        passing: &[],
        guarded: &["admin/users", "admin", "api/v1", "other"],
    },
    Table {
        routes: &[
            ("/", false),
            ("/admin", false),
            ("/admin/users", true),
            ("/api", true),
            ("/api/v1", false),
        ],
        passing: &[],
        guarded: &["admin/users", "api"],
    },
    Table {
        routes: &[("/public", false), ("/admin/users", true)],
        passing: &[],
        guarded: &["admin/users", "admin", "api", "api/v1", "other"],
    },
    Table {
        routes: &[("/", true), ("/admin", true), ("/public", false)],
        passing: &["/admin", "/public"],
        guarded: &["admin/users", "admin", "api", "api/v1", "other"],
    },
    Table {
        routes: &[("/", false), ("/admin", true), ("/admin/users", true), ("/api", false)],
        passing: &["/admin", "/api"],
        guarded: &["admin/users", "admin"],
    },
    Table {
        routes: &[("/admin/users", false), ("/api/v1", false), ("/public", false)],
        passing: &["/admin/users", "/api/v1", "/public"],
        guarded: &["admin", "api", "other"],
    },
];

impl Table {
    fn config(&self, port: u16, paths: &str) -> String {
        let routes = self.routes.iter().map(|(path, is_guarded)| {
            let issuer = if *is_guarded { "issuer = \"app\"\n" } else { "" };
            let passes = self.passing.contains(path);
            let slashes = if passes { "encoded_slashes = \"pass\"\n" } else { "" };
            format!("[[routes]]\npath = \"{path}\"\nbackend = \"one\"\n{issuer}{slashes}")
        });
        let routes: String = routes.collect();
        format!(
            "{ISSUER}[backends.one]\ninstances = [\"http://127.0.0.1:{port}\"]\n{paths}\n{routes}"
        )
    }
}

/// The handler that answered a request; `None` for refusals.
async fn handler(gate: &Gate, target: &str, authorization: &str) -> Option<String> {
    let answer = gate
        .exchange(&format!(
            "GET {target} HTTP/1.1\r\nHost: gate\r\n{authorization}Connection: close\r\n\r\n"
        ))
        .await;
    let name = body(&answer).trim().strip_prefix("handler ").map(str::to_owned);
    name.filter(|_| status(&answer) == "200")
}

/// The spellings by which a request without a token reached a guarded handler, and those that
/// reached another.
async fn passed(gate: &Gate, table: &Table) -> (Vec<(String, String)>, Vec<String>) {
    let (mut passed, mut open) = (Vec::new(), Vec::new());
    for target in spellings() {
        match handler(gate, &target, "").await {
            Some(name) if table.guarded.contains(&&*name) => passed.push((target, name)),
            Some(_) => open.push(target),
            None => {}
        }
    }
    (passed, open)
}

/// Waits until the server answers, and checks that each handler is reached with a token.
async fn assert_reached(gate: &Gate, table: &Table) {
    let authorization = format!("Authorization: Bearer {}\r\n", token(r#""sub":"u""#));
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while handler(gate, "/public", &authorization).await.is_none() {
        assert!(tokio::time::Instant::now() < deadline, "the server does not answer");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for name in HANDLERS {
        let is_routed = table.routes.iter().any(|(path, _)| format!("/{name}").starts_with(path));
        let found = handler(gate, &format!("/{name}/x"), &authorization).await;
        assert_eq!(found.as_deref(), is_routed.then_some(name), "{name}");
    }
}

async fn check(server: Server, paths: &str) {
    assert!(spellings().len() >= 200, "{}", spellings().len());
    let mut open_count = 0;
    let mut has_slashes = false;
    for table in &TABLES {
        let gate = Gate::start(&table.config(server.port, paths)).await;
        assert_reached(&gate, table).await;
        let (passed, open) = passed(&gate, table).await;
        assert!(passed.is_empty(), "{:?}: {passed:?}", table.routes);
        open_count += open.len();
        has_slashes |= open.iter().any(|target| target.contains("//") || target.contains("%2f"));
    }
    assert!(has_slashes, "no encoded or repeated slash reached an open handler");
    assert!(open_count > 20, "only {open_count} spellings reached an open handler");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nginx; cargo xtask test runs it"]
async fn no_spelling_passes_to_nginx() {
    check(nginx().await, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Tomcat; cargo xtask test runs it"]
async fn no_spelling_passes_to_tomcat() {
    check(tomcat(), "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go; cargo xtask test runs it"]
async fn no_spelling_passes_to_go() {
    check(mux(), "").await;
}

/// Express ignores case, which the configuration has to say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Express; cargo xtask test runs it"]
async fn no_spelling_passes_to_express() {
    let server = express();
    let [table, ..] = &TABLES;
    let gate = Gate::start(&table.config(server.port, "")).await;
    assert_reached(&gate, table).await;
    let (passed, _) = passed(&gate, table).await;
    assert!(passed.iter().any(|(target, _)| target == "/ADMIN"), "{passed:?}");
    check(server, "paths = \"ignore-case\"").await;
}
