//! One HTTP/2 connection (RFC 9113).
//!
//! hyper and h2 limit the state of a connection: its streams, its windows, the size of header lists
//! and of `CONTINUATION` sequences, and the streams that are reset before they are accepted. This
//! module adds the limits that they lack: on idle connections, on streams that their client does
//! not read, on clients that cancel one request after another, and on frames that request
//! nothing.

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::body::Body;
use crate::client::Client;
use crate::close_reason::CloseReason;
use crate::connection::HttpConnection;
use crate::frame_limit::FrameLimiter;
use crate::head_refusal::{HeadProblem, HeadRefusal};
use crate::idle::{Activity, IdleEntry};
use crate::incoming_body::IncomingBody;
use crate::options::ServeOptions;
use crate::response_body::ResponseBody;
use crate::stream_tasks::{Http2Stream, Resets, StreamTasks, StreamTasksOwner};
use crate::text_response::text_response;
use crate::transport::Transport;

/// The number of bytes of one body that a client may send before the handler reads them.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;

/// The number of unread bytes of all bodies together.
const CONNECTION_WINDOW_BYTES: u32 = 512 << 10;

/// The number of bytes of a response that wait for the client, besides the part that is being sent.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// The time in which a connection that is to make room may end gracefully.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

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

impl HttpConnection {
    /// Serves an HTTP/2 connection until the client leaves, a limit is exceeded, or the server
    /// stops and the requests in progress are answered.
    pub(crate) async fn serve_http2(
        self: Arc<Self>,
        transport: Transport,
        client: Client,
        entry: IdleEntry,
    ) {
        entry.set_http2();
        let options = &self.options;
        let tasks = StreamTasksOwner::new(options.write_timeout, client.peer(), entry.activity());
        let resets = Arc::new(Resets::new(options.http2.resets_max));
        let (shared, activity, counted) = (self.clone(), entry.activity(), resets.clone());
        let service = service_fn(move |request| {
            shared.answer(request, &client, &activity, Http2Stream::begin(&activity, &counted))
        });
        let protocol = protocol(options, tasks.0.clone());
        let limited = FrameLimiter::new(transport, options.http2.frames_max);
        let mut connection = pin!(protocol.serve_connection(TokioIo::new(limited), service));
        let timeout = tokio::select! {
            _ended = connection.as_mut() => return,
            () = resets.wait_exceeded() => return,
            reason = entry.wait_close_request() => match reason {
                CloseReason::Stop | CloseReason::Unread => options.grace_period,
                CloseReason::MakeRoom | CloseReason::Late => CLOSE_TIMEOUT,
            },
        };
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            _ended = connection => {}
            () = resets.wait_exceeded() => {}
            () = entry.wait_quiet(timeout) => {}
        }
    }

    /// Answers the request of a stream.
    fn answer(
        &self,
        request: Request<Incoming>,
        client: &Client,
        activity: &Activity,
        mut stream: Http2Stream,
    ) -> impl Future<Output = Result<Response<ResponseBody>, Infallible>> + Send + use<> {
        let mut request = request.map(IncomingBody::http2);
        let is_head = request.method() == Method::HEAD;
        let response = match self.check_request(&mut request) {
            None => Ok(self.call(request, client)),
            Some((problem, text)) => {
                let (peer, bytes, request) = (client.peer(), text.len(), request.map(drop));
                let request = Some(&request);
                activity.note_refusal(HeadRefusal { peer, problem, bytes, request });
                Err(text_response(problem.status(), text.into_owned()))
            }
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

    /// Performs the checks that hyper performs for HTTP/1 requests, and sets `Host` as they have
    /// it. If a check fails, returns the problem and the text of the answer.
    fn check_request(
        &self,
        request: &mut Request<IncomingBody>,
    ) -> Option<(HeadProblem, Cow<'static, str>)> {
        let (fields, fields_max) = (field_count(request.headers()), self.options.headers_max);
        if fields > fields_max {
            let text = format!(
                "the request has {fields} header fields; at most {fields_max} are allowed\n"
            );
            return Some((HeadProblem::TooLarge, text.into()));
        }
        if let Some(text) = malformed_field(request.headers()) {
            return Some((HeadProblem::Malformed, text.into()));
        }
        let HostConflict = set_host(request).err()?;
        let text = "`Host` is not the `:authority` of the request\n";
        Some((HeadProblem::Malformed, text.into()))
    }
}

/// The number of header fields. Clients may send each cookie as a field of its own (RFC 9113 section
/// 8.2.3), as Chromium does; they count as the one field that they are over HTTP/1.
fn field_count(headers: &HeaderMap) -> usize {
    let cookies = headers.get_all(COOKIE).iter().count();
    headers.len() - cookies.saturating_sub(1)
}

/// Says which field makes a request malformed, if there is one: two lengths, or a value that begins
/// or ends with a space (RFC 9113 section 8.2.1). The h2 crate accepts both, and servers of HTTP/1
/// may read them in different ways.
fn malformed_field(headers: &HeaderMap) -> Option<&'static str> {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_padded = |value: &HeaderValue| {
        let value = value.as_bytes();
        is_space(value.first()) || is_space(value.last())
    };
    if headers.get_all(CONTENT_LENGTH).iter().nth(1).is_some() {
        return Some("the request has more than one `Content-Length`\n");
    }
    let is_malformed = headers.values().any(is_padded);
    is_malformed.then_some("the value of a header field begins or ends with a space\n")
}

/// A request that names two hosts.
#[derive(Debug, PartialEq, Eq)]
struct HostConflict;

/// Sets `Host` to the `:authority` of a request (RFC 9113 section 8.3.1), so that handlers find the
/// host in one place.
fn set_host<B>(request: &mut Request<B>) -> Result<(), HostConflict> {
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

/// Replaces a body by its length, for HEAD requests. For HTTP/1 hyper does this itself.
fn remove_body(response: &mut Response<Body>) {
    let has_length = !matches!(response.status().as_u16(), 100..200 | 204 | 304);
    // If another server answered the HEAD request, the length is in its fields or unknown.
    let has_length = has_length && !response.body().is_forwarded();
    if has_length && let Some(bytes) = response.body().size_hint().exact() {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| bytes.into());
    }
    *response.body_mut() = Body::empty();
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::{HOST, HeaderMap, HeaderValue};

    use super::{HostConflict, field_count, malformed_field, set_host};

    #[test]
    fn cookies_are_one_field() {
        let mut headers = HeaderMap::new();
        assert_eq!(field_count(&headers), 0);
        for (name, expected) in [("accept", 1), ("cookie", 2), ("cookie", 2), ("a", 3), ("a", 4)] {
            headers.append(name, HeaderValue::from_static("x"));
            assert_eq!(field_count(&headers), expected);
        }
    }

    #[test]
    fn fields_that_servers_read_in_different_ways_are_malformed() {
        for (fields, expected) in [
            (&[("content-length", "5")][..], false),
            (&[("content-length", "5"), ("content-length", "5")], true),
            (&[("a", "x y"), ("b", "")], false),
            (&[("a", " x")], true),
            (&[("a", "x\t")], true),
            (&[("a", " ")], true),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, HeaderValue::from_static(value));
            }
            assert_eq!(malformed_field(&headers).is_some(), expected, "{fields:?}");
        }
    }

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
            let host = set_host(&mut request).map(|()| request.headers()[HOST].to_str().unwrap());
            assert_eq!(host, expected, "{target} {hosts:?}");
        }
    }
}
