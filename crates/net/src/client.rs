//! The client of a request: its address, its connection, and whether it has closed its side.

use std::sync::Arc;
use std::task::Context;
use std::time::SystemTime;

use hyper::Version;
use weir_observe::capture::OpenCapture;

use crate::history::{ConnectionHistory, Detail};
use crate::idle::Activity;
use crate::interim::InterimSender;
use crate::scheme::Scheme;
use crate::socket::{ClientCertificate, Peer, SocketStream};

/// What is known of a client before its first request.
pub(crate) struct OpenClient {
    pub(crate) peer: Peer,
    pub(crate) scheme: Scheme,
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
    pub(crate) is_http2: bool,
}

/// The client of a request.
#[derive(Clone, Debug)]
pub struct Client {
    peer: Peer,
    pub(crate) scheme: Scheme,
    certificate: Option<Arc<ClientCertificate>>,
    watch: ClientWatch,
}

impl Client {
    pub(crate) fn new(
        OpenClient { peer, scheme, certificate, .. }: OpenClient,
        watch: ClientWatch,
    ) -> Self {
        Self { peer, scheme, certificate, watch }
    }

    /// Returns the other end of the connection.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Returns the scheme, which tells whether the connection is encrypted.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the certificate that the client has presented, unless it has expired since.
    pub fn certificate(&self) -> Option<&Arc<ClientCertificate>> {
        self.certificate.as_ref().filter(|certificate| certificate.is_current(SystemTime::now()))
    }

    /// Returns whether the client has presented a certificate that has expired since.
    pub fn certificate_has_expired(&self) -> bool {
        self.certificate.is_some() && self.certificate().is_none()
    }

    /// Returns what happened on the connection before its latest request.
    pub fn history(&self) -> ConnectionHistory {
        self.watch.0.history()
    }

    /// Notes in a capture when the system has accepted the whole response. Over HTTP/2 it notes
    /// nothing: other requests share the connection, which may never be without bytes to write.
    pub fn observe(&self, capture: OpenCapture) {
        self.watch.0.observe(capture, Detail::End);
    }

    /// Like [`observe`](Self::observe), and also notes each part of the response that the system
    /// accepts.
    pub fn observe_writes(&self, capture: OpenCapture) {
        self.watch.0.observe(capture, Detail::Writes);
    }

    /// Returns the sender of interim responses to a request of this version, whose handler runs. `None`
    /// if the client cannot get them: HTTP/1.0 has none (RFC 9110 section 15.2), and hyper sends none
    /// over HTTP/2.
    pub fn interim_sender(&self, version: Version) -> Option<InterimSender> {
        let activity = &self.watch.0;
        let is_possible = version == Version::HTTP_11 && !activity.is_http2();
        is_possible.then(|| InterimSender::new(activity))
    }

    /// Ends the connection without sending what the client has not taken of a response, which would
    /// otherwise stay in memory until the [time limit](crate::ServeOptions::write_timeout). Call it
    /// while the body of the response is incomplete, and then drop its sender.
    ///
    /// Over HTTP/2 this does nothing, because the incomplete body resets its stream.
    pub fn cut_off(&self) {
        self.watch.0.cut_off();
    }

    /// Makes the system take few bytes in advance for this client, so that
    /// [`taken_bytes`](Self::taken_bytes) soon tells whether it reads. Otherwise it takes more bytes
    /// only when a third of a buffer of megabytes is free. It lasts until the response has ended.
    pub fn limit_bytes_ahead(&self) {
        self.watch.0.limit_bytes_ahead();
    }

    /// Returns the bytes that the system has accepted for this client so far; `None` over HTTP/2,
    /// where they may be those of other requests.
    pub fn taken_bytes(&self) -> Option<u64> {
        let activity = &self.watch.0;
        (!activity.is_http2()).then(|| activity.written_bytes())
    }

    /// Waits until the client has closed its sending side.
    ///
    /// A client that has gone has closed both sides. A client that waits for the response may have
    /// closed its sending side too, as `nc -N` does. TCP cannot tell the two apart until something
    /// is written, so the handler should continue for a while.
    ///
    /// While unread bytes of the client wait, such as another request, this may not be noticed.
    pub async fn sending_closed(&self) {
        self.watch.0.wait_sending_closed().await;
    }
}

/// Detects that a client has closed its sending side.
#[derive(Debug, Clone)]
pub(crate) struct ClientWatch(Arc<Activity>);

impl ClientWatch {
    pub(crate) fn new(activity: Arc<Activity>) -> Self {
        Self(activity)
    }

    /// Checks the socket if a handler or the connection waits. The task is woken when the socket
    /// becomes readable.
    pub(crate) fn check(&self, stream: &SocketStream, context: &mut Context<'_>) {
        if self.0.watches_client() {
            self.0.note_sending_side(stream.poll_sending_side(context));
        }
    }
}
