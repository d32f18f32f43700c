//! `curl -T access.log http://127.0.0.1:PORT/`: a log in the body of a request.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{HOST, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};
use weir_core::ReadCounts;
use weir_ingest::{SourceEnd, SourceError};
use weir_net::Body;

use super::connection::{kept, refusal_of};
use super::intake::{Intake, IntakeError};
use super::transfer::PAUSE;
use super::unpacker::Place;
use crate::hub::Hub;
use crate::query_string::decode;
use crate::refusal::Refusal;
use crate::response;
use crate::session::{Hold, Session, Use};

/// The name of a log that came without one, as from `curl -T -`.
const NAMELESS: &str = "upload";

/// Reads the body into a new session and answers with its address when all is parsed.
///
/// The session is kept until somebody has looked at it: whoever sent the log opens the
/// address whenever they like.
pub(crate) async fn receive(
    hub: &Arc<Hub>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let session = hub.create(Hold::UntilSeen)?;
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let address = format!("http://{}/s/{}", host.unwrap_or_default(), session.id());
    let unheard = Unheard(&session);
    // In a task of its own: the handler is dropped with its connection, and a source must
    // have an end.
    let reading = tokio::spawn(read(hub.clone(), session.clone(), request));
    let read = reading.await.unwrap_or(Err(Refusal::SessionEnded));
    let mut response = match &read {
        Ok(()) => {
            unheard.forget();
            let text = format!("{address}\n{}\n", summary(&session));
            response::content(StatusCode::CREATED, "text/plain; charset=utf-8", text)
        }
        Err(refusal) => response::refusal(refusal),
    };
    let location = HeaderValue::from_str(&format!("/s/{}", session.id()));
    if let Ok(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// A session whose address nobody may hear of: it is kept no longer than others, if the
/// request fails or its connection is gone.
struct Unheard<'a>(&'a Session);

impl Unheard<'_> {
    fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// One line that says what was read.
fn summary(session: &Session) -> String {
    let sources = session.data().map(|data| data.snapshot().sources).unwrap_or_default();
    let read = ReadCounts::of_all(&sources);
    format!(
        "{} lines: {} records, {} unmatched, {} too long",
        read.lines, read.records, read.unmatched, read.too_long
    )
}

async fn read(
    hub: Arc<Hub>,
    session: Arc<Session>,
    request: Request<Incoming>,
) -> Result<(), Refusal> {
    let _user = session.enter(Use::Upload);
    let name = decode(request.uri().path().trim_start_matches('/'), false);
    let name = if name.is_empty() { NAMELESS } else { kept(&name) };
    let body = request.into_body();
    let bytes_total = body.size_hint().exact();
    let pipeline = session.pipeline().ok_or(Refusal::SessionEnded)?;
    let source = pipeline.source(name, bytes_total, hub.options.format.clone());
    let limit = session.member_limit().clone();
    let place = Place { pipeline, format: hub.options.format.clone(), limit };
    let mut intake = Intake::new(source, place);
    let progress = intake.progress().clone();
    let result = tokio::select! {
        result = read_body(&hub, &mut intake, body) => result,
        () = session.ended() => Err(Refusal::SessionEnded),
    };
    if let Err(refusal) = &result {
        progress.set_end(SourceEnd::Failed(SourceError::Transfer(refusal.to_string())));
    }
    session.touch();
    result
}

async fn read_body(hub: &Hub, intake: &mut Intake, mut body: Incoming) -> Result<(), Refusal> {
    let refusal = |error: IntakeError| refusal_of(&error, &hub.options);
    let stopped = loop {
        let patience = if intake.is_dirty() { PAUSE } else { hub.options.stall };
        match tokio::time::timeout(patience, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                let Ok(bytes) = frame.into_data() else { continue };
                intake.write(&bytes).await.map_err(refusal)?;
                if intake.may_flush_early() {
                    intake.hand_on().await.map_err(refusal)?;
                }
            }
            Err(_) if intake.is_dirty() => intake.hand_on().await.map_err(refusal)?,
            Ok(None) => return intake.finish(SourceEnd::Done).await.map_err(refusal),
            Ok(Some(Err(_))) => break Refusal::Broken(intake.received()),
            Err(_) => break Refusal::Stalled(hub.options.stall.as_secs()),
        }
    };
    // What came whole stands; a line that is torn does not count.
    intake.rewind().await.map_err(refusal)?;
    Err(stopped)
}
