//! The proxies that are compared, and their backend.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::configurations;
use crate::process::{RunningProgram, free_port};
use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, output_of};

/// Debian installs nginx outside of the search path of users.
pub(in crate::benchmarks) const NGINX: &str = "/usr/sbin/nginx";

/// The smallest value that `--keep` accepts, so that the window fills quickly.
const WINDOW: &str = "16MiB";

/// The number of limits in the gateway that is measured with limits.
pub(super) const LIMITS: usize = 5;

/// A proxy or a backend that runs until it is dropped.
#[derive(Debug)]
pub(in crate::benchmarks) struct Proxy {
    pub(in crate::benchmarks) program: RunningProgram,
    pub(in crate::benchmarks) port: u16,
    /// The URL of Weir's page.
    page: Option<String>,
}

impl Proxy {
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The report about its requests that meet a condition of docs/conditions.md; `Null` if the
    /// condition is about a field that no request has had yet.
    pub(super) fn report(&self, condition: &str) -> Outcome<Value> {
        let page = self.page.as_ref().ok_or("only Weir has a page")?;
        let url = format!("{}/api/sessions/main/report", page.trim_end_matches('/'));
        let condition = format!("where={condition}");
        let arguments = ["-sS", "--get", "--data-urlencode", &condition, &url];
        let answer = output_of(&mut command("curl", &arguments))?;
        Ok(serde_json::from_str(&answer).unwrap_or_default())
    }
}

/// The server of the files in a folder.
pub(super) fn backend(files: &Path) -> Outcome<Proxy> {
    let files = std::fs::canonicalize(files)?;
    start_nginx(|port| configurations::backend(port, &files))
}

pub(super) fn nginx(backend: u16) -> Outcome<Proxy> {
    start_nginx(|port| configurations::nginx_proxy(port, backend))
}

fn start_nginx(configuration: impl FnOnce(u16) -> Outcome<String>) -> Outcome<Proxy> {
    let port = free_port()?;
    let path = written(&format!("gateway-nginx-{port}.conf"), &configuration(port)?)?;
    let mut nginx = command(NGINX, &["-e", "stderr", "-c", &path]);
    Ok(Proxy { program: RunningProgram::listening(&mut nginx, port)?, port, page: None })
}

/// Weir with this number of limits, the least window that `--keep` can have, and these options.
pub(super) fn weir(
    settings: &Settings,
    backend: u16,
    limits: usize,
    options: &[&str],
) -> Outcome<Proxy> {
    let port = free_port()?;
    let path = weir_configuration(port, backend, limits)?;
    let arguments = [&["gateway", &path, "--keep", WINDOW], options].concat();
    let (program, page) = RunningProgram::weir(settings, &arguments)?;
    Ok(Proxy { program, port, page: Some(page) })
}

/// The example `gate`, which counts its records or drops them. It ends with its input.
pub(super) fn gate(settings: &Settings, kind: &str, backend: u16) -> Outcome<Proxy> {
    let port = free_port()?;
    let path = weir_configuration(port, backend, 0)?;
    let mut gate = command(&settings.example("gate"), &[kind, &path]);
    let program = RunningProgram::listening(gate.stdin(Stdio::piped()), port)?;
    Ok(Proxy { program, port, page: None })
}

fn weir_configuration(port: u16, backend: u16, limits: usize) -> Outcome<String> {
    let name = format!("gateway-weir-{port}.toml");
    written(&name, &configurations::weir(port, backend, limits)?)
}

/// Writes a configuration and returns its path.
fn written(name: &str, content: &str) -> Outcome<String> {
    let path = folder()?.join(name);
    std::fs::write(&path, content)?;
    Ok(text(&path))
}
