//! The proxies that are compared, and their backend.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::configurations;
use crate::process::processor_seconds;
use crate::settings::{Settings, folder, text};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command, output_of};

/// Debian installs nginx outside of the search path of users.
pub(in crate::benchmarks) const NGINX: &str = "/usr/sbin/nginx";

/// The module of njs, where Debian installs it.
const NJS_MODULE: &str = "usr/lib/nginx/modules/ngx_http_js_module.so";
const NJS_PACKAGE: &str = "libnginx-mod-http-js";

/// The smallest value that `--keep` accepts, so that the window fills quickly.
const WINDOW: &str = "16MiB";

/// How long a program may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A program that listens until it is dropped.
#[derive(Debug)]
pub(in crate::benchmarks) struct Program {
    process: Child,
    pub(in crate::benchmarks) port: u16,
    /// The address of Weir's page, and the pipe of its output, which has to stay open.
    page: Option<(String, BufReader<ChildStdout>)>,
}

impl Program {
    /// Starts a command and waits until it listens at the port.
    fn start(mut command: Command, port: u16) -> Outcome<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = Self { process: command.spawn()?, port, page: None };
        let end = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let name = command.get_program().display();
            if let Some(status) = program.process.try_wait()? {
                return Err(format!("{name} ended before it listened: {status}").into());
            }
            if Instant::now() > end {
                return Err(format!("{name} does not listen at port {port}").into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(program)
    }

    pub(in crate::benchmarks) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The processor time of its processes so far.
    pub(in crate::benchmarks) fn processor_seconds(&self) -> Outcome<f64> {
        processor_seconds(self.id())
    }

    /// The report about its requests that meet a condition of docs/conditions.md; `Null` if the
    /// condition is about a field that no request has had yet.
    pub(super) fn report(&self, condition: &str) -> Outcome<Value> {
        let (page, _) = self.page.as_ref().ok_or("only Weir has a page")?;
        let (host, session) = page.split_once("/s/").ok_or("the page has no session")?;
        let url = format!("{host}/api/sessions/{session}/report");
        let condition = format!("where={condition}");
        let arguments = ["-sS", "--get", "--data-urlencode", &condition, &url];
        let answer = output_of(&mut command("curl", &arguments))?;
        Ok(serde_json::from_str(&answer).unwrap_or_default())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SIGTERM, so that the workers of nginx end too.
        let _ = command("kill", &[&self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// A port that is free now.
fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Writes a configuration and returns its path.
fn written(name: &str, content: &str) -> Outcome<String> {
    let path = folder()?.join(name);
    std::fs::write(&path, content)?;
    Ok(text(&path))
}

fn start_nginx(name: &str, port: u16, config: &str) -> Outcome<Program> {
    let path = written(name, config)?;
    Program::start(command(NGINX, &["-e", "stderr", "-c", &path]), port)
}

/// The server of the files in a folder. With a log, it has each request written there before it
/// answers.
pub(in crate::benchmarks) fn backend(files: &Path, log: Option<&Path>) -> Outcome<Program> {
    let port = free_port()?;
    let files = std::fs::canonicalize(files)?;
    let name = format!("gateway-backend-{port}.conf");
    let log = match log {
        Some(path) => Some((free_port()?, path)),
        None => None,
    };
    start_nginx(&name, port, &configurations::backend(port, &files, log)?)
}

pub(super) fn nginx(backend: u16) -> Outcome<Program> {
    let port = free_port()?;
    start_nginx("gateway-nginx.conf", port, &configurations::nginx_proxy(port, backend)?)
}

pub(super) fn nginx_with_njs(backend: u16, module: &str) -> Outcome<Program> {
    let port = free_port()?;
    start_nginx("gateway-njs.conf", port, &configurations::nginx_with_njs(port, backend, module)?)
}

pub(super) fn haproxy(backend: u16) -> Outcome<Program> {
    let port = free_port()?;
    let path = written("gateway-haproxy.cfg", &configurations::haproxy(port, backend))?;
    Program::start(command("haproxy", &["-q", "-db", "-f", &path]), port)
}

/// Weir with this number of limits.
pub(super) fn weir(settings: &Settings, backend: u16, limits: usize) -> Outcome<Program> {
    let port = free_port()?;
    start_weir(&settings.weir(), port, &weir_configuration(port, backend, limits)?, &[])
}

/// Weir with these options.
pub(in crate::benchmarks) fn weir_with_options(
    settings: &Settings,
    backend: u16,
    options: &[&str],
) -> Outcome<Program> {
    weir_with(settings, backend, "", options)
}

/// Weir with these tables at the end of its configuration, and these options.
pub(in crate::benchmarks) fn weir_with(
    settings: &Settings,
    backend: u16,
    tables: &str,
    options: &[&str],
) -> Outcome<Program> {
    let port = free_port()?;
    let config = configurations::weir(port, backend, 0)? + tables;
    let path = written(&format!("gateway-weir-{port}.toml"), &config)?;
    start_weir(&settings.weir(), port, &path, options)
}

/// A build of Weir with sessions that expire after `lifetime`.
pub(super) fn weir_with_sessions(program: &str, backend: u16, lifetime: &str) -> Outcome<Program> {
    let port = free_port()?;
    let name = format!("gateway-weir-{port}.toml");
    let config = configurations::weir_with_sessions(port, backend, lifetime)?;
    start_weir(program, port, &written(&name, &config)?, &[])
}

/// Weir with the least window that `--keep` can have, these options, and the address of its page.
fn start_weir(program: &str, port: u16, config: &str, options: &[&str]) -> Outcome<Program> {
    let page = ["--no-open", "--listen", "127.0.0.1:0", "--keep", WINDOW];
    let mut weir = command(program, &["gateway", config]);
    weir.args(page).args(options);
    let mut program = Program::start(weir, port)?;
    let output = program.process.stdout.take().ok_or("the gateway has no output")?;
    let mut output = BufReader::new(output);
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        if let Some((_, rest)) = line.split_once("http://") {
            let page = format!("http://{}", rest.split_whitespace().next().unwrap_or_default());
            program.page = Some((page, output));
            return Ok(program);
        }
        line.clear();
    }
    Err("the gateway printed no address of its page".into())
}

/// The example `gate`, which counts its records or drops them.
pub(super) fn gate(settings: &Settings, kind: &str, backend: u16) -> Outcome<Program> {
    let port = free_port()?;
    let path = weir_configuration(port, backend, 0)?;
    Program::start(command(&settings.example("gate"), &[kind, &path]), port)
}

fn weir_configuration(port: u16, backend: u16, limits: usize) -> Outcome<String> {
    let name = format!("gateway-weir-{port}.toml");
    written(&name, &configurations::weir(port, backend, limits)?)
}

/// The path of the module njs. Unpacks Debian's package if it is not installed, except in a smoke
/// run.
pub(super) fn njs_module(settings: &Settings) -> Outcome<String> {
    let unpacked = folder()?.join("njs");
    let places = [Path::new("/"), &unpacked].map(|folder| folder.join(NJS_MODULE));
    if !places.iter().any(|place| place.exists()) {
        if settings.is_smoke {
            return Err(format!("njs (Debian's package {NJS_PACKAGE})").into());
        }
        packages::unpack(NJS_PACKAGE, &unpacked)?;
    }
    let found = places.iter().find(|place| place.exists());
    let found = found.ok_or_else(|| format!("{NJS_PACKAGE} has no {NJS_MODULE}"))?;
    Ok(text(&std::fs::canonicalize(found)?))
}
