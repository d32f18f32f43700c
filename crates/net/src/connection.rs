//! One HTTP connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use weir_observe::task;

use crate::body::Body;
use crate::client::{Client, OpenClient};
use crate::close_reason::CloseReason;
use crate::file_queue::FileQueue;
use crate::handler::{Handler, ResponseFuture};
use crate::head_refusal::{HeadProblem, HeadRefusal};
use crate::http2::CLOSE_TIMEOUT;
use crate::idle::{Activity, IdleEntry};
use crate::incoming_body::{BodyReading, IncomingBody};
use crate::options::{BodyRate, HEADERS_MAX_ON_STACK, ServeOptions};
use crate::refusal::{self, LATE_HEAD, REFUSALS_MAX, TOO_MANY_FROM_ADDRESS};
use crate::response_body::ResponseBody;
use crate::scheme::Scheme;
use crate::socket::{
    Connection, ConnectionEnd, ConnectionEnds, ConnectionPermit, NetworkLimit, OpenHttpError,
    SocketStream,
};
use crate::text_response::text_response;
use crate::transport::Transport;

/// The configuration of hyper that all HTTP/1 connections share.
fn protocol(options: &ServeOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .max_header_size(options.header_bytes_max)
        // A client may close its sending side and still wait for the response (`nc`,
        // `curl -T -`). Whether the request ends then is an option of the server, and hyper would
        // end it at once, even while a response is written.
        .half_close(true);
    if options.headers_max != HEADERS_MAX_ON_STACK {
        builder.max_headers(options.headers_max);
    }
    builder
}

/// The state that the connections of a server share, and the code that serves them.
pub(crate) struct HttpConnection {
    protocol: http1::Builder,
    pub(crate) options: ServeOptions,
    networks: NetworkLimit,
    /// Bounds the number of clients that are told at the same time that they have too many
    /// connections.
    pub(crate) refusals: Arc<Semaphore>,
    pub(crate) ends: Arc<ConnectionEnds>,
    handler: Handler,
}

/// A connection that is ready for its first request.
struct ReadyConnection {
    transport: Transport,
    client: Client,
    is_http2: bool,
}

impl ReadyConnection {
    /// Returns the transport for hyper, and frees the box.
    fn into_io(self: Box<Self>) -> TokioIo<Transport> {
        TokioIo::new(self.transport)
    }
}

/// The reason why a connection does not become ready.
enum OpenError {
    /// It is closed.
    Closed,
    /// The client that the PROXY header names has too many connections.
    TooManyConnections(Connection),
}

impl HttpConnection {
    pub(crate) fn new(
        options: ServeOptions,
        networks: NetworkLimit,
        ends: Arc<ConnectionEnds>,
        handler: Handler,
    ) -> Self {
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        Self { protocol: protocol(&options), options, networks, refusals, ends, handler }
    }

