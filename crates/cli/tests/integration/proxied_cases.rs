//! The cases of `tests/http/cases.txt` through a gateway: what its backend sees of them.

use std::path::Path;
use std::process::Stdio;

use crate::gateway::{address, config};
use crate::http_cases::Case;
use crate::recording_backend::{RecordingBackend, Seen};
use crate::support::{Folder, Served, text, weir};

/// A gateway with a backend that reports the requests that it received.
pub(crate) struct GatewayAndBackend {
    gateway: std::net::SocketAddr,
    backend: RecordingBackend,
    _process: Served,
}

impl GatewayAndBackend {
    pub(crate) fn start(folder: &Path) -> Self {
        let backend = RecordingBackend::start();
        let path = folder.join("gateway.toml");
        std::fs::write(&path, config(backend.address)).expect("written");
        let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&path)];
        let mut command = weir(arguments);
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = Served(started.expect("it starts"));
        Self { gateway: address(&mut process), backend, _process: process }
    }

    /// Sends a case. Returns the statuses of the answers, and what the backend has seen.
    pub(crate) fn ask(&self, case: &Case) -> (String, Seen) {
        (case.ask_gateway(self.gateway), self.backend.take())
    }
}

#[test]
fn a_backend_sees_each_request_as_one_and_whole() {
    let folder = Folder::new();
    let gateway = GatewayAndBackend::start(&folder.path(""));
    let (mut wrong, mut passed) = (Vec::new(), 0);
    for case in &Case::all() {
        let (answers, seen) = gateway.ask(case);
        let answered = answers.split(' ').filter(|status| *status == "200").count();
        if !seen.faults.is_empty() || seen.requests.len() != answered {
            wrong.push(format!("{}: answers {answers}, but the backend sees {seen:?}", case.name));
        }
        passed += answered;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(passed > 100, "only {passed} requests reached the backend");
}
