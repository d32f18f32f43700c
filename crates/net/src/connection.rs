//! One HTTP connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::watch;

use crate::body::Body;
use crate::idle::IdleEntry;
use crate::options::{HEADERS_MAX_ON_STACK, ServeOptions};
use crate::socket::{Connection, ConnectionPermit, Peer};
use crate::transport::Transport;

/// The configuration of hyper that all connections share.
pub(crate) fn protocol(options: &ServeOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        // Without a timer hyper's header timeout has no effect.
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_header_size(options.header_bytes_max)
        // A client may close its sending side and still wait for the answer (`nc`,
        // `curl -T -`); that is no reason to drop the request.
        .half_close(true);
    if options.headers_max != HEADERS_MAX_ON_STACK {
        builder.max_headers(options.headers_max);
    }
    builder
}

/// What the connections of a server share.
pub(crate) struct HttpConnection<H> {
    pub(crate) protocol: http1::Builder,
    pub(crate) options: ServeOptions,
    pub(crate) handler: H,
}

impl<H, F> HttpConnection<H>
where
    H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    /// Serves the requests of one connection until the client leaves, the connection is
    /// upgraded, a limit is hit, or `stopping` turns true and the request in flight is answered.
    pub(crate) async fn run(
        self: Arc<Self>,
        connection: Connection,
        permit: ConnectionPermit,
        entry: IdleEntry,
        mut stopping: watch::Receiver<bool>,
    ) {
        let peer = connection.peer();
        let scheme = connection.scheme();
        // The handshake is a part of the time until the first request, and makes room as it does.
        let opened = tokio::select! {
            opened = connection.open(self.options.header_timeout) => opened,
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = entry.asked_to_close() => return,
        };
        let Ok(stream) = opened else { return };
        stream.limit_unsent(self.options.write_timeout);
        let transport = Transport::new(stream, permit, self.options.write_timeout);
        let (watch, files) = (transport.watch(), transport.files());
        let service = service_fn(|mut request: Request<Incoming>| {
            entry.end_wait();
            request.extensions_mut().insert(watch.clone());
            request.extensions_mut().insert(scheme);
            let response = match has_known_coding(&request) {
                true => Ok((self.handler)(request, peer)),
                false => Err(unknown_coding()),
            };
            let (entry, files) = (&entry, &files);
            async move {
                let mut response = match response {
                    Ok(response) => response.await,
                    Err(refused) => refused,
                };
                if let Some(files) = files {
                    response.body_mut().send_files_through(files);
                }
                entry.begin_wait();
                Ok::<_, Infallible>(response)
            }
        });
        let connection = self.protocol.serve_connection(TokioIo::new(transport), service);
        let mut connection = pin!(connection.with_upgrades());
        // An error here is the client's (gone, too slow, malformed), and hyper has answered it
        // if HTTP has an answer.
        tokio::select! {
            _ended = connection.as_mut() => return,
            _ = stopping.wait_for(|stopping| *stopping) => {}
            // Before its first request nothing can be in progress. After it, hyper closes the
            // connection once the response is sent.
            () = entry.asked_to_close() => if !entry.has_served() { return },
        }
        connection.as_mut().graceful_shutdown();
        let _ended = connection.await;
    }
}

/// Whether the body of a request has a length, or is `chunked` and nothing else (RFC 9112 section
/// 6.1). hyper takes the last of several codings for the only one.
fn has_known_coding<B>(request: &Request<B>) -> bool {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// The response to a request with an unknown coding. The connection ends, because the end of the
/// body is unknown too.
fn unknown_coding() -> Response<Body> {
    let mut response = Response::new(Body::from(
        "the only transfer coding that this server knows is `chunked`, once\n",
    ));
    *response.status_mut() = StatusCode::NOT_IMPLEMENTED;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
