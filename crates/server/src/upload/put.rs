//! Receives a log as the body of a request: `curl -T access.log http://127.0.0.1:PORT/`.

use std::sync::Arc;
use std::time::Instant;

use hyper::header::{HOST, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};
use weir_core::{LogSource, ReadCounts};
use weir_ingest::{SourceEnd, SourceError};
use weir_net::redaction::{request_head, response_head};
use weir_net::{Body, IncomingBody, RequestBody, RequestBodyError, Scheme};
use weir_observe::capture::Capturable;
use weir_observe::task::{TaskKind, TaskName};

use super::connection::shorten;
use super::file_end::refusal_of;
use super::transfer::PAUSE;
use crate::captures::{FROM_CLIENT, TO_CLIENT};
use crate::file::{FileReceiver, Purpose, ReceiveError, UnpackDestination};
use crate::hub::{DisplacedSession, Hub, NewSession};
use crate::query_string::decode;
use crate::refusal::Refusal;
use crate::response;
use crate::session::{Access, Lifetime, Session};

/// The name of a log that is sent without one, as by `curl -T -`.
const DEFAULT_NAME: &str = "upload";

/// Reads a log from the body of a request.
static PUT: TaskKind = TaskKind::new("upload by PUT");

/// Reads the body into a new session, and responds with the session's address. The status is 201
/// only if everything was read completely.
///
/// The session is kept until a page or a report has first read it, so that the user has time to
/// open the address.
pub(crate) async fn receive(
    hub: &Arc<Hub>,
    request: Request<IncomingBody>,
) -> Result<Response<Body>, Refusal> {
    let NewSession { session, displaced } = hub.create(Lifetime::UntilViewed)?;
    let address = format!("{}/s/{}", origin(hub, &request), session.id());
    let release = ReleaseOnDrop(&session);
    let capture = Arc::new(Capturable::new(&hub.uploads, file_name(&request)));
    if let Some(capture) = capture.open() {
        capture.text(FROM_CLIENT, &request_head(&request));
    }
    // In its own task: the handler is dropped with its connection, but the source must get an end.
    let read = read(hub.clone(), session.clone(), request, capture.clone());
    let reading = tokio::spawn(PUT.observe(TaskName::Unnamed, read));
    let read = reading.await.unwrap_or_else(|_| Err(session.end_refusal()));
    let mut response = match read.and_then(|()| check_whole(&session)) {
        Ok(()) => {
            release.forget();
            let note = displaced.map(|displaced| room_note(&displaced)).unwrap_or_default();
            let text = format!(
                "{address}\n{}\n{}{note}",
                summary(&session),
                unknown_format_note(&session)
            );
            response::content(StatusCode::CREATED, "text/plain; charset=utf-8", text)
        }
        Err(refusal @ (Refusal::SessionEnded | Refusal::Stopping)) => response::refusal(&refusal),
        Err(refusal) => {
            let kept = format!(
                "{}; see {address}, which is kept for {} s",
                summary(&session),
                hub.options.grace.as_secs()
            );
            response::refusal_with(&refusal, &kept)
        }
    };
    let location = HeaderValue::from_str(&format!("/s/{}", session.id()));
    if let Ok(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    if let Some(capture) = capture.open() {
        capture.lap("answer", response.status().to_string());
        capture.text(TO_CLIENT, &response_head(&response));
    }
    Ok(response)
}

/// Returns the name of the log that a request sends.
fn file_name(request: &Request<IncomingBody>) -> String {
    let name = decode(request.uri().path().trim_start_matches('/'), false);
    if name.is_empty() { DEFAULT_NAME } else { shorten(&name) }.to_owned()
}

/// Returns the line that names the displaced data set.
fn room_note(displaced: &DisplacedSession) -> String {
    let name = if displaced.name.is_empty() { "without a log" } else { &displaced.name };
    // The name was chosen by another client, so a terminal must not interpret it.
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("the oldest data set that no page showed made room: /s/{} ({name})\n", displaced.id)
}

/// The maximum number of sources that a refusal names.
const NAMED_MAX: usize = 3;

/// Checks that every source of the session was read completely. An archive has many sources.
///
/// # Errors
/// Names the first incomplete sources, with the reasons.
fn check_whole(session: &Session) -> Result<(), Refusal> {
    let sources = session.data()?.snapshot().sources;
    let reasons = sources.iter().filter_map(|source| {
        let defect = source.defect()?;
        Some(format!("{}: {defect}", source.name))
    });
    let mut reasons: Vec<String> = reasons.collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let more = reasons.len().saturating_sub(NAMED_MAX);
    reasons.truncate(NAMED_MAX);
    if more > 0 {
        reasons.push(format!("and {more} more"));
    }
    Err(Refusal::Incomplete(reasons.join("; ")))
}

/// Returns the scheme and host by which the client reached the server.
fn origin(hub: &Hub, request: &Request<IncomingBody>) -> String {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    match hub.options.public_url.as_ref().filter(|url| url.has_host(host)) {
        Some(url) => url.to_string(),
        None => format!("{}://{host}", Scheme::of(request).name()),
    }
}

/// Shortens the session's lifetime to the grace time if the request fails or its connection is
/// lost, because the user then does not learn the address.
struct ReleaseOnDrop<'a>(&'a Session);