    /// Serves the requests of one connection. Ends if the client leaves, the connection is
    /// upgraded, a limit is exceeded, or the server has stopped and the request in flight is
    /// answered.
    ///
    /// The state that is needed only at the beginning is in a separate future, which keeps idle
    /// connections small. A server may have ten thousand of them.
    pub(crate) fn run(
        self: Arc<Self>,
        connection: Connection,
        permit: ConnectionPermit,
        entry: IdleEntry,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match connection.into_plain() {
            Ok((stream, peer)) => {
                let (scheme, certificate) = (Scheme::Http, None);
                let client = OpenClient { peer, scheme, certificate, is_http2: false };
                let opened = self.prepare(stream, client, permit, &entry);
                Box::pin(self.serve_http1(opened, entry))
            }
            Err(connection) => Box::pin(async move {
                let opened = match Box::pin(self.open(*connection, permit, &entry)).await {
                    Ok(opened) => opened,
                    Err(OpenError::Closed) => return,
                    Err(OpenError::TooManyConnections(connection)) => {
                        self.ends.count(ConnectionEnd::AddressFull);
                        // Its permit is released already, so closing it would make no room.
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

    /// Reads the PROXY header of a connection if one is due, and performs the TLS handshake.
    async fn open(
        &self,
        connection: Connection,
        permit: ConnectionPermit,
        entry: &IdleEntry,
    ) -> Result<Box<ReadyConnection>, OpenError> {
        let (connection, permit) = match connection.is_anonymous() {
            true => self.identify(connection, permit, entry).await?,
            false => (connection, permit),
        };
        let (peer, scheme) = (connection.peer(), connection.scheme());
        let has_http2_prior_knowledge = connection.has_http2_prior_knowledge();
        // A connection in its handshake counts as one that waits for its first request: the same
        // time limit holds, and it may be closed to make room.
        let opened = tokio::select! {
            opened = connection.open_http(self.options.header_timeout) => opened,
            _reason = entry.wait_close_request() => return Err(OpenError::Closed),
        };
        let stream = match opened {
            Ok(stream) => stream,
            Err(OpenHttpError::Tls(error)) => {
                tracing::debug!(%peer, %error, "a connection is closed: its TLS handshake failed");
                self.ends.count(ConnectionEnd::TlsFailed);
                return Err(OpenError::Closed);
            }
            Err(OpenHttpError::Plain(stream)) => {
                tracing::debug!(%peer, "a connection is refused: its client does not use TLS");
                self.ends.count(ConnectionEnd::PlainHttp);
                refusal::send_over(stream, &refusal::PLAIN_HTTP).await;
                return Err(OpenError::Closed);
            }
        };
        let Ok(certificate) = stream.client_certificate() else {
            tracing::debug!(%peer, "a connection is closed: its client's certificate cannot be read");
            self.ends.count(ConnectionEnd::TlsFailed);
            return Err(OpenError::Closed);
        };
        entry.activity().note_open();
        let is_http2 = has_http2_prior_knowledge || stream.speaks_http2();
        let client = OpenClient { peer, scheme, certificate, is_http2 };
        Ok(self.prepare(stream, client, permit, entry))
    }

    /// Applies the limits to a stream that is ready for requests.
    fn prepare(
        &self,
        stream: SocketStream,
        client: OpenClient,
        permit: ConnectionPermit,
        entry: &IdleEntry,
    ) -> Box<ReadyConnection> {
        let write_timeout = self.options.write_timeout;
        stream.limit_unsent(write_timeout);
        let is_http2 = client.is_http2;
        let mut transport =
            Transport::new(stream, client.peer, permit, write_timeout, entry.activity());
        if is_http2 {
            transport.set_http2();
        }
        let client = Client::new(client, transport.watch());
        Box::new(ReadyConnection { transport, client, is_http2 })
    }

    /// Reads the client of a connection from its PROXY header. If the client has too many
    /// connections, the permit of this one is released.
    async fn identify(
        &self,
        connection: Connection,
        permit: ConnectionPermit,
        entry: &IdleEntry,
    ) -> Result<(Connection, ConnectionPermit), OpenError> {
        let identified = tokio::select! {
            identified = connection.identify() => identified.ok_or(OpenError::Closed)?,
            _reason = entry.wait_close_request() => return Err(OpenError::Closed),
        };
        match self.networks.try_acquire(identified.peer()) {
            Some(network) => {
                task::set_name(identified.peer().address());
                Ok((identified, permit.with_network(network)))
            }
            None => Err(OpenError::TooManyConnections(identified)),
        }
    }

    /// Tells a client that it has too many connections, unless too many clients are being told.
    async fn refuse(&self, connection: Connection) {
        if let Ok(_refusal_permit) = self.refusals.try_acquire() {
            refusal::send(connection, &TOO_MANY_FROM_ADDRESS).await;
        }
    }

    async fn serve_http1(self: Arc<Self>, opened: Box<ReadyConnection>, entry: IdleEntry) {
        let (files, final_response) = (opened.transport.files(), opened.transport.final_response());
        // A clone, so that the box is not kept while the connection is idle.
        let client = opened.client.clone();
        let activity = entry.activity();
        if self.options.half_closed_timeout.is_some() {
            entry.watch_client();
        }
        let abandoned = async {
            match self.options.half_closed_timeout {
                Some(timeout) => entry.wait_abandoned(timeout).await,
                None => std::future::pending().await,
            }
        };
        let mut abandoned = pin!(abandoned);
        let service = service_fn(|request: Request<Incoming>| {
            self.respond_http1(request, &client, &activity, files.as_ref())
        });
        let connection = self.protocol.serve_connection(opened.into_io(), service);
        let mut connection = pin!(connection.with_upgrades());
        // An error is the client's (it left, or its request is malformed). hyper has already sent
        // the response, if HTTP has one for it.
        let reason = tokio::select! {
            biased;
            _ended = connection.as_mut() => return,
            reason = entry.wait_close_request() => reason,
            () = abandoned.as_mut() => return,
        };
        match reason {
            CloseReason::Late if entry.is_waiting() => return final_response.set(LATE_HEAD),
            // Before the first request nothing can be in progress. Otherwise hyper closes the
            // connection after the response is sent.
            CloseReason::MakeRoom if !entry.has_served() => return,
            CloseReason::Unread => return,
            CloseReason::Stop => {
                // A response that has begun without `Connection: close` is not the last one of its
                // connection (RFC 9112 section 9.6): a request that is pipelined after it is answered.
                let answered = poll_fn(|context| {
                    let has_ended = connection.as_mut().poll(context).is_ready();
                    let is_over = has_ended || entry.is_waiting();
                    if is_over { Poll::Ready(has_ended) } else { Poll::Pending }
                });
                let has_ended = tokio::select! {
                    biased;
                    has_ended = answered => has_ended,
                    () = abandoned.as_mut() => true,
                };
                if has_ended {
                    return;
                }
            }
            _ => {}
        }
        connection.as_mut().graceful_shutdown();
        // hyper waits for the rest of a body that is being discarded.
        let quiet = async {
            match reason {
                CloseReason::MakeRoom => entry.wait_quiet(CLOSE_TIMEOUT).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ended = connection => {}
            () = abandoned => {}
            () = quiet => {}
        }
    }

    /// Responds to a request of an HTTP/1 connection.
    fn respond_http1(
        &self,
        request: Request<Incoming>,
        client: &Client,
        activity: &Arc<Activity>,
        files: Option<&FileQueue>,
    ) -> impl Future<Output = Result<Response<ResponseBody>, Infallible>> + Send {
        let (in_progress, version) = (activity.begin_request(), request.version());
        let reading = BodyReading::of(&request, activity);
        let is_known = has_known_coding(&request);
        let of_body = reading.clone();
        let request = request.map(|body| IncomingBody::http1(body, of_body));
        let response = match is_known {
            true => Ok(self.call(request, client)),
            false => {
                let (peer, problem, request) =
                    (client.peer(), HeadProblem::UnknownCoding, request.map(drop));
                let (bytes, request) = (problem.text().len(), Some(&request));
                activity.note_refusal(HeadRefusal { peer, problem, bytes, request });
                Err(refuse_coding())
            }
        };
        async move {
            let mut response = match response {
                Ok(response) => response.await,
                Err(refused) => refused,
            };
            activity.interim.close();
            if let Some(files) = files {
                response.body_mut().send_files_through(files);
            }
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                activity.note_upgrade();
            } else if activity.is_ending() || reading.is_some_and(|it| it.ends_connection()) {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response.map(|body| ResponseBody::http1(body, in_progress, version)))
        }
    }

    /// Calls the handler. Extensions cost a hash table for each request, so default values have
    /// none.
    pub(crate) fn call(
        &self,
        mut request: Request<IncomingBody>,
        client: &Client,
    ) -> ResponseFuture {
        task::add_requests(1);
        if client.scheme != Scheme::default() {
            request.extensions_mut().insert(client.scheme);
        }
        if self.options.body_rate != BodyRate::default() {
            request.extensions_mut().insert(self.options.body_rate);
        }
        if !request.body().is_end_stream() {
            request.extensions_mut().insert(self.ends.clone());
        }
        self.handler.respond(request, client.clone())
    }
}

/// Whether a request has no transfer coding, or `chunked` alone (RFC 9112 section 6.1). hyper
/// considers only the last of several codings.
fn has_known_coding<B>(request: &Request<B>) -> bool {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// Returns the response to a request with an unknown transfer coding. The connection ends, because
/// the end of the body is unknown.
fn refuse_coding() -> Response<Body> {
    let problem = HeadProblem::UnknownCoding;
    let mut response = text_response(problem.status(), problem.text());
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
