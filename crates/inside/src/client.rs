//! A client of the admin server of another process.

use std::error::Error;
use std::fmt;
use std::io;
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

/// The error of a request to an admin server.
#[derive(Debug)]
pub struct AskError {
    address: AdminAddress,
    fault: AskFault,
}

/// Why a request to an admin server failed.
#[derive(Debug)]
enum AskFault {
    Timeout,
    /// Nothing can be asked at the address.
    Address(Address),
    Connect(io::Error),
    Protocol(hyper::Error),
    Request(hyper::http::Error),
    NoToken,
    /// Another server than an admin server answers.
    OtherServer,
    Status(StatusCode),
    CutShort(Box<dyn Error + Send + Sync>),
    NotUtf8,
    OtherVersion(JsonError),
}

impl fmt::Display for AskFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => write!(formatter, "it did not answer within {TIMEOUT:?}"),
            Self::Address(address) => write!(formatter, "{address} cannot be asked"),
            Self::Connect(error) => write!(formatter, "it cannot be reached: {error}"),
            Self::Protocol(error) => write!(formatter, "it does not speak HTTP: {error}"),
            Self::Request(error) => error.fmt(formatter),
            Self::NoToken => {
                formatter.write_str("it requires a token; name its file with --token-file")
            }
            Self::OtherServer => formatter.write_str(
                "it is not an admin address: another server answers there; name the address of \
                 --admin, which the program prints when it starts",
            ),
            Self::Status(status) => write!(formatter, "its answer is {status}"),
            Self::CutShort(error) => write!(formatter, "its response was cut short: {error}"),
            Self::NotUtf8 => formatter.write_str("its answer is not UTF-8"),
            Self::OtherVersion(error) => {
                write!(formatter, "its response is not from this version of weir: {error}")
            }
        }
    }
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
        sort: TaskSortKey,
        is_ascending: bool,
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
        let fail = |fault| AskError { address: self.clone(), fault };
        let asked = tokio::time::timeout(TIMEOUT, ask(self.socket_address(), path, token)).await;
        let answer = asked.unwrap_or(Err(AskFault::Timeout)).map_err(fail)?;
        read(&answer).map_err(|error| fail(AskFault::OtherVersion(error)))
    }
}

async fn ask(address: &Address, path: &str, token: Option<&str>) -> Result<String, AskFault> {
    match address {
        Address::Tcp(host) => exchange(TcpStream::connect(host).await, host, path, token).await,
        #[cfg(unix)]
        Address::Unix(socket) => {
            exchange(UnixStream::connect(socket).await, "localhost", path, token).await
        }
        other => Err(AskFault::Address(other.clone())),
    }
}

async fn exchange<S>(
    connected: io::Result<S>,
    host: &str,
    path: &str,
    token: Option<&str>,
) -> Result<String, AskFault>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = TokioIo::new(connected.map_err(AskFault::Connect)?);
    let (mut sender, connection) = http1::handshake(stream).await.map_err(AskFault::Protocol)?;
    // An error of the connection also fails the request below.
    tokio::spawn(connection);
    let request = request(host, path, token).map_err(AskFault::Request)?;
    let response = sender.send_request(request).await.map_err(AskFault::Protocol)?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED => return Err(AskFault::NoToken),
        // The paths are those of every admin server.
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            return Err(AskFault::OtherServer);
        }
        status => return Err(AskFault::Status(status)),
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    if content_type.is_none_or(|it| !it.as_bytes().starts_with(b"application/json")) {
        return Err(AskFault::OtherServer);
    }
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(AskFault::CutShort)?;
    String::from_utf8(body.to_bytes().into()).map_err(|_| AskFault::NotUtf8)
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
        write!(formatter, "{}: {}", self.address, self.fault)
    }
}

impl Error for AskError {}
