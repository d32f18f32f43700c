//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::watch;

use crate::body::Body;
use crate::options::{HEADERS_MAX_ON_STACK, ServeOptions};
use crate::peer::Peer;
use crate::transport::Transport;

/// hyper, set up once for all connections.
pub(crate) fn protocol(options: &ServeOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        // Without a timer hyper's header timeout is inert.
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_header_size(options.header_bytes_max)
        // A client may close its sending side and still wait for the answer
        // (`nc`, `curl -T -`); that is no reason to drop the request.
        .half_close(true);
    if options.headers_max != HEADERS_MAX_ON_STACK {
        builder.max_headers(options.headers_max);
    }
    builder
}

/// Serves requests on `transport` until the client leaves, the connection is upgraded, a limit
/// is hit, or `stopping` turns true and the request in flight is answered.
pub(crate) async fn run<H, F>(
    protocol: http1::Builder,
    transport: Transport,
    peer: Peer,
    handler: Arc<H>,
    mut stopping: watch::Receiver<bool>,
) where
    H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let response = handler(request, peer.clone());
        async move { Ok::<_, Infallible>(response.await) }
    });
    let connection = protocol.serve_connection(TokioIo::new(transport), service).with_upgrades();
    let mut connection = pin!(connection);
    // What hyper reports here is the client's doing (gone, too slow, malformed) and hyper has
    // answered it where HTTP has an answer, so nobody is left to tell.
    tokio::select! {
        _ended = connection.as_mut() => return,
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ended = connection.await;
}
