//! Asks servers whether they are well.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request};

use super::pool::Lease;
use super::{Backend, Instance};
use crate::upload_body::UploadBody;

/// An answer to a health check that is larger than this is not read to its end.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Asks the servers of a backend for as long as it is in use.
pub(crate) async fn watch(backend: std::sync::Weak<Backend>) {
    loop {
        let Some(interval) = backend.upgrade().map(|backend| backend.config().health_interval)
        else {
            return;
        };
        {
            let Some(backend) = backend.upgrade() else { return };
            let Some(path) = &backend.config().health else { return };
            for instance in backend.instances() {
                let check = is_well(instance, path);
                let is_well = tokio::time::timeout(interval, check).await.unwrap_or(false);
                instance.note_check(is_well);
            }
        }
        tokio::time::sleep(interval).await;
    }
}

/// Whether a server answers with a status below 400.
async fn is_well(instance: &Arc<Instance>, path: &str) -> bool {
    let Ok(mut lease) = Lease::open(instance).await else { return false };
    let Some(request) = request(instance, path, lease.is_http2()) else { return false };
    let Ok(response) = lease.send(request).await else { return false };
    let status = response.status();
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, bytes::Bytes::len);
        if bytes > ANSWER_BYTES_MAX {
            return status.as_u16() < 400;
        }
    }
    status.as_u16() < 400
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
