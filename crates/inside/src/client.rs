//! A client of the admin server of another process.

use std::fmt;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use weir_net::socket::Address;
use weir_view::{JsonError, Route, Tasks, from_json};

use crate::address::AdminAddress;
use crate::tasks::TaskSortKey;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes of a response. With a hundred sources and backends, it takes a hundredth of this.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The reason why a request to an admin server failed. It is displayed with the address.
#[derive(Debug)]
pub struct AskError {
    address: AdminAddress,
    reason: String,
}

impl AdminAddress {
    /// Requests the route. `token` is the content of that program's `--token-file`.
    ///
    /// # Errors
    /// If there is no response in time, or the response is not from this version of Weir.
    pub async fn route(&self, token: Option<&str>) -> Result<Route, AskError> {
        self.ask("/route.json", token, from_json).await
    }

    /// Requests the threads and the first `tasks_max` tasks in this order. `token` is the content
    /// of that program's `--token-file`.
    ///
    /// # Errors
    /// If there is no response in time, or the response is not from this version of Weir.
    pub async fn tasks(
        &self,
        token: Option<&str>,
        (sort, is_ascending): (TaskSortKey, bool),
        tasks_max: usize,
    ) -> Result<Tasks, AskError> {
        let (sort, order) = (sort.name(), if is_ascending { "ascending" } else { "descending" });
        let path = format!("/tasks.json?sort={sort}&order={order}&limit={tasks_max}");
        self.ask(&path, token, from_json).await
    }

    async fn ask<T>(
        &self,
        path: &str,
        token: Option<&str>,
        read: impl FnOnce(&str) -> Result<T, JsonError>,
    ) -> Result<T, AskError> {
        let fail = |reason| AskError { address: self.clone(), reason };
        let asked = tokio::time::timeout(TIMEOUT, ask(self.socket_address(), path, token)).await;
        let answer = asked.map_err(|_| fail(format!("it did not answer within {TIMEOUT:?}")))?;
        read(&answer.map_err(fail)?).map_err(|error| {
            fail(format!("its response is not from this version of weir: {error}"))
        })
    }
}

async fn ask(address: &Address, path: &str, token: Option<&str>) -> Result<String, String> {
    match address {
        Address::Tcp(host) => exchange(TcpStream::connect(host).await, (host, path), token).await,
        #[cfg(unix)]
        Address::Unix(socket) => {
            exchange(UnixStream::connect(socket).await, ("localhost", path), token).await
        }
        other => Err(format!("{other} cannot be asked")),
    }
}

async fn exchange<S>(
    connected: std::io::Result<S>,
    (host, path): (&str, &str),
    token: Option<&str>,
) -> Result<String, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = connected.map_err(|error| format!("it cannot be reached: {error}"))?;
    let broken = |error: hyper::Error| format!("it does not speak HTTP: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // An error of the connection also fails the request below.
    tokio::spawn(connection);
    let request = request(host, path, token).map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(broken)?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED => {
            return Err("it requires a token; name its file with --token-file".to_owned());
        }
        // The paths are those of every admin server.
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => return Err(not_admin()),
        status => return Err(format!("its answer is {status}")),
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    if content_type.is_none_or(|it| !it.as_bytes().starts_with(b"application/json")) {
        return Err(not_admin());
    }
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|error| format!("its response was cut short: {error}"))?;
    String::from_utf8(body.to_bytes().into()).map_err(|_| "its answer is not UTF-8".to_owned())
}

/// Returns why another server than an admin server cannot be asked.
fn not_admin() -> String {
    "it is not an admin address: another server answers there; name the address of --admin, which the \
     program prints when it starts"
        .to_owned()
}

fn request(
    host: &str,
    path: &str,
    token: Option<&str>,
) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let mut request = Request::get(path).header(HOST, host);
    if let Some(token) = token {
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    request.body(Empty::new())
}

impl fmt::Display for AskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.address, self.reason)
    }
}

impl std::error::Error for AskError {}
