//! The HTTP servers that are compared, and how they are started.

use std::fmt::Write;
use std::fs;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::KINDS;
use crate::build;
use crate::process::{RunningProgram, free_port};
use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, is_installed, root};

/// Debian installs nginx outside of the search path of users.
pub(super) const NGINX: &str = "/usr/sbin/nginx";

const CERTIFICATE: &str = "crates/net/tests/data/cert.pem";
const KEY: &str = "crates/net/tests/data/key.pem";

/// The sockets on which every server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Socket {
    Tcp,
    Tls,
    Unix,
}

impl Socket {
    pub(super) const ALL: [Self; 3] = [Self::Tcp, Self::Tls, Self::Unix];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Tls => "TLS",
            Self::Unix => "Unix",
        }
    }
}

/// The address of a server on one socket.
#[derive(Debug)]
pub(super) struct Address {
    /// Without a path.
    pub(super) url: String,
    /// The path of a Unix socket.
    pub(super) unix: Option<String>,
    port: u16,
}

impl Address {
    fn is_open(&self) -> bool {
        match &self.unix {
            Some(path) => UnixStream::connect(path).is_ok(),
            None => TcpStream::connect(("127.0.0.1", self.port)).is_ok(),
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    /// The kinds of bodies that it sends.
    pub(super) kinds: &'static [&'static str],
    /// In the order of [`Socket::ALL`].
    addresses: [Address; 3],
    /// One process for all sockets, or one for each.
    processes: Vec<RunningProgram>,
}

impl Server {
    pub(super) fn address(&self, socket: Socket) -> &Address {
        &self.addresses[socket as usize]
    }

    /// The process that serves a socket.
    pub(super) fn process(&self, socket: Socket) -> &RunningProgram {
        self.processes.get(socket as usize).unwrap_or(&self.processes[0])
    }

    /// Waits until it listens on every socket.
    fn wait(&mut self) -> Outcome {
        let is_open = || self.addresses.iter().all(Address::is_open);
        let first = self.processes.first_mut().ok_or("a server has no process")?;
        first.wait_until(is_open).map_err(|error| format!("{}: {error}", self.name).into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.processes.clear();
        for socket in self.addresses.iter().filter_map(|address| address.unix.as_ref()) {
            let _ = fs::remove_file(socket);
        }
    }
}

/// Starts the servers that are installed, which send the files of a folder. Weir comes first.
pub(super) fn start(settings: &Settings, bodies: &Path) -> Outcome<Vec<Server>> {
    let program = build::contender(settings, "respond")?;
    let mut servers = vec![respond(&program, "weir", bodies)?, respond(&program, "hyper", bodies)?];
    if is_installed(NGINX) {
        servers.push(nginx(bodies)?);
    }
    servers.iter_mut().try_for_each(Server::wait)?;
    Ok(servers)
}

fn respond(program: &str, name: &'static str, bodies: &Path) -> Outcome<Server> {
    let addresses = addresses(name)?;
    let [tcp, tls, unix] = &addresses;
    let listen = [
        vec![format!("127.0.0.1:{}", tcp.port)],
        vec![format!("tls://127.0.0.1:{}", tls.port), CERTIFICATE.to_owned(), KEY.to_owned()],
        vec![format!("unix:{}", unix_path(unix))],
    ];
    let mut processes = Vec::new();
    for arguments in listen {
        let mut respond = command(program, &[name, &text(bodies)]);
        processes.push(RunningProgram::start(respond.args(arguments))?);
    }
    Ok(Server { name, kinds: &KINDS, addresses, processes })
}

/// nginx as Debian configures it, but without logs, and without a limit of requests per connection.
fn nginx(bodies: &Path) -> Outcome<Server> {
    let addresses = addresses("nginx")?;
    let [tcp, tls, unix] = &addresses;
    let (folder, here) = (text(&folder()?), root());
    let mut config = format!(
        "user root; worker_processes auto; daemon off; pid {folder}/nginx.pid; error_log stderr crit;\n\
         events {{ worker_connections 768; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n\
         server {{ listen 127.0.0.1:{}; listen 127.0.0.1:{} ssl; listen unix:{};\n\
         ssl_certificate {}/{CERTIFICATE}; ssl_certificate_key {}/{KEY};\n\
         location ~ ^/(string|file)/([0-9]+)$ {{ alias {}/$2;\n",
        tcp.port,
        tls.port,
        unix_path(unix),
        here.display(),
        here.display(),
        bodies.display(),
    );
    for number in 1..=25 {
        let _ = writeln!(config, "add_header x-my-header-{number} 'the value of a header field';");
    }
    let path = format!("{folder}/nginx.conf");
    fs::write(&path, config + "} } }\n")?;
    let mut nginx = command(NGINX, &["-e", "stderr", "-c", &path]);
    let processes = vec![RunningProgram::start(&mut nginx)?];
    Ok(Server { name: "nginx", kinds: &["string", "file"], addresses, processes })
}

/// Addresses that are free now.
fn addresses(name: &str) -> Outcome<[Address; 3]> {
    let (tcp, tls) = (free_port()?, free_port()?);
    // Outside of the build output, whose path may be too long for a socket.
    let socket = std::env::temp_dir().join(format!("weir-bench-{}-{name}", std::process::id()));
    let _ = fs::remove_file(&socket);
    Ok([
        Address { url: format!("http://127.0.0.1:{tcp}"), unix: None, port: tcp },
        Address { url: format!("https://127.0.0.1:{tls}"), unix: None, port: tls },
        Address { url: "http://localhost".to_owned(), unix: Some(text(&socket)), port: 0 },
    ])
}

fn unix_path(address: &Address) -> &str {
    address.unix.as_deref().unwrap_or_default()
}
