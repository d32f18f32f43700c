//! The addresses of the server, and their handlers.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::ACCEPT;
use hyper::{Method, Request, Response, StatusCode};
use weir_net::websocket::{self, SocketOptions, Upgrade};
use weir_net::{Body, Client, IncomingBody};
use weir_observe::task::{TaskKind, TaskName};
use weir_view::SessionCreated;

use crate::captured_request::CapturedRequest;
use crate::export::RowRequest;
use crate::file::Purpose;
use crate::hub::Hub;
use crate::page::Surroundings;
use crate::query_string::ReportParameters;
use crate::refusal::Refusal;
use crate::session::{Access, Lifetime, Session};
use crate::{
    accept, answer, export, format_trial, kept_text, live, page, query_string, response,
    session_list, upload,
};

/// Responds to any request.
pub(crate) async fn answer(
    hub: Arc<Hub>,
    request: Request<IncomingBody>,
    client: Client,
) -> Response<Body> {
    let is_for_person = is_for_person(&request);
    let capture = CapturedRequest::begin(&hub.requests, &request, &client);
    let result = match admit(&hub, &request) {
        Ok(None) => route(&hub, request, &client).await,
        Ok(Some(response)) => Ok(response),
        Err(refused) => Err(refused),
    };
    let reason = result.as_ref().err().map(Refusal::name);
    let response = response::secure(result.unwrap_or_else(|refusal| match is_for_person {
        true => response::refusal_page(&refusal),
        false => response::refusal(&refusal),
    }));
    if let Some(capture) = capture {
        capture.answer(&response, reason);
    }
    response
}

/// Returns whether a browser navigates to a page, by a link or a typed address. Scripts and
/// programs do not ask for HTML.
fn is_for_person(request: &Request<IncomingBody>) -> bool {
    let accepted = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    *request.method() == Method::GET && accepted.is_some_and(|text| text.contains("text/html"))
}

/// Checks that a request is for this server and is allowed. Returns the response to the login link.
fn admit(hub: &Hub, request: &Request<IncomingBody>) -> Result<Option<Response<Body>>, Refusal> {
    hub.guard.check(request)?;
    match &hub.options.token {
        Some(token) => token.check(request, hub.options.public_url.as_ref()),
        None => Ok(None),
    }
}

async fn route(
    hub: &Arc<Hub>,
    request: Request<IncomingBody>,
    client: &Client,
) -> Result<Response<Body>, Refusal> {
    let path = request.uri().path().to_owned();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts[..] {
        ["api", "sessions"] => sessions(hub, &request),
        ["api", "sessions", id] => one_session(hub, &request, id),
        ["api", "sessions", id, "sources", number] => remove_source(hub, &request, id, number),
        ["api", "sessions", id, "sources", number, "format"] => {
            source_format(hub, request, id, number).await
        }
        ["api", "sessions", id, "report"] => report(hub, &request, client, id).await,
        ["api", "sessions", id, "export"] => export_rows(hub, &request, client, id).await,
        ["api", "sessions", id, "live"] => {
            let (response, session, upgrade) = connect(hub, request, id)?;
            spawn_live(session, upgrade);
            Ok(response)
        }
        ["api", "sessions", id, "upload"] => {
            let (response, session, upgrade) = connect(hub, request, id)?;
            spawn_upload(hub, session, upgrade, Purpose::Parse);
            Ok(response)
        }
        ["api", "sessions", id, "discard"] if hub.options.bench => {
            let (response, session, upgrade) = connect(hub, request, id)?;
            spawn_upload(hub, session, upgrade, Purpose::Discard);
            Ok(response)
        }
        ["api", "bench", "plain"] if hub.options.bench => {
            let mut request = request;
            let (response, upgrade) = websocket::accept(&mut request)?;
            tokio::spawn(upload::count(upgrade));
            Ok(response)
        }
        ["bench", "upload"] if hub.options.bench => {
            allow(&request, "GET, HEAD")?;
            Ok(index(hub, StatusCode::OK))
        }
        ["api", ..] => Err(Refusal::NotFound),
        ["s" | "d", id] | ["s" | "d", id, ""] => session_page(hub, &request, &path, id),
        _ => match *request.method() {
            Method::PUT | Method::POST => upload::receive(hub, request).await,
            Method::GET | Method::HEAD if path == "/" || path == page::NEW => {
                Ok(index(hub, StatusCode::OK))
            }
            Method::GET | Method::HEAD => page::asset(&path, &request).ok_or(Refusal::NotFound),
            _ => Err(Refusal::MethodNotAllowed("GET, HEAD, PUT, POST")),
        },
    }
}

