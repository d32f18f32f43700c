//! A connection to a server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::{Request, Response};
use weir_observe::capture::OpenCapture;
use weir_observe::task::TaskKind;

use crate::request::upload_body::UploadBody;

/// The kind of the tasks that drive connections to servers. All other such connections are driven
/// by the tasks of client connections.
pub(super) static BACKEND_CONNECTION: TaskKind = TaskKind::new("backend connection");

/// A request to a server.
pub(crate) type UpstreamRequest = Request<UploadBody>;

/// An open connection.
///
/// The task of a request drives its HTTP/1.1 connection: the connection reads and writes only in
/// [`send`](Self::send) and [`drive`](Self::drive). A separate task would have to be woken, and
/// wake the request's task, for each answer. A connection that its user cannot drive must be
/// [detached](Self::detach).
#[derive(Debug)]
pub(crate) struct Connection {
    sender: Sender,
    driver: Option<Driver>,
}

/// The half of a connection that takes requests.
#[derive(Debug)]
pub(super) enum Sender {
    Http1(http1::SendRequest<UploadBody>),
    Http2(http2::SendRequest<UploadBody>),
}

/// The future that reads from and writes to a connection. It completes when the connection ends.
pub(super) struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Driver {
    pub(super) fn new(driver: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(driver))
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Driver")
    }
}

impl Connection {
    pub(super) fn http1(sender: http1::SendRequest<UploadBody>, driver: Driver) -> Self {
        Self { sender: Sender::Http1(sender), driver: Some(driver) }
    }

    /// Creates a connection that a separate task drives.
    pub(super) fn http2(sender: http2::SendRequest<UploadBody>) -> Self {
        Self { sender: Sender::Http2(sender), driver: None }
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Returns the same connection for another request, if it can multiplex requests.
    pub(super) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => Some(Self::http2(sender.clone())),
        }
    }

    /// Whether the connection can take a request.
    pub(super) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender) => !sender.is_closed(),
        }
    }

    /// Whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Reads and writes as much as possible without waiting. Returns whether the caller drives the
    /// connection.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) -> bool {
        drive(&mut self.driver, context)
    }

    /// Drives the connection once without waking any task, to notice a close by the server or
    /// become ready.
    pub(super) fn poll_once(&mut self) {
        self.drive(&mut Context::from_waker(Waker::noop()));
    }

    /// Spawns a task, named after the server, that drives the connection from now on.
    pub(super) fn detach(&mut self, server: &Arc<str>) {
        if let Some(Driver(driver)) = self.driver.take() {
            tokio::spawn(BACKEND_CONNECTION.observe_boxed(server.clone(), driver));
        }
    }

    /// Waits until the connection can take the next request. Returns false if it ended. The
    /// connection must be detached.
    pub(super) async fn ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// Sends a request, and waits for the head of the answer. It is not an `async` method because
    /// the future would then contain the request, which is large.
    ///
    /// # Errors
    /// If the connection breaks before the head arrives. If nothing was sent, the error contains
    /// the request.
    pub(super) fn send<'a>(
        &'a mut self,
        request: UpstreamRequest,
        mut capture: Option<&'a OpenCapture>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<UpstreamRequest>>> + 'a {
        let Self { sender, driver } = self;
        let sent = match sender {
            Sender::Http1(sender) => PendingAnswer::Http1(sender.try_send_request(request)),
            // Boxed because the future is large and few backends speak HTTP/2.
            Sender::Http2(sender) => {
                PendingAnswer::Http2(Box::pin(sender.try_send_request(request)))
            }
        };
        async move {
            match sent {
                PendingAnswer::Http1(sent) => {
                    let mut sent = pin!(sent);
                    let answered = poll_fn(|context| {
                        drive(driver, context);
                        if let Some(capture) = capture.take() {
                            // The first poll has written as much as fits into the socket's buffer.
                            capture.lap("request sent", "");
                        }
                        sent.as_mut().poll(context)
                    });
                    answered.await
                }
                PendingAnswer::Http2(sent) => sent.await,
            }
        }
    }
}

/// The pending answer to a request on either kind of connection.
enum PendingAnswer<Http1, Http2> {
    Http1(Http1),
    Http2(Http2),
}

fn drive(driver: &mut Option<Driver>, context: &mut Context<'_>) -> bool {
    let Some(Driver(running)) = driver else { return false };
    if let Poll::Ready(()) = running.as_mut().poll(context) {
        *driver = None;
    }
    true
}
