//! A connection to a server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::{Request, Response};
use weir_observe::glass::Journal;
use weir_observe::task::TaskKind;

use crate::upload_body::UploadBody;

/// A connection to a server with a task of its own. The others are driven by the connections of clients.
pub(super) static BACKEND_CONNECTION: TaskKind = TaskKind::new("backend connection");

/// A request to a server.
pub(crate) type UpstreamRequest = Request<UploadBody>;

/// A connection that is open.
///
/// One of HTTP/1.1 is driven by whoever uses it: it reads and writes only in [`send`](Self::send) and
/// [`drive`](Self::drive). A task of its own would have to be woken, and wake the request's task, for each
/// answer. What cannot be driven by its user has to be [detached](Self::detach).
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

/// The half of a connection that reads and writes. It ends when the connection does.
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

    /// A connection that a task of its own drives.
    pub(super) fn http2(sender: http2::SendRequest<UploadBody>) -> Self {
        Self { sender: Sender::Http2(sender), driver: None }
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// The same connection for another request, if it carries several at a time.
    pub(super) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => Some(Self::http2(sender.clone())),
        }
    }

    /// Whether it can take a request.
    pub(super) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender) => !sender.is_closed(),
        }
    }

    /// Whether it has ended.
    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Reads and writes what can be read and written now. Returns whether it had to be driven.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) -> bool {
        drive(&mut self.driver, context)
    }

    /// Notices whether the server has closed it, and becomes ready if it can.
    pub(super) fn look(&mut self) {
        self.drive(&mut Context::from_waker(Waker::noop()));
    }

    /// Lets a task of its own drive it from now on, under the name of its server.
    pub(super) fn detach(&mut self, server: &Arc<str>) {
        if let Some(Driver(driver)) = self.driver.take() {
            tokio::spawn(BACKEND_CONNECTION.observe_boxed(server.clone(), driver));
        }
    }

    /// Waits until it can take the next request. Returns whether it can. Its own task must drive it.
    pub(super) async fn ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// Sends a request, and waits for the head of the answer. It is no `async` method because a request is
    /// large, and would be a part of the future.
    ///
    /// # Errors
    /// If the connection breaks before it. If nothing was sent, the request comes back with the error.
    pub(super) fn send<'a>(
        &'a mut self,
        request: UpstreamRequest,
        mut journal: Option<&'a Journal>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<UpstreamRequest>>> + 'a {
        let Self { sender, driver } = self;
        let sent = match sender {
            Sender::Http1(sender) => Sent::Http1(sender.try_send_request(request)),
            // Few backends speak it, and its future is large.
            Sender::Http2(sender) => Sent::Http2(Box::pin(sender.try_send_request(request))),
        };
        async move {
            match sent {
                Sent::Http1(sent) => {
                    let mut sent = pin!(sent);
                    let answered = poll_fn(|context| {
                        drive(driver, context);
                        if let Some(journal) = journal.take() {
                            // What fits into the buffer of the socket is written at once.
                            journal.lap("request sent", "");
                        }
                        sent.as_mut().poll(context)
                    });
                    answered.await
                }
                Sent::Http2(sent) => sent.await,
            }
        }
    }
}

/// A request that was handed to a connection of either kind.
enum Sent<Http1, Http2> {
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
