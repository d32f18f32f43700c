//! Tests with nginx itself, which they need. `cargo xtask test` installs it with apt-get and runs
//! them; to run them alone: `cargo test -p weir --test integration nginx:: -- --ignored`.

#![cfg(unix)]

mod backend;
mod clients;
mod connections;
mod http_cases;
mod limits;
mod proxied_cases;
mod sending;

use std::io::BufRead;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::text;

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// nginx with a configuration in this folder. It is stopped when the test ends.
pub(crate) struct Nginx<'a> {
    folder: &'a Path,
    process: Child,
    /// The socket of its server. A port that is free now could be in use when nginx binds it.
    socket: PathBuf,
}

impl<'a> Nginx<'a> {
    /// Starts nginx with these lines of `http`, and these of its only server.
    pub(crate) fn new(folder: &'a Path, http: &str, server: &str) -> Self {
        Self::try_new(folder, http, server)
            .unwrap_or_else(|errors| panic!("nginx does not start: {errors}"))
    }

    /// Like [`new`](Self::new), but returns nginx's errors if it ends, as it does if a port of the
    /// server is in use.
    fn try_new(folder: &'a Path, http: &str, server: &str) -> Result<Self, String> {
        let socket = folder.join("nginx.sock");
        // One that failed leaves its socket behind, which the next one could not bind.
        let _ = std::fs::remove_file(&socket);
        let here = text(folder);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {here}/{name};"))
            .join("\n");
        let configuration = format!(
            "daemon off; pid {here}/nginx.pid; error_log {here}/error.log warn; worker_processes 1;\n\
             events {{ worker_connections 64; }}\n\
             http {{\n{temporary}\n{http}\n\
             server {{ listen unix:{here}/nginx.sock; keepalive_requests 100000;\n\
             {server} }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), configuration).expect("a file");
        let process = Self::command(folder).spawn().expect("nginx runs; `apt install nginx-light`");
        let mut nginx = Self { folder, process, socket };
        let start = Instant::now();
        // It writes the file when all of its sockets listen.
        while !folder.join("nginx.pid").exists() || UnixStream::connect(&nginx.socket).is_err() {
            if nginx.process.try_wait().expect("a child").is_some() {
                return Err(nginx.errors());
            }
            assert!(start.elapsed() < TIMEOUT, "nginx does not listen: {}", nginx.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(nginx)
    }

    /// A connection to its server.
    pub(crate) fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).expect("nginx listens")
    }

    fn command(folder: &Path) -> Command {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Debian installs it outside of the search path of users.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin"));
        command
    }

    /// The content of its error log.
    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.join("error.log")).unwrap_or_default()
    }
}

impl Drop for Nginx<'_> {
    fn drop(&mut self) {
        // The worker of nginx ends with it only if it is stopped cleanly.
        let stopped = Self::command(self.folder).args(["-s", "stop"]).status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

/// Reads a response with its body.
pub(crate) fn read_response(responses: &mut impl BufRead) {
    let (mut length, mut header) = (0, String::new());
    while header != "\r\n" {
        header.clear();
        assert!(responses.read_line(&mut header).expect("text") > 0, "nginx has closed");
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    responses.read_exact(&mut body).expect("a body");
}
