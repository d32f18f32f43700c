//! The handler of a server.

use std::future::Future;
use std::pin::Pin;

use hyper::{Request, Response};

use crate::body::Body;
use crate::client::Client;
use crate::incoming_body::IncomingBody;

/// The future of a response.
pub(crate) type ResponseFuture = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

type RespondFn = dyn Fn(Request<IncomingBody>, Client) -> ResponseFuture + Send + Sync;

/// A handler of any type. One type for all of them lets the server and the server sides of hyper
/// and h2 be compiled once, in this crate, instead of once for each handler in each program. The
/// future of a response is allocated for each request, so idle connections reserve no memory for
/// it.
pub(crate) struct Handler(Box<RespondFn>);

impl Handler {
    pub(crate) fn new<H, F>(handler: H) -> Self
    where
        H: Fn(Request<IncomingBody>, Client) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self(Box::new(move |request, client| Box::pin(handler(request, client))))
    }

    pub(crate) fn respond(&self, request: Request<IncomingBody>, client: Client) -> ResponseFuture {
        (self.0)(request, client)
    }
}