/// Lists the sessions, or creates one.
fn sessions(hub: &Arc<Hub>, request: &Request<IncomingBody>) -> Result<Response<Body>, Refusal> {
    allow(request, "GET, HEAD, POST")?;
    if request.method() != Method::POST {
        let list = weir_view::to_json(&session_list::list(hub)).map_err(Refusal::internal)?;
        return Ok(response::json(StatusCode::OK, list));
    }
    let created = hub.create(Lifetime::Grace)?;
    let id = created.session.id().to_owned();
    let displaced = created.displaced.map(|displaced| displaced.id);
    let created = SessionCreated { id, displaced };
    let created = weir_view::to_json(&created).map_err(Refusal::internal)?;
    Ok(response::json(StatusCode::CREATED, created))
}

/// Tells what a session has read, or ends it.
fn one_session(
    hub: &Arc<Hub>,
    request: &Request<IncomingBody>,
    id: &str,
) -> Result<Response<Body>, Refusal> {
    allow(request, "GET, HEAD, DELETE")?;
    if request.method() == Method::DELETE {
        hub.end(id)?;
        return Ok(response::empty(StatusCode::NO_CONTENT));
    }
    let summary = session_list::summary(&*hub.find(id)?)?;
    let summary = weir_view::to_json(&summary).map_err(Refusal::internal)?;
    Ok(response::json(StatusCode::OK, summary))
}

fn remove_source(
    hub: &Arc<Hub>,
    request: &Request<IncomingBody>,
    id: &str,
    number: &str,
) -> Result<Response<Body>, Refusal> {
    allow(request, "DELETE")?;
    let number = number.parse().map_err(|_| Refusal::UnknownSource)?;
    hub.find(id)?.remove_source(number)?;
    Ok(response::empty(StatusCode::NO_CONTENT))
}

/// Tries a format on the lines of a source, or reads the source again in it.
async fn source_format(
    hub: &Arc<Hub>,
    request: Request<IncomingBody>,
    id: &str,
    number: &str,
) -> Result<Response<Body>, Refusal> {
    allow(&request, "POST, PUT")?;
    let number = number.parse().map_err(|_| Refusal::UnknownSource)?;
    let session = hub.find(id)?;
    let is_read_again = request.method() == Method::PUT;
    let _user = session.enter(if is_read_again { Access::Upload } else { Access::View });
    let definition = query_string::definition(request.uri().query())?;
    if is_read_again {
        format_trial::read_again(&session, number, &definition).await?;
        return Ok(response::empty(StatusCode::NO_CONTENT));
    }
    let trial = format_trial::try_definition(&session, number, definition, request).await?;
    Ok(response::json(StatusCode::OK, weir_view::to_json(&trial).map_err(Refusal::internal)?))
}

/// Returns the page. It is the same for every id, and detects an unknown session itself. The status
/// informs other clients. Names and ids have different folders, so that an address says which it is.
fn session_page(
    hub: &Arc<Hub>,
    request: &Request<IncomingBody>,
    path: &str,
    id: &str,
) -> Result<Response<Body>, Refusal> {
    allow(request, "GET, HEAD")?;
    let is_there = hub.find(id).is_ok_and(|session| session.path() == path.trim_end_matches('/'));
    Ok(index(hub, if is_there { StatusCode::OK } else { StatusCode::NOT_FOUND }))
}

fn index(hub: &Hub, status: StatusCode) -> Response<Body> {
    let served = hub.served();
    let around = Surroundings {
        admin: hub.admin.get().map(String::as_str),
        served: served.as_deref(),
        needs_token: hub.options.token.is_some(),
    };
    page::index(status, around)
}

