//! Requests over HTTP/1.1 whose queries the server encodes before it parses them.
//!
//! The oracle is hyper alone, which reads the same bytes with other characters in place of those that
//! it refuses. They are as many, so each request ends at the same place. Whatever the server changes,
//! and in whatever pieces the bytes arrive, its handler must see the requests that hyper sees: their
//! queries percent-encoded, and all else as it was sent.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::{Body as HttpBody, Buf};
use hyper::header::{HeaderMap, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use weir_net::socket::{Address, BindOptions, Listener};
use weir_net::{Body, ServeOptions, Server};

/// The characters that are encoded, others that hyper accepts in their places, and their codes. No
/// input has those others.
const ENCODED: [(u8, u8, &str); 3] =
    [(b'"', b'!', "%22"), (b'<', b'*', "%3C"), (b'>', b'~', "%3E")];

/// The size of the buffer between hyper and its client, which holds any input.
const BUFFER_BYTES: usize = 1 << 20;

/// A request as a handler sees it, complete with its body.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SeenRequest {
    method: String,
    target: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    trailers: Vec<(String, Vec<u8>)>,
}

/// The requests of one connection.
type SeenRequests = Arc<Mutex<Vec<SeenRequest>>>;

/// A server on the runtime of this thread, so that it reads whenever the client pauses.
struct Running {
    runtime: Runtime,
    path: std::path::PathBuf,
    seen: SeenRequests,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

thread_local! {
    static RUNNING: Running = start();
}

fn start() -> Running {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let name = format!("weir-heads-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    let address = Address::Unix(path.clone());
    let bind = BindOptions::default();
    let listener = runtime.block_on(Listener::bind(&address, &bind)).expect("a socket");
    let seen = SeenRequests::default();
    let into = seen.clone();
    let handler = move |request, _client| {
        let seen = into.clone();
        async move { note(request, &seen).await }
    };
    runtime.spawn(Server::new([listener]).serve(handler, std::future::pending()));
    Running { runtime, path, seen }
}

/// Requests, after a byte that is the length of the pieces in which they arrive.
pub(crate) fn heads(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let is_other = |byte: &u8| ENCODED.iter().any(|(_, other, _)| byte == other);
    let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| !is_other(byte)).collect();
    let piece_bytes = usize::from(*first).max(1);
    RUNNING.with(|running| {
        running.runtime.block_on(async {
            let expected = expected(&bytes).await;
            for piece_bytes in [piece_bytes, bytes.len().max(1)] {
                let stream = UnixStream::connect(&running.path).await.expect("it listens");
                exchange(stream, bytes.chunks(piece_bytes)).await;
                let seen = std::mem::take(&mut *lock(&running.seen));
                compare(&seen, &expected, piece_bytes);
            }
        });
    });
}

fn lock(seen: &SeenRequests) -> std::sync::MutexGuard<'_, Vec<SeenRequest>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends pieces, and reads until the server ends the connection.
async fn exchange<'a>(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    pieces: impl Iterator<Item = &'a [u8]>,
) {
    let mut answers = Vec::new();
    for piece in pieces {
        if stream.write_all(piece).await.is_err() {
            break;
        }
        // The server reads each piece on its own.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
    }
    // It may have closed already.
    let _ = stream.shutdown().await;
    let _ = stream.read_to_end(&mut answers).await;
}

/// Notes a request whose body arrives completely.
async fn note<B>(request: Request<B>, seen: &SeenRequests) -> Response<Body>
where
    B: HttpBody + Unpin,
{
    let (parts, mut body) = request.into_parts();
    let mut request = SeenRequest {
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        fields: fields(&parts.headers),
        body: Vec::new(),
        trailers: Vec::new(),
    };
    while let Some(frame) = poll_fn(|context| pin!(&mut body).poll_frame(context)).await {
        let Ok(frame) = frame else { return refusal() };
        match frame.into_data() {
            Ok(mut data) => {
                while data.has_remaining() {
                    request.body.extend_from_slice(data.chunk());
                    data.advance(data.chunk().len());
                }
            }
            Err(frame) => {
                request.trailers = frame.trailers_ref().map(fields).unwrap_or_default();
            }
        }
    }
    lock(seen).push(request);
    // A tunnel would follow a `CONNECT` that succeeds.
    if parts.method == Method::CONNECT { refusal() } else { Response::new(Body::from("ok")) }
}

