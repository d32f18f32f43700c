//! The cases of `tests/http/cases.txt` through the gateway and through nginx, to backends that read
//! strictly. The requests that the backends receive are a table in `docs/proxied-cases.md`.
//! `BLESS=1` rewrites it.

use std::fmt::Write as _;
use std::net::Shutdown;
use std::path::Path;

use super::Nginx;
use crate::http_cases::Case;
use crate::proxied_cases::GatewayAndBackend;
use crate::recording_backend::{RecordingBackend, Seen};
use crate::support::Folder;

/// The requests and faults that a backend has received, as a cell of the table.
fn shown(seen: &Seen) -> String {
    let shorten = |request: &String| match request.split_once(' ') {
        Some((_, "/next")) => "next".to_owned(),
        Some((method, rest)) => match rest.split_once(' ') {
            Some((_, body)) => format!("{method} {body}"),
            None => method.to_owned(),
        },
        None => request.clone(),
    };
    let mut all: Vec<String> = seen.requests.iter().map(shorten).collect();
    if !seen.faults.is_empty() {
        all.push("**malformed**".to_owned());
    }
    all.join(", ")
}

/// The requests, and the bytes that are not requests, without the request that follows each case.
fn count(seen: &Seen) -> usize {
    let requests = seen.requests.iter().filter(|request| *request != "GET /next");
    requests.count() + seen.faults.len()
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn the_gateway_passes_on_no_more_than_nginx_does() {
    let folder = Folder::new();
    let path = folder.path("nginx");
    std::fs::create_dir_all(&path).expect("a folder");
    let backend = RecordingBackend::start();
    // A client that has sent everything closes its side, which looks to nginx like a disconnect.
    let upstream = format!(
        "access_log off; upstream one {{ server {}; keepalive 8; }}\n\
         proxy_http_version 1.1; proxy_set_header Connection \"\"; client_max_body_size 0;\n\
         proxy_ignore_client_abort on;",
        backend.address
    );
    let nginx = Nginx::new(&path, &upstream, "location / { proxy_pass http://one; }");
    let gateway = GatewayAndBackend::start(&folder.path(""));
    let mut table =
        "| case | backend of Weir | backend of nginx | |\n|---|---|---|---|\n".to_owned();
    let mut wrong = Vec::new();
    for case in &Case::all() {
        let (_, own) = gateway.ask(case);
        case.ask(nginx.connect(), |stream| _ = stream.shutdown(Shutdown::Write));
        let other = backend.take();
        let judgement = match count(&own).cmp(&count(&other)) {
            std::cmp::Ordering::Less => "stricter",
            std::cmp::Ordering::Equal => "",
            std::cmp::Ordering::Greater => match &case.proxied {
                Some(judgement) => judgement,
                None => {
                    wrong.push(format!("{}: {own:?}, but nginx: {other:?}", case.name));
                    ""
                }
            },
        };
        if !own.faults.is_empty() {
            wrong.push(format!("{}: {own:?}", case.name));
        }
        let _ = writeln!(
            table,
            "| {} | {} | {} | {judgement} |",
            case.name,
            shown(&own),
            shown(&other)
        );
    }
    assert!(wrong.is_empty(), "mend, or argue with `proxied:`\n{}", wrong.join("\n"));
    check_table(&table);
}

/// Compares the table with that of the document; writes it with `BLESS=1`.
fn check_table(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/proxied-cases.md");
    let document = std::fs::read_to_string(&path).expect("the document");
    let (head, old) = document.split_once("\n| case |").expect("a table");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{head}\n{table}")).expect("the document");
        return;
    }
    assert_eq!(table, format!("| case |{old}"), "BLESS=1 writes the table");
}
