//! The idle connections of one server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::{Request, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect::{ConnectError, Connector};
use super::instance::Instance;
use crate::upload_body::UploadBody;

/// A request to a server.
pub(crate) type UpstreamRequest = Request<UploadBody>;

/// Idle connections are kept for less than the 60 s after which many servers close them.
const IDLE_MAX: Duration = Duration::from_secs(50);

/// Idle connections of one server that are kept.
const IDLE_COUNT_MAX: usize = 256;

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) enum Sender {
    Http1(http1::SendRequest<UploadBody>),
    Http2(http2::SendRequest<UploadBody>),
}

/// The connections of one server.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    /// The one that was used last is at the end.
    idle: Mutex<VecDeque<Idle>>,
    /// The HTTP/1.1 connections that may be in use at a time.
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Idle {
    sender: Sender,
    since: Instant,
}

/// A connection that a request uses.
#[derive(Debug)]
pub(crate) struct Lease {
    sender: Sender,
    instance: Arc<Instance>,
    /// Whether an earlier request has used it: the server may be closing it just now.
    pub(crate) is_reused: bool,
    #[expect(dead_code, reason = "free again when it is dropped")]
    place: Option<OwnedSemaphorePermit>,
}

impl Pool {
    pub(super) fn new(connector: Connector, connections_max: usize) -> Self {
        let places = connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Self { connector, idle: Mutex::default(), places: Arc::new(Semaphore::new(places)) }
    }

    /// Waits for a connection to become free.
    async fn place(&self) -> Result<Option<OwnedSemaphorePermit>, ConnectError> {
        if self.connector.is_http2() {
            return Ok(None);
        }
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(Some(place));
        }
        let patience = self.connector.timeout();
        match tokio::time::timeout(patience, self.places.clone().acquire_owned()).await {
            // The places are never closed.
            Ok(place) => Ok(place.ok()),
            Err(_elapsed) => Err(ConnectError::Busy(patience)),
        }
    }

    /// An idle connection that is still open, the latest first: those behind it may time out in peace.
    fn take_idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Idle { mut sender, since }) = idle.pop_back() {
            if since.elapsed() > IDLE_MAX {
                idle.clear();
                return None;
            }
            match &mut sender {
                Sender::Http1(http1) if http1.is_ready() => return Some(sender),
                Sender::Http1(_) => {}
                Sender::Http2(http2) if http2.is_closed() => {}
                Sender::Http2(http2) => {
                    // One connection carries many requests.
                    let shared = http2.clone();
                    idle.push_back(Idle { sender, since: Instant::now() });
                    return Some(Sender::Http2(shared));
                }
            }
        }
        None
    }

    fn put_idle(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while idle.front().is_some_and(|front| front.is_over()) || idle.len() >= IDLE_COUNT_MAX {
            idle.pop_front();
        }
        idle.push_back(Idle { sender, since: Instant::now() });
    }
}

impl Idle {
    fn is_over(&self) -> bool {
        let is_closed = match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        };
        is_closed || self.since.elapsed() > IDLE_MAX
    }
}

impl Lease {
    /// Takes an idle connection, or opens one.
    ///
    /// # Errors
    /// If the server cannot be connected to.
    pub(crate) async fn take(instance: &Arc<Instance>) -> Result<Self, ConnectError> {
        let place = instance.pool.place().await?;
        if let Some(sender) = instance.pool.take_idle() {
            return Ok(Self { sender, instance: instance.clone(), is_reused: true, place });
        }
        let sender = instance.pool.connector.connect().await?;
        if let Sender::Http2(shared) = &sender {
            instance.pool.put_idle(Sender::Http2(shared.clone()));
        }
        Ok(Self { sender, instance: instance.clone(), is_reused: false, place })
    }

    /// Opens a connection beside those of requests: for what must work when all of these are in use.
    ///
    /// # Errors
    /// If the server cannot be connected to.
    pub(crate) async fn open(instance: &Arc<Instance>) -> Result<Self, ConnectError> {
        let sender = instance.pool.connector.connect().await?;
        Ok(Self { sender, instance: instance.clone(), is_reused: false, place: None })
    }

    /// Whether the connection speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Sends a request, and waits for the head of the answer.
    ///
    /// # Errors
    /// If the connection breaks before it. If nothing was sent, the request comes back with the error.
    pub(crate) async fn send(
        &mut self,
        request: UpstreamRequest,
    ) -> Result<Response<Incoming>, TrySendError<UpstreamRequest>> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.try_send_request(request).await,
            Sender::Http2(sender) => sender.try_send_request(request).await,
        }
    }

    /// Gives the connection back after the end of an answer.
    pub(crate) async fn give_back(mut self) {
        if let Sender::Http1(sender) = &mut self.sender
            && sender.ready().await.is_ok()
        {
            self.instance.pool.put_idle(self.sender);
        }
    }

    /// Gives the connection back if it can be used at once. Returns it if its task has to run first.
    pub(crate) fn give_back_now(self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(sender) if sender.is_ready() => {
                self.instance.pool.put_idle(self.sender);
                None
            }
            Sender::Http1(sender) if sender.is_closed() => None,
            Sender::Http1(_) => Some(self),
            Sender::Http2(_) => None,
        }
    }
}