async fn report(
    hub: &Arc<Hub>,
    request: &Request<IncomingBody>,
    client: &Client,
    id: &str,
) -> Result<Response<Body>, Refusal> {
    allow(request, "GET, HEAD")?;
    let session = hub.find(id)?;
    let _user = session.enter(Access::View);
    let ReportParameters { mut query, is_html } = query_string::report(request.uri().query())?;
    let html = match is_html {
        true => Some(hub.options.html_report.ok_or_else(no_html)?),
        false => None,
    };
    accept::check(request.headers(), if is_html { accept::HTML } else { accept::JSON })?;
    query.zone = query.zone.or_else(|| session.zone().cloned());
    let data = session.data()?;
    let text = tokio::select! {
        text = answer::report(&session, data.clone(), &query, html) => text?,
        () = gone(client) => return Err(Refusal::ClientGone),
    };
    let response = kept_text::respond(session, text, client.clone());
    match is_html {
        true => response::attached(response, accept::HTML, &export::report_name(&data, &query)),
        false => Ok(response),
    }
}

fn no_html() -> Refusal {
    Refusal::BadRequest("this server writes reports as JSON only; leave out `format`".to_owned())
}

async fn export_rows(
    hub: &Arc<Hub>,
    request: &Request<IncomingBody>,
    client: &Client,
    id: &str,
) -> Result<Response<Body>, Refusal> {
    allow(request, "GET, HEAD")?;
    let session = hub.find(id)?;
    let _user = session.enter(Access::View);
    let mut parameters = query_string::export(request.uri().query())?;
    parameters.query.zone = parameters.query.zone.or_else(|| session.zone().cloned());
    let form = accept::choose_form(request.headers(), parameters.form)?;
    let rows = RowRequest { query: parameters.query, form, columns: parameters.columns };
    let data = session.data()?;
    tokio::select! {
        response = export::respond(&session, data, rows, request, client) => response,
        () = gone(client) => Err(Refusal::ClientGone),
    }
}

/// How long work continues for a client that closed its sending side. It may still wait for the
/// answer; most answers take a tenth of this time.
const GONE_GRACE: Duration = Duration::from_secs(1);

/// Waits until the client has probably gone.
async fn gone(client: &Client) {
    client.sending_closed().await;
    tokio::time::sleep(GONE_GRACE).await;
}

/// Checks that the method of a request is one of these, which are separated as in `Allow`.
fn allow(request: &Request<IncomingBody>, methods: &'static str) -> Result<(), Refusal> {
    match methods.split(", ").any(|method| method == request.method().as_str()) {
        true => Ok(()),
        false => Err(Refusal::MethodNotAllowed(methods)),
    }
}

fn connect(
    hub: &Arc<Hub>,
    mut request: Request<IncomingBody>,
    id: &str,
) -> Result<(Response<Body>, Arc<Session>, Upgrade), Refusal> {
    let session = hub.find(id)?;
    let (response, upgrade) = websocket::accept(&mut request)?;
    Ok((response, session, upgrade))
}

/// Small, because a live connection receives only queries.
const LIVE_READ_BUFFER_BYTES: usize = 16 << 10;

/// A page that shows a session.
static LIVE_VIEW: TaskKind = TaskKind::new("live view");

/// A page that sends files. The task has the name of the file.
static UPLOAD: TaskKind = TaskKind::new("upload");

fn spawn_live(session: Arc<Session>, upgrade: Upgrade) {
    let user = session.enter(Access::View);
    let options = SocketOptions {
        read_buffer_bytes: LIVE_READ_BUFFER_BYTES,
        text_bytes_max: live::MESSAGE_BYTES_MAX,
        ..SocketOptions::default()
    };
    tokio::spawn(LIVE_VIEW.observe(TaskName::Unnamed, async move {
        // If the handshake fails, the connection is gone.
        if let Ok(socket) = upgrade.websocket(options).await {
            live::run(session, socket).await;
        }
        drop(user);
    }));
}

fn spawn_upload(hub: &Arc<Hub>, session: Arc<Session>, upgrade: Upgrade, purpose: Purpose) {
    let user = session.enter(Access::Upload);
    let (options, captures) = (hub.options.clone(), hub.uploads.clone());
    tokio::spawn(UPLOAD.observe(TaskName::Unnamed, async move {
        if let Ok(socket) = upgrade.websocket(SocketOptions::default()).await {
            upload::run(session, socket, options, purpose, captures).await;
        }
        drop(user);
    }));
}
