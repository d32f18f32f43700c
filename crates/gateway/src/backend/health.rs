//! Health checks of servers.

use std::sync::{Arc, Weak};

use http_body_util::BodyExt;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request};

use super::pool::Lease;
use super::{Backend, Instance, NONE_AVAILABLE};
use crate::notices::{Notice, Notices};
use crate::upload_body::UploadBody;

/// The answer to a health check is read up to this size.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Checks one server of a backend while the backend is in use, and reports each change of its
/// health. Each server has a task of its own, so that one that does not answer delays no check of
/// the others.
pub(crate) async fn watch(backend: Weak<Backend>, instance: Arc<Instance>, notices: Notices) {
    loop {
        let interval = {
            let Some(backend) = backend.upgrade() else { return };
            let Some(path) = &backend.config().health else { return };
            let interval = backend.config().health_interval;
            let checked = tokio::time::timeout(interval, check(&instance, path)).await;
            let checked = checked.unwrap_or_else(|_| Err(format!("no answer in {interval:?}")));
            let was_healthy = instance.note_check(checked.is_ok());
            if was_healthy != checked.is_ok() {
                report_change(&notices, &backend, &instance, checked);
            }
            interval
        };
        tokio::time::sleep(interval).await;
    }
}

/// Reports that a server is healthy again, or why it is not. Both notices are rate limited
/// separately, so that the latest state is reported even if the two alternate.
fn report_change(
    notices: &Notices,
    backend: &Backend,
    instance: &Instance,
    checked: Result<(), String>,
) {
    let (backend_name, server) = (backend.name(), instance.name());
    let subject = format!("{server} of the backend {backend_name}");
    let notice = |sentence| Notice {
        backend: Some(backend_name.to_string()),
        server: Some(server.to_string()),
        ..Notice::new(sentence)
    };
    match checked {
        Ok(()) => notices.report(&format!("well {subject}"), || {
            notice(format!("{subject}: it is healthy again"))
        }),
        Err(reason) => notices.report(&format!("not well {subject}"), || {
            notice(match backend.has_available() {
                true => format!(
                    "{subject}: it gets no requests, because its health check failed: {reason}"
                ),
                false => format!("{subject}: its health check failed: {reason}; {NONE_AVAILABLE}"),
            })
        }),
    }
}

/// Requests `path` and checks that the status is below 400.
///
/// # Errors
/// Why the server is unhealthy.
async fn check(instance: &Arc<Instance>, path: &str) -> Result<(), String> {
    let lease = Lease::open(instance).await;
    let mut lease = lease.map_err(|error| error.to_string())?;
    let request = request(instance, path, lease.is_http2());
    let request = request.ok_or_else(|| format!("`{path}` cannot be asked for"))?;
    let response = lease.send(request, None).await;
    let response = response.map_err(|error| format!("there is no answer: {}", error.error()))?;
    let status = response.status();
    let is_healthy = || match status.as_u16() {
        ..400 => Ok(()),
        _ => Err(format!("its status is {status}")),
    };
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, bytes::Bytes::len);
        if bytes > ANSWER_BYTES_MAX {
            break;
        }
    }
    is_healthy()
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
