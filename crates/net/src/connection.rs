//! One HTTP connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use weir_observe::task;

use crate::body::Body;
use crate::client::Client;
use crate::idle::{Closing, IdleEntry};
use crate::options::{BodyRate, HEADERS_MAX_ON_STACK, ServeOptions};
use crate::refusal::{self, LATE_HEAD, REFUSALS_MAX, TOO_MANY_OF_ONE};
use crate::response_body::ResponseBody;
use crate::scheme::Scheme;
use crate::socket::{Connection, ConnectionPermit, NetworkLimit, Peer, SocketStream};
use crate::transport::Transport;

/// The configuration of hyper that all HTTP/1 connections share.
fn protocol(options: &ServeOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
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
    protocol: http1::Builder,
    pub(crate) options: ServeOptions,
    networks: NetworkLimit,
    /// The places of clients that are told that they have too many connections.
    pub(crate) refusals: Arc<Semaphore>,
    handler: H,
}

/// A connection on which requests may come.
struct Opened {
    transport: Transport,
    client: Client,
    is_http2: bool,
}

/// Why no requests may come on a connection.
enum NotOpened {
    /// It is closed.
    Gone,
    /// The client that its proxy names has too many connections.
    TooMany(Connection),
}

impl<H, F> HttpConnection<H>
where
    H: Fn(Request<Incoming>, Client) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    pub(crate) fn new(options: ServeOptions, networks: NetworkLimit, handler: H) -> Self {
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        Self { protocol: protocol(&options), options, networks, refusals, handler }
    }

    /// Serves the requests of one connection until the client leaves, the connection is
    /// upgraded, a limit is hit, or the server stops and the request in flight is answered.
    ///
    /// What only the beginning needs is in a future of its own, because most connections are idle for most of
    /// their time, and a server may have ten thousand of them.
    pub(crate) fn run(
        self: Arc<Self>,
        connection: Connection,
        permit: ConnectionPermit,
        entry: IdleEntry,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match connection.into_open() {
            Ok((stream, peer)) => {
                let opened = self.opened(stream, (peer, Scheme::Http), permit, &entry);
                Box::pin(self.serve_http1(opened, entry))
            }
            Err(connection) => Box::pin(async move {
                let opened = match Box::pin(self.open(*connection, permit, &entry)).await {
                    Ok(opened) => opened,
                    Err(NotOpened::Gone) => return,
                    Err(NotOpened::TooMany(connection)) => {
                        // It makes no room, because its place is free already.
                        drop(entry);
                        return Box::pin(self.refuse(connection)).await;
                    }
                };
                let served: Pin<Box<dyn Future<Output = ()> + Send>> = match opened.is_http2 {
                    true => Box::pin(self.serve_http2(opened.transport, opened.client, entry)),
                    false => Box::pin(self.serve_http1(opened, entry)),
                };
                served.await;
            }),
        }
    }

    /// Learns the client of a connection, if it comes from a proxy, and runs the TLS handshake.
    async fn open(
        &self,
        connection: Connection,
        permit: ConnectionPermit,
        entry: &IdleEntry,
    ) -> Result<Box<Opened>, NotOpened> {
        let (connection, permit) = match connection.is_anonymous() {
            true => self.identify(connection, permit, entry).await?,
            false => (connection, permit),
        };
        let (peer, scheme) = (connection.peer(), connection.scheme());
        // The handshake is a part of the time until the first request, and makes room as it does.
        let stream = tokio::select! {
            opened = connection.open_http(self.options.header_timeout) => {
                opened.map_err(|error| {
                    tracing::debug!(%peer, %error, "a connection is closed: its TLS handshake failed");
                    NotOpened::Gone
                })?
            }
            _closing = entry.asked_to_close() => return Err(NotOpened::Gone),
        };
        entry.activity().note_open();
        Ok(self.opened(stream, (peer, scheme), permit, entry))
    }

    /// Puts the limits around a stream on which requests may come.
    fn opened(
        &self,
        stream: SocketStream,
        (peer, scheme): (Peer, Scheme),
        permit: ConnectionPermit,
        entry: &IdleEntry,
    ) -> Box<Opened> {
        let write_timeout = self.options.write_timeout;
        stream.limit_unsent(write_timeout);
        let is_http2 = stream.speaks_http2();
        let transport = Transport::new(stream, permit, write_timeout, entry.activity());
        let client = Client::new(peer, scheme, transport.watch());
        Box::new(Opened { transport, client, is_http2 })
    }

    /// Learns the client of a connection from its proxy. Of a client with too many connections, this one keeps
    /// no place.
    async fn identify(
        &self,
        connection: Connection,
        permit: ConnectionPermit,
        entry: &IdleEntry,
    ) -> Result<(Connection, ConnectionPermit), NotOpened> {
        let identified = tokio::select! {
            identified = connection.identified() => identified.ok_or(NotOpened::Gone)?,
            _closing = entry.asked_to_close() => return Err(NotOpened::Gone),
        };
        match self.networks.try_acquire(identified.peer()) {
            Some(network) => {
                task::set_name(identified.peer().address());
                Ok((identified, permit.with_network(network)))
            }
            None => Err(NotOpened::TooMany(identified)),
        }
    }

    /// Tells a client that it has too many connections, unless many are being told.
    async fn refuse(&self, connection: Connection) {
        if let Ok(_place) = self.refusals.try_acquire() {
            refusal::send(connection, &TOO_MANY_OF_ONE).await;
        }
    }

    async fn serve_http1(self: Arc<Self>, opened: Box<Opened>, entry: IdleEntry) {
        let (files, last_words) = (opened.transport.files(), opened.transport.last_words());
        let activity = entry.activity();
        let service = service_fn(|request: Request<Incoming>| {
            let (in_progress, version) = (activity.begin_request(), request.version());
            let response = match has_known_coding(&request) {
                true => Ok(self.call(request, &opened.client)),
                false => Err(unknown_coding()),
            };
            let (files, activity) = (&files, &activity);
            async move {
                let mut response = match response {
                    Ok(response) => response.await,
                    Err(refused) => refused,
                };
                if let Some(files) = files {
                    response.body_mut().send_files_through(files);
                }
                if activity.is_ending() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                let with_owner = |body| ResponseBody::http1(body, in_progress, version);
                Ok::<_, Infallible>(response.map(with_owner))
            }
        });
        let connection = self.protocol.serve_connection(TokioIo::new(opened.transport), service);
        let mut connection = pin!(connection.with_upgrades());
        // An error is the client's (gone, malformed), and hyper has answered it if HTTP has an answer.
        let closing = tokio::select! {
            biased;
            _ended = connection.as_mut() => return,
            closing = entry.asked_to_close() => closing,
        };
        match closing {
            Closing::Late if entry.is_waiting() => return last_words.set(LATE_HEAD),
            // Before its first request nothing can be in progress. After it, hyper closes the
            // connection once the response is sent.
            Closing::MakeRoom if !entry.has_served() => return,
            _ => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ended = connection.await;
    }

    /// Calls the handler. An extension costs a hash table for each request, so there are none of what is
    /// usual.
    pub(crate) fn call(&self, mut request: Request<Incoming>, client: &Client) -> F {
        task::add_requests(1);
        if client.scheme != Scheme::default() {
            request.extensions_mut().insert(client.scheme);
        }
        if self.options.body_rate != BodyRate::default() {
            request.extensions_mut().insert(self.options.body_rate);
        }
        (self.handler)(request, client.clone())
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
    let text = "the only transfer coding that this server knows is `chunked`, once\n";
    let mut response = refusal(StatusCode::NOT_IMPLEMENTED, text);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The response to a request that no handler sees.
pub(crate) fn refusal(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}
