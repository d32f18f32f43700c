//! One HTTP/2 connection (RFC 9113).
//!
//! hyper and h2 bound what they hold of a connection: the streams, the windows, the size of header lists
//! and of `CONTINUATION` sequences, and the streams that are reset before they are looked at. What they
//! lack is here: an end for idle connections, for streams that their client does not read, for clients
//! that cancel one request after the other, and for floods of frames that ask for nothing.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, HOST, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::body::Body;
use crate::client::Client;
use crate::connection::{HttpConnection, refusal};
use crate::frame_limit::FrameLimited;
use crate::idle::{Closing, IdleEntry};
use crate::options::ServeOptions;
use crate::response_body::ResponseBody;
use crate::stream_tasks::{Resets, Stream, StreamTasks, StreamTasksOwner};
use crate::transport::Transport;

/// What a client may send of one body before the handler reads it.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;

/// What a client may send of all bodies together.
const CONNECTION_WINDOW_BYTES: u32 = 512 << 10;

/// What waits of a response for the client, beside the part that is being sent.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// How long a connection that is asked to make room may take to end in good order.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

fn protocol(options: &ServeOptions, tasks: StreamTasks) -> http2::Builder<StreamTasks> {
    let mut builder = http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(options.http2.streams_max)
        .max_header_list_size(u32::try_from(options.header_bytes_max).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES);
    builder
}

impl<H, F> HttpConnection<H>
where
    H: Fn(Request<Incoming>, Client) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    /// Serves an HTTP/2 connection until the client leaves, a limit is hit, or the server stops and the
    /// requests in progress are answered.
    pub(crate) async fn serve_http2(
        self: Arc<Self>,
        transport: Transport,
        client: Client,
        entry: IdleEntry,
    ) {
        entry.set_http2();
        let options = &self.options;
        let tasks = StreamTasksOwner::new(options.write_timeout);
        let resets = Arc::new(Resets::new(options.http2.resets_max));
        let (shared, activity, counted) = (self.clone(), entry.activity(), resets.clone());
        let service = service_fn(move |request| {
            shared.answer(request, &client, Stream::begin(&activity, &counted))
        });
        let protocol = protocol(options, tasks.0.clone());
        let limited = FrameLimited::new(transport, options.http2.frames_max);
        let mut connection = pin!(protocol.serve_connection(TokioIo::new(limited), service));
        let patience = tokio::select! {
            _ended = connection.as_mut() => return,
            () = resets.exceeded() => return,
            closing = entry.asked_to_close() => match closing {
                Closing::Stop => options.grace_period,
                Closing::MakeRoom | Closing::Late => CLOSE_TIMEOUT,
            },
        };
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            _ended = connection => {}
            () = resets.exceeded() => {}
            () = entry.idle_after(patience) => {}
        }
    }

    /// The answer to a request of a stream.
    fn answer(
        &self,
        mut request: Request<Incoming>,
        client: &Client,
        mut stream: Stream,
    ) -> impl Future<Output = Result<Response<ResponseBody>, Infallible>> + Send + use<H, F> {
        let is_head = request.method() == Method::HEAD;
        let response = match self.refusal_of(&mut request) {
            None => Ok(self.call(request, client)),
            Some(refused) => Err(refused),
        };
        async move {
            stream.enter_task();
            let mut response = match response {
                Ok(response) => response.await,
                Err(refused) => refused,
            };
            if is_head {
                remove_body(&mut response);
            }
            Ok(response.map(|body| ResponseBody::http2(body, stream)))
        }
    }

    /// Checks what hyper checks of an HTTP/1 request, and names the host as such a request does.
    fn refusal_of(&self, request: &mut Request<Incoming>) -> Option<Response<Body>> {
        if request.headers().len() > self.options.headers_max {
            let text = "the request has too many header fields\n";
            return Some(refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text));
        }
        let HostConflict = name_host(request).err()?;
        let text = "`Host` is not the `:authority` of the request\n";
        Some(refusal(StatusCode::BAD_REQUEST, text))
    }
}

/// A request that names two hosts.
#[derive(Debug, PartialEq, Eq)]
struct HostConflict;

/// Sets `Host` to the `:authority` of a request (RFC 9113 section 8.3.1), so that handlers find the host
/// at one place.
fn name_host<B>(request: &mut Request<B>) -> Result<(), HostConflict> {
    let Some(authority) = request.uri().authority() else { return Ok(()) };
    let host = HeaderValue::from_str(authority.as_str()).map_err(|_| HostConflict)?;
    let is_same =
        |other: &HeaderValue| other.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes());
    if !request.headers().get_all(HOST).iter().all(is_same) {
        return Err(HostConflict);
    }
    request.headers_mut().insert(HOST, host);
    Ok(())
}

/// Leaves the length of a body in place of the body. For HTTP/1 hyper does so.
fn remove_body(response: &mut Response<Body>) {
    let has_length = !matches!(response.status().as_u16(), 100..200 | 204 | 304);
    // Of an answer that another server gave to HEAD, the length is in its fields or not known.
    let has_length = has_length && !response.body().is_forwarded();
    if has_length && let Some(bytes) = response.body().size_hint().exact() {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| bytes.into());
    }
    *response.body_mut() = Body::empty();
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::HOST;

    use super::{HostConflict, name_host};

    #[test]
    fn the_host_is_the_authority() {
        for (target, hosts, expected) in [
            ("https://a.example:1/", &[][..], Ok("a.example:1")),
            ("https://a.example/", &["A.example"], Ok("a.example")),
            ("https://a.example/", &["a.example", "a.example"], Ok("a.example")),
            ("/", &["a.example"], Ok("a.example")),
            ("https://a.example/", &["b.example"], Err(HostConflict)),
            ("https://a.example/", &["a.example:1"], Err(HostConflict)),
            ("https://a.example/", &["a.example", "b.example"], Err(HostConflict)),
        ] {
            let mut request = Request::builder().uri(target);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            let mut request = request.body(()).unwrap();
            let host = name_host(&mut request).map(|()| request.headers()[HOST].to_str().unwrap());
            assert_eq!(host, expected, "{target} {hosts:?}");
        }
    }
}
