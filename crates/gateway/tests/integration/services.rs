//! A gRPC service and a WebSocket server of other implementations, called by their own clients
//! through the gateway.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::gate::{Gate, Row};
use crate::tokens::{ISSUER, token};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/services.py");

fn python() -> Command {
    let python = std::env::var("SERVICES_PYTHON");
    let mut command =
        Command::new(python.expect("SERVICES_PYTHON names a Python with grpcio and websockets"));
    command.arg(SCRIPT);
    command
}

/// The running services. They end when this is dropped, because their standard input closes.
struct Services {
    process: Child,
    grpc_port: u16,
    websocket_port: u16,
}

impl Services {
    fn start() -> Self {
        let mut command = python();
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("Python runs");
        let mut line = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("the ports");
        let ports: Vec<u16> =
            line.split_whitespace().map(|it| it.parse().expect("a port")).collect();
        let [grpc_port, websocket_port] = ports[..] else { panic!("`{line}` has no two ports") };
        Self { process, grpc_port, websocket_port }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs grpcio and websockets; cargo xtask test runs it"]
async fn grpc_and_websockets_pass() {
    let services = Services::start();
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../net/tests/data");
    let certificate = data.join("cert.pem").display().to_string();
    let config = format!(
        "tls = {{ certificate = \"{certificate}\", key = \"{}\" }}\n{ISSUER}\
         [backends.grpc]\ninstances = [\"http://127.0.0.1:{}\"]\nhttp2 = true\n\
         [backends.sockets]\ninstances = [\"http://127.0.0.1:{}\"]\n\
         [[routes]]\npath = \"/echo.Echo\"\nissuer = \"app\"\nbackend = \"grpc\"\n\
         [[routes]]\npath = \"/socket\"\nissuer = \"app\"\nbackend = \"sockets\"\n",
        data.join("key.pem").display(),
        services.grpc_port,
        services.websocket_port,
    );
    let gate = Gate::start_at("tls://127.0.0.1:0", &config).await;
    let mut client = python();
    client.args(["ask", &gate.address.to_string(), &certificate, &token(r#""sub":"u""#)]);
    let asked = tokio::task::spawn_blocking(move || client.output()).await.expect("no panic");
    let output = asked.expect("Python runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "passed\n", "{errors}");
    let rows = gate.rows(11).await;
    let has = |row: &Row, name: &str, value: &str| row.get(name).is_some_and(|it| it == value);
    let is_call = |row: &&Row| has(row, "protocol", "HTTP/2.0") && has(row, "backend", "grpc");
    assert_eq!(rows.iter().filter(is_call).count(), 8, "{rows:?}");
    let count = |outcome| rows.iter().filter(|row| has(row, "outcome", outcome)).count();
    // Both the client and the service end the hanging call, and either may be first.
    let ended = count("answered") + count("client_gone");
    assert_eq!((count("no_token"), ended), (2, 9), "{rows:?}");
}