fn refusal() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

fn fields(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
}

/// The requests that hyper sees, with all characters put back.
async fn expected(bytes: &[u8]) -> Vec<SeenRequest> {
    let mut others = bytes.to_vec();
    for byte in &mut others {
        if let Some((_, other, _)) = ENCODED.iter().find(|(raw, ..)| raw == byte) {
            *byte = *other;
        }
    }
    let seen = SeenRequests::default();
    let options = ServeOptions::default();
    let (client, server) = tokio::io::duplex(BUFFER_BYTES);
    let service = service_fn(|request| {
        let seen = seen.clone();
        async move { Ok::<_, Infallible>(note(request, &seen).await.map(|_| String::new())) }
    });
    let serving = http1::Builder::new()
        .max_header_size(options.header_bytes_max)
        .max_headers(options.headers_max)
        .half_close(true)
        .serve_connection(TokioIo::new(server), service);
    let (_, _ended) = tokio::join!(exchange(client, [&others[..]].into_iter()), serving);
    let mut expected = Vec::new();
    for seen in lock(&seen).drain(..) {
        let Some(request) = restore(seen) else { break };
        expected.push(request);
    }
    expected
}

fn has_other(text: &[u8]) -> bool {
    text.iter().any(|byte| ENCODED.iter().any(|(_, other, _)| other == byte))
}

fn put_back(text: &mut [u8]) {
    for byte in text {
        if let Some((raw, ..)) = ENCODED.iter().find(|(_, other, _)| other == byte) {
            *byte = *raw;
        }
    }
}

/// Where the path of a target begins, which may follow a scheme and a host.
fn path_begins(target: &str) -> usize {
    if target.starts_with('/') {
        return 0;
    }
    let host = target.find("://").map(|at| at + "://".len());
    let path = host.and_then(|host| Some(host + target[host..].find('/')?));
    path.unwrap_or(target.len())
}

/// The request that the handler of the server has to see. `None` if the server refuses it: it has a
/// character where only its substitute is valid, or a coding that hyper accepts.
fn restore(mut request: SeenRequest) -> Option<SeenRequest> {
    let codings = request.fields.iter().filter(|(name, _)| name == TRANSFER_ENCODING.as_str());
    let codings: Vec<_> = codings.map(|(_, value)| value.to_ascii_lowercase()).collect();
    if !codings.is_empty() && codings != [b"chunked"] {
        return None;
    }
    let (path, query) = match request.target.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (request.target.clone(), None),
    };
    // A quotation mark is valid in a path, but not in a host.
    let (host, own_path) = path.split_at(path_begins(&path));
    let is_valid = !has_other(host.as_bytes()) && !own_path.contains(['*', '~']);
    let names = request.fields.iter().chain(&request.trailers).map(|(name, _)| name);
    if !is_valid
        || has_other(request.method.as_bytes())
        || names.into_iter().any(|it| has_other(it.as_bytes()))
    {
        return None;
    }
    let mut target = path.replace('!', "\"");
    if let Some(query) = query {
        let coded = |character: char| {
            let found = ENCODED.iter().find(|(_, other, _)| char::from(*other) == character);
            found.map_or_else(|| character.to_string(), |(.., code)| (*code).to_owned())
        };
        target = format!("{target}?{}", query.chars().map(coded).collect::<String>());
    }
    request.target = target;
    for (_, value) in request.fields.iter_mut().chain(&mut request.trailers) {
        put_back(value);
    }
    put_back(&mut request.body);
    Some(request)
}

/// Compares what the handler saw with what it had to see.
fn compare(seen: &[SeenRequest], expected: &[SeenRequest], piece_bytes: usize) {
    for (index, request) in expected.iter().enumerate() {
        match seen.get(index) {
            Some(seen) => assert_eq!(seen, request, "request {index}, pieces of {piece_bytes}"),
            None => panic!("request {index} was refused in pieces of {piece_bytes}: {request:?}"),
        }
    }
    assert_eq!(seen.len(), expected.len(), "pieces of {piece_bytes}: {seen:?}");
}
