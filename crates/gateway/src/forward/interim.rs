//! The interim answers of a backend (1xx), on their way to the client.

use std::sync::Arc;

use hyper::header::SET_COOKIE;
use hyper::{HeaderMap, StatusCode};
use weir_net::InterimSender;

use crate::backend::UpstreamRequest;
use crate::header_fields::{clean_response, remove_cors};
use crate::request::upload_body::UploadProgress;
use crate::route::changes::RouteChanges;

/// Passes interim answers to one request on.
#[derive(Debug, Clone)]
pub(super) struct InterimAnswers {
    pub(super) sender: InterimSender,
    pub(super) progress: UploadProgress,
    /// What the route changes in answers, if anything.
    pub(super) changes: Option<Arc<RouteChanges>>,
    /// Whether the cookies of the backend are the gateway's.
    pub(super) has_session: bool,
}

impl InterimAnswers {
    /// Passes on the interim answers to a request to a server over HTTP/1.1.
    pub(super) fn observe(&self, request: &mut UpstreamRequest) {
        let answers = self.clone();
        hyper::ext::on_informational(request, move |answer| {
            match answer.status() {
                // The gateway's server sends its own when the body is read.
                StatusCode::CONTINUE => answers.progress.let_continue(),
                status => answers.pass_on(status, answer.headers().clone()),
            }
        });
    }

    fn pass_on(&self, status: StatusCode, mut fields: HeaderMap) {
        if clean_response(&mut fields).is_err() {
            return;
        }
        remove_cors(&mut fields);
        if self.has_session {
            fields.remove(SET_COOKIE);
        }
        if let Some(changes) = &self.changes {
            changes.change_answer(&mut fields);
        }
        // A backend may send them without end.
        let _is_sent = self.sender.send(status, &fields);
    }
}
