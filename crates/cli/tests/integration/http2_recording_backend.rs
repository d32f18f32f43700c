//! A backend that speaks HTTP/2 and reports the requests that it received.
//!
//! Its server, of hyper, resets the streams of requests that RFC 9113 section 8 calls malformed,
//! such as those with a field of one connection. A proxy then has no answer of the backend.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Longer texts are shown with their length only.
const SHOWN_BYTES_MAX: usize = 100;

/// A whole request that has arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) path: String,
    /// Pairs of a name and a value, with those of the trailer section.
    pub(crate) fields: Vec<(String, String)>,
    /// All of the request, for people: a line for the pseudo-header fields, each other field and
    /// the body.
    pub(crate) text: String,
}

/// A backend that answers each request with 200. It ends when it is dropped.
pub(crate) struct Http2RecordingBackend {
    pub(crate) address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    _runtime: Runtime,
}

impl Http2RecordingBackend {
    pub(crate) fn start() -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let arrived = Arc::new(Mutex::new(Vec::new()));
        runtime.spawn(accept(listener, arrived.clone()));
        Self { address, arrived, _runtime: runtime }
    }

    /// The whole requests that have arrived since the last call. Each of them was noted before its
    /// answer.
    pub(crate) fn take(&self) -> Vec<Arrived> {
        std::mem::take(&mut self.arrived.lock().expect("no panic"))
    }
}

async fn accept(listener: TcpListener, arrived: Arc<Mutex<Vec<Arrived>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let arrived = arrived.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let arrived = arrived.clone();
            async move {
                if let Some(request) = read(request).await {
                    arrived.lock().expect("no panic").push(request);
                }
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
            }
        });
        tokio::spawn(async move {
            // A connection may end in any way.
            let _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Reads a request with its body and its trailer section. Returns `None` if its client cut it off.
async fn read(request: Request<Incoming>) -> Option<Arrived> {
    let (parts, body) = request.into_parts();
    let collected = body.collect().await.ok()?;
    let trailers = collected.trailers().cloned().unwrap_or_default();
    Some(describe(&parts, &collected.to_bytes(), &trailers))
}

fn describe(parts: &Parts, body: &Bytes, trailers: &HeaderMap) -> Arrived {
    let uri = &parts.uri;
    let path = uri.path_and_query().map_or("", |path| path.as_str()).to_owned();
    let mut text = format!(
        "  :method {} :scheme {} :authority {} :path {}\n",
        parts.method,
        uri.scheme_str().unwrap_or("(none)"),
        uri.authority().map_or("(none)", |authority| authority.as_str()),
        shown(path.as_bytes())
    );
    let mut fields = Vec::new();
    for (label, section) in [("", &parts.headers), ("trailer ", trailers)] {
        let mut lines = Vec::new();
        for (name, value) in section {
            let (name, value) = (name.as_str().to_owned(), shown(value.as_bytes()));
            lines.push(format!("  {label}{}: {value}\n", shown(name.as_bytes())));
            fields.push((name, value));
        }
        lines.sort();
        // Cases with a hundred equal fields would hide the others.
        let count = lines.len();
        lines.truncate(12);
        text.extend(lines);
        if count > 12 {
            let _ = writeln!(text, "  {label}({count} fields in all)");
        }
    }
    if !body.is_empty() {
        let _ = writeln!(text, "  body of {} bytes: {}", body.len(), shown(body));
    }
    Arrived { path, fields, text }
}

/// A text for the golden file, on one line.
fn shown(bytes: &[u8]) -> String {
    match bytes.len() > SHOWN_BYTES_MAX {
        true => format!("({} bytes)", bytes.len()),
        false => bytes.escape_ascii().to_string(),
    }
}
