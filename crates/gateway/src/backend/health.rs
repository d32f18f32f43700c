//! Asks servers whether they are well.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request};

use super::pool::Lease;
use super::{Backend, Instance};
use crate::notices::{Notice, Notices};
use crate::upload_body::UploadBody;

/// An answer to a health check that is larger than this is not read to its end.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Asks the servers of a backend for as long as it is in use, and says when one of them changes.
pub(crate) async fn watch(backend: std::sync::Weak<Backend>, notices: Notices) {
    loop {
        let Some(interval) = backend.upgrade().map(|backend| backend.config().health_interval)
        else {
            return;
        };
        {
            let Some(backend) = backend.upgrade() else { return };
            let Some(path) = &backend.config().health else { return };
            for instance in backend.instances() {
                let checked = tokio::time::timeout(interval, check(instance, path)).await;
                let checked = checked.unwrap_or_else(|_| Err(format!("no answer in {interval:?}")));
                let was_well = instance.note_check(checked.is_ok());
                if was_well != checked.is_ok() {
                    say_change(&notices, backend.name(), instance.name(), checked);
                }
            }
        }
        tokio::time::sleep(interval).await;
    }
}

/// Says that a server is well now, or why it is not. Each of both has its own pause, so that the last is said
/// even if both follow one another.
fn say_change(notices: &Notices, backend: &str, server: &str, checked: Result<(), String>) {
    let subject = format!("{server} of the backend {backend}");
    let notice = |sentence| Notice {
        backend: Some(backend.to_owned()),
        server: Some(server.to_owned()),
        ..Notice::new(sentence)
    };
    match checked {
        Ok(()) => notices
            .say(&format!("well {subject}"), || notice(format!("{subject}: it is well again"))),
        Err(reason) => notices.say(&format!("not well {subject}"), || {
            notice(format!(
                "{subject}: it gets no requests, because its health check failed: {reason}"
            ))
        }),
    }
}

/// Checks that a server answers with a status below 400.
///
/// # Errors
/// Why it is not well.
async fn check(instance: &Arc<Instance>, path: &str) -> Result<(), String> {
    let lease = Lease::open(instance).await;
    let mut lease = lease.map_err(|error| error.to_string())?;
    let request = request(instance, path, lease.is_http2());
    let request = request.ok_or_else(|| format!("`{path}` cannot be asked for"))?;
    let response = lease.send(request, None).await;
    let response = response.map_err(|error| format!("there is no answer: {}", error.error()))?;
    let status = response.status();
    let is_well = || match status.as_u16() {
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
    is_well()
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
