//! Health checks of servers.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};

use super::pool::Lease;
use super::{Backend, ConnectError, Instance, NONE_AVAILABLE};
use crate::request::upload_body::UploadBody;

/// The answer to a health check is read up to this size.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Checks one server of a backend while the backend is in use, and reports each change of its
/// health. Each server has a task of its own, so that one that does not answer delays no check of
/// the others.
pub(crate) async fn watch(backend: Weak<Backend>, instance: Arc<Instance>) {
    loop {
        let interval = {
            let Some(backend) = backend.upgrade() else { return };
            let Some(path) = &backend.config().health else { return };
            let interval = backend.config().health_interval;
            let checked = tokio::time::timeout(interval, check(&instance, path)).await;
            let checked = checked.unwrap_or_else(|_| Err(CheckFault::Timeout(interval)));
            let was_healthy = instance.note_check(checked.is_ok());
            if was_healthy != checked.is_ok() {
                report_change(&backend, &instance, checked);
            }
            interval
        };
        tokio::time::sleep(interval).await;
    }
}

/// Reports that a server is healthy again, or why it is not.
fn report_change(backend: &Backend, instance: &Instance, checked: Result<(), CheckFault>) {
    let (backend_name, server) = (&**backend.name(), &**instance.name());
    let subject = format!("{server} of the backend {backend_name}");
    let sentence = match checked {
        Ok(()) => format!("{subject}: it is healthy again"),
        Err(reason) if backend.has_available() => {
            format!("{subject}: it gets no requests, because its health check failed: {reason}")
        }
        Err(reason) => format!("{subject}: its health check failed: {reason}; {NONE_AVAILABLE}"),
    };
    tracing::warn!(target: "weir_gateway", backend = backend_name, server, "{sentence}");
}

/// Requests `path` and checks that the status is below 400.
///
/// # Errors
/// Why the server is unhealthy.
async fn check(instance: &Arc<Instance>, path: &str) -> Result<(), CheckFault> {
    let mut lease = Lease::open(instance).await.map_err(CheckFault::Connect)?;
    let request = request(instance, path, lease.is_http2());
    let request = request.ok_or_else(|| CheckFault::Path(path.to_owned()))?;
    let response = lease.send(request, None).await;
    let response = response.map_err(|error| CheckFault::NoAnswer(error.into_error()))?;
    let status = response.status();
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, bytes::Bytes::len);
        if bytes > ANSWER_BYTES_MAX {
            break;
        }
    }
    if status.as_u16() < 400 { Ok(()) } else { Err(CheckFault::Status(status)) }
}

/// Why a server is unhealthy.
#[derive(Debug)]
enum CheckFault {
    Connect(ConnectError),
    Timeout(Duration),
    /// The path is not valid in a request.
    Path(String),
    NoAnswer(hyper::Error),
    Status(StatusCode),
}

impl fmt::Display for CheckFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => error.fmt(formatter),
            Self::Timeout(interval) => write!(formatter, "no answer in {interval:?}"),
            Self::Path(path) => write!(formatter, "`{path}` cannot be asked for"),
            Self::NoAnswer(error) => write!(formatter, "there is no answer: {error}"),
            Self::Status(status) => write!(formatter, "its status is {status}"),
        }
    }
}

fn request(instance: &Instance, path: &str, is_http2: bool) -> Option<Request<UploadBody>> {
    let origin = instance.origin();
    let target = match is_http2 {
        true => format!("{origin}{path}"),
        false => path.to_owned(),
    };
    let mut request = Request::new(UploadBody::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = target.parse().ok()?;
    let host = HeaderValue::from_str(origin.authority().as_str()).ok()?;
    request.headers_mut().insert(HOST, host);
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("weir-gateway"));
    Some(request)
}