impl ReleaseOnDrop<'_> {
    fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Returns the read counts on one line.
fn summary(session: &Session) -> String {
    let sources = session.data().map(|data| data.snapshot().sources).unwrap_or_default();
    let read = ReadCounts::of_all(&sources);
    format!(
        "{} lines: {} records, {} unparsed, {} too long",
        read.lines, read.records, read.unparsed_lines, read.too_long_lines
    )
}

/// Returns the line that says that nothing could be parsed, and what to do.
fn unknown_format_note(session: &Session) -> String {
    let sources = session.data().map(|data| data.snapshot().sources).unwrap_or_default();
    let read = ReadCounts::of_all(&sources);
    if read.records > 0 || read.lines == 0 {
        return String::new();
    }
    format!("no line matches a known format. {}\n", session.remedies().unknown_format)
}

async fn read(
    hub: Arc<Hub>,
    session: Arc<Session>,
    request: Request<IncomingBody>,
    capture: Arc<Capturable>,
) -> Result<(), Refusal> {
    let _user = session.enter(Access::Upload);
    let name = file_name(&request);
    let (_, body) = RequestBody::of(request);
    let bytes_total = body.bytes_left();
    let pipeline = session.pipeline().ok_or(Refusal::SessionEnded)?;
    let source = pipeline.source(&name, bytes_total, hub.options.format.clone());
    let limits = session.unpack_limits().clone();
    let format = hub.options.format.clone();
    let destination = UnpackDestination { intake: pipeline, format, limits };
    let mut receiver = FileReceiver::new(source, destination, Purpose::Parse);
    let progress = receiver.progress().clone();
    let result = tokio::select! {
        result = read_body(&hub, &session, &mut receiver, body, &capture) => result,
        () = session.ended() => Err(session.end_refusal()),
    };
    if let Err(refusal) = &result {
        progress.set_end(SourceEnd::Failed(SourceError::Transfer(refusal.to_string())));
    }
    session.touch();
    result
}

async fn read_body(
    hub: &Hub,
    session: &Session,
    receiver: &mut FileReceiver,
    mut body: RequestBody,
    capture: &Capturable,
) -> Result<(), Refusal> {
    let refusal = |error: ReceiveError| refusal_of(&error, session);
    let stopped = loop {
        let timeout = if receiver.is_dirty() { PAUSE } else { hub.options.stall };
        let begun = capture.begin();
        let next = tokio::time::timeout(timeout, body.next()).await;
        match next {
            Ok(Some(Ok(bytes))) => {
                let read = Instant::now();
                receiver.write(&bytes).await.map_err(refusal)?;
                if let Some((capture, begun)) = begun {
                    capture.step("read", begun..read, bytes.len());
                    let times = read..Instant::now();
                    capture.step("submit", times, "to the parsers, with the wait for room");
                }
                if receiver.may_flush_early() {
                    receiver.flush().await.map_err(refusal)?;
                }
            }
            Err(_) if receiver.is_dirty() => receiver.flush().await.map_err(refusal)?,
            Ok(None) => return receiver.finish(SourceEnd::Done).await.map_err(refusal),
            Ok(Some(Err(RequestBodyError::Broken))) => {
                break Refusal::Broken(receiver.bytes_received());
            }
            Ok(Some(Err(error))) => break Refusal::SlowUpload(error.to_string()),
            Err(_) => break Refusal::Stalled(hub.options.stall.as_secs()),
        }
    };
    // Whole lines are kept; a partial line at the end does not count.
    receiver.settle().await.map_err(refusal)?;
    Err(stopped)
}
