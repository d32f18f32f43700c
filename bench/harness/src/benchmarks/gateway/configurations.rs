//! The configurations of the proxies and of the backend.

use std::fmt::Write;
use std::path::Path;

use super::tokens;
use crate::settings::{folder, text};
use weir_tools::shell::Outcome;

/// The configuration that every nginx here shares, apart from its servers. Logs are off, and a
/// connection has no limit of requests.
fn nginx(port: u16, workers: &str, http: &str) -> Outcome<String> {
    let folder = text(&folder()?);
    Ok(format!(
        "user root; worker_processes {workers}; daemon off; pid {folder}/gateway-{port}.pid;\n\
         error_log stderr crit; worker_rlimit_nofile 4096;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n{http}\n}}\n"
    ))
}

/// The backend: files of a folder by their names, under a path for each route of the gateway. One
/// worker leaves most of the machine to the proxies.
pub(super) fn backend(port: u16, files: &Path) -> Outcome<String> {
    let http = format!(
        "server {{ listen 127.0.0.1:{port};\n\
         location ~ ^/[A-Za-z0-9]+/([0-9]+)$ {{ alias {}/$1; }} }}",
        files.display()
    );
    nginx(port, "1", &http)
}

/// nginx as a plain proxy, with the number of workers that Debian configures. It keeps connections
/// to the backend open.
pub(super) fn nginx_proxy(port: u16, backend: u16) -> Outcome<String> {
    let http = format!(
        "upstream files {{ server 127.0.0.1:{backend}; keepalive 64; keepalive_requests 100000000; }}\n\
         proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://files; }} }}"
    );
    nginx(port, "auto", &http)
}

/// Weir with a route that is open, one that wants a token, and this number of limits that nothing
/// trips.
pub(super) fn weir(port: u16, backend: u16, limits: usize) -> Outcome<String> {
    let secret = text(&tokens::secret_file()?);
    let mut config = format!(
        "listen = [\"127.0.0.1:{port}\"]\n\
         [backends.files]\ninstances = [\"http://127.0.0.1:{backend}\"]\n\
         [issuers.HS256]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
         algorithms = [\"HS256\"]\nsecret_file = \"{secret}\"\n\
         [[routes]]\npath = \"/open\"\nbackend = \"files\"\n\
         [[routes]]\npath = \"/HS256\"\nissuer = \"HS256\"\nclaim = \"tenant\"\n\
         backends = {{ a = \"files\" }}\n"
    );
    for number in 0..limits {
        let rule = std::fs::canonicalize(folder()?)?.join(format!("gateway-limit-{number}.conf"));
        std::fs::write(
            &rule,
            format!(
                "limit_req_zone $binary_remote_addr zone=clients{number}:10m rate=100000r/s;\n\
                 limit_req zone=clients{number} burst=100000 nodelay;\n"
            ),
        )?;
        let _ =
            write!(config, "[[limits]]\nrule_file = \"{}\"\nmode = \"enforce\"\n", rule.display());
    }
    Ok(config)
}
