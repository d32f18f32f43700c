//! The HTTP servers that are compared: how they are started, and the processor time they use.

use std::fmt::Write;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::KINDS;
use crate::build;
use crate::process::processor_seconds;
use crate::settings::{Settings, cores, folder, text};
use weir_tools::shell::{Outcome, command, is_installed, root};

/// Debian installs nginx outside of the search path of users.
pub(super) const NGINX: &str = "/usr/sbin/nginx";
/// The slowest server, whose rows have fewer runs.
pub(super) const PUMA: &str = "puma";

const CERTIFICATE: &str = "crates/net/tests/data/cert.pem";
const KEY: &str = "crates/net/tests/data/key.pem";

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(20);

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
    /// The host and port.
    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

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
    processes: Vec<Child>,
}

impl Server {
    /// Waits until it listens on every socket.
    fn wait(&self) -> Outcome {
        let end = Instant::now() + START_TIMEOUT;
        for address in &self.addresses {
            while !address.is_open() {
                if Instant::now() > end {
                    return Err(format!("{} does not listen on {address:?}", self.name).into());
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    pub(super) fn address(&self, socket: Socket) -> &Address {
        &self.addresses[socket as usize]
    }

    /// The processor time that its processes have used for a socket so far.
    pub(super) fn processor_seconds(&self, socket: Socket) -> Outcome<f64> {
        let process = self.processes.get(socket as usize).unwrap_or(&self.processes[0]);
        processor_seconds(process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // SIGTERM, so that the workers of nginx and Puma end too.
            let _ = command("kill", &[&process.id().to_string()]).status();
            let _ = process.wait();
        }
        for socket in self.addresses.iter().filter_map(|address| address.unix.as_ref()) {
            let _ = fs::remove_file(socket);
        }
    }
}

/// Starts a server that sends the files of a folder.
type Start = fn(&Path) -> Outcome<Server>;

/// Starts the servers that are installed. Returns notes about the others.
pub(super) fn start(settings: &Settings, bodies: &Path) -> Outcome<(Vec<Server>, Vec<String>)> {
    let program = build::contender(settings, "respond")?;
    let mut servers = vec![respond(&program, "weir", bodies)?, respond(&program, "hyper", bodies)?];
    let others = [(NGINX, nginx as Start), ("h2o", h2o), (PUMA, puma)];
    let mut notes = Vec::new();
    for (program, start) in others {
        if is_installed(program) {
            servers.push(start(bodies)?);
        } else {
            notes.push(format!("without a row: {program}"));
        }
    }
    servers.iter().try_for_each(Server::wait)?;
    Ok((servers, notes))
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
        processes.push(spawn(command(program, &[name, &text(bodies)]).args(arguments))?);
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
    let processes = vec![spawn(&mut command(NGINX, &["-e", "stderr", "-c", &path]))?];
    Ok(Server { name: "nginx", kinds: &["string", "file"], addresses, processes })
}

fn h2o(bodies: &Path) -> Outcome<Server> {
    let addresses = addresses("h2o")?;
    let [tcp, tls, unix] = &addresses;
    let mut config = format!(
        "listen:\n  host: 127.0.0.1\n  port: {}\n\
         listen:\n  host: 127.0.0.1\n  port: {}\n  ssl:\n    certificate-file: {CERTIFICATE}\n    \
         key-file: {KEY}\n\
         listen:\n  type: unix\n  port: {}\n\
         hosts:\n  default:\n    paths:\n      /file:\n        file.dir: {}\n",
        tcp.port,
        tls.port,
        unix_path(unix),
        bodies.display(),
    );
    for number in 1..=25 {
        let _ = writeln!(
            config,
            "        header.add: \"x-my-header-{number}: the value of a header field\""
        );
    }
    let path = folder()?.join("h2o.conf");
    fs::write(&path, config)?;
    let processes = vec![spawn(&mut command("h2o", &["--conf", &text(&path)]))?];
    Ok(Server { name: "h2o", kinds: &["file"], addresses, processes })
}

fn puma(bodies: &Path) -> Outcome<Server> {
    let addresses = addresses(PUMA)?;
    let [tcp, tls, unix] = &addresses;
    let (workers, here) = (cores()?.to_string(), root());
    let mut puma = command("puma", &["--workers", &workers, "--threads", "5:5", "--no-config"]);
    puma.args(["--environment", "production", "--silent"]).env("BODIES", bodies);
    puma.args(["--bind", &format!("tcp://127.0.0.1:{}", tcp.port)]);
    let (key, certificate) = (text(&here.join(KEY)), text(&here.join(CERTIFICATE)));
    let tls = format!("ssl://127.0.0.1:{}?key={key}&cert={certificate}", tls.port);
    puma.args(["--bind", &tls, "--bind", &format!("unix://{}", unix_path(unix))]);
    let processes = vec![spawn(puma.arg("bench/http/config.ru"))?];
    Ok(Server { name: PUMA, kinds: &KINDS, addresses, processes })
}

fn spawn(command: &mut Command) -> Outcome<Child> {
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

/// Addresses that are free now.
fn addresses(name: &str) -> Outcome<[Address; 3]> {
    let (tcp, tls) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    let (tcp, tls) = (tcp.local_addr()?.port(), tls.local_addr()?.port());
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
