//! The configurations of the proxies and of the backend.

use std::fmt::Write;
use std::path::Path;

use super::tokens::{Algorithm, SECRET};
use crate::settings::{folder, text};
use weir_tools::shell::{Outcome, root};

/// The configuration that every nginx here shares, apart from its servers. Logs are off, and a
/// connection has no limit of requests.
fn nginx(name: &str, head: &str, workers: &str, http: &str) -> Outcome<String> {
    let folder = text(&folder()?);
    Ok(format!(
        "{head}user root; worker_processes {workers}; daemon off; pid {folder}/{name}.pid;\n\
         error_log stderr crit; worker_rlimit_nofile 4096;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n{http}\n}}\n"
    ))
}

/// The backend: files of a folder by their names, under a path for each route of the gateway, and a
/// path that grants every user a session. One worker leaves most of the machine to the proxies.
/// With a log, each request is reported to a log service at another port before it is answered.
pub(super) fn backend(port: u16, files: &Path, log: Option<(u16, &Path)>) -> Outcome<String> {
    let (told, service) = log.map_or_else(Default::default, |(log_port, path)| {
        let url = format!("http://127.0.0.1:{log_port}");
        (
            format!("auth_request /log; location = /log {{ internal; proxy_pass {url}; }}"),
            format!(
                "server {{ listen 127.0.0.1:{log_port}; access_log {}; return 204; }}",
                path.display()
            ),
        )
    });
    let http = format!(
        "{service}\nserver {{ listen 127.0.0.1:{port}; {told}\n\
         location = /session {{ default_type application/json;\n\
         return 200 '{{\"access_token\":\"session\",\"expires_in\":300}}'; }}\n\
         location ~ ^/[A-Za-z0-9]+/([0-9]+)$ {{ alias {}/$1; }} }}",
        files.display()
    );
    nginx(&format!("gateway-backend-{port}"), "", "1", &http)
}

/// Connections to the backend that are kept open.
fn upstream(backend: u16) -> String {
    format!(
        "upstream files {{ server 127.0.0.1:{backend}; keepalive 64; keepalive_requests 100000000; }}\n\
         proxy_http_version 1.1; proxy_set_header Connection \"\";\n"
    )
}

/// nginx as a plain proxy, with the number of workers that Debian configures.
pub(super) fn nginx_proxy(port: u16, backend: u16) -> Outcome<String> {
    let http = format!(
        "{}server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://files; }} }}",
        upstream(backend)
    );
    nginx("gateway-nginx", "", "auto", &http)
}

/// nginx that checks the token of each request with an njs script.
pub(super) fn nginx_with_njs(port: u16, backend: u16, module: &str) -> Outcome<String> {
    let http = format!(
        "js_path {}/bench/gateway; js_import token from token.js;\n{}\
         server {{ listen 127.0.0.1:{port}; set $token_secret '{SECRET}';\n\
         location = /_token {{ internal; js_content token.verify; }}\n\
         location / {{ auth_request /_token; proxy_pass http://files; }} }}",
        root().display(),
        upstream(backend)
    );
    nginx("gateway-njs", &format!("load_module {module};\n"), "auto", &http)
}

/// haproxy with its own numbers of threads and connections.
pub(super) fn haproxy(port: u16, backend: u16) -> String {
    format!(
        "defaults\n  mode http\n  http-reuse always\n  timeout connect 5s\n  timeout client 60s\n  \
         timeout server 60s\n\
         frontend clients\n  bind 127.0.0.1:{port}\n  default_backend files\n\
         backend files\n  server one 127.0.0.1:{backend}\n"
    )
}

/// Weir with a route that is open, one for each algorithm of tokens, and this number of limits that
/// nothing trips.
pub(super) fn weir(port: u16, backend: u16, limits: usize) -> Outcome<String> {
    let mut config = format!(
        "listen = [\"127.0.0.1:{port}\"]\n[backends.files]\ninstances = [\"http://127.0.0.1:{backend}\"]\n\
         [[routes]]\npath = \"/open\"\nbackend = \"files\"\n"
    );
    for algorithm in Algorithm::ALL {
        let (name, key) = (algorithm.name(), text(&algorithm.key_file()?));
        let source = if algorithm == Algorithm::Hs256 { "secret_file" } else { "public_key_file" };
        let _ = write!(
            config,
            "[issuers.{name}]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
             algorithms = [\"{name}\"]\n{source} = \"{key}\"\n\
             [[routes]]\npath = \"/{name}\"\nissuer = \"{name}\"\nclaim = \"tenant\"\n\
             backends = {{ a = \"files\" }}\n"
        );
    }
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

/// Weir with one route, whose sessions expire after `lifetime`.
pub(super) fn weir_with_sessions(port: u16, backend: u16, lifetime: &str) -> Outcome<String> {
    let key = text(&Algorithm::Hs256.key_file()?);
    Ok(format!(
        "listen = [\"127.0.0.1:{port}\"]\n\
         [issuers.app]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
         algorithms = [\"HS256\"]\nsecret_file = \"{key}\"\n\
         [backends.files]\ninstances = [\"http://127.0.0.1:{backend}\"]\n\
         [[routes]]\npath = \"/\"\nissuer = \"app\"\nclaim = \"tenant\"\n\
         backends = {{ a = \"files\" }}\n\
         session = {{ login = \"/session\", credential_file = \"{key}\", lifetime = \"{lifetime}\" }}\n"
    ))
}
